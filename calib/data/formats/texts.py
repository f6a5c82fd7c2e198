"""Texts as NumPy arrays, whose every item takes four bytes for each letter of the longest: counted before it is taken.

How many differ is counted too, since each different text becomes a Python object.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload
from calib.data.formats.base import Allowance, Array
from calib.data.limits import MAX_LETTERS, MAX_ROWS, MAX_TEXTS
from calib.numerics import blocks

AT_ONCE = 2**15
"""Texts that are Python objects at the same time."""

LAST_LETTER = 0x10FFFF

OTHERS = "Choose another array or column, or save short names."


def book_texts(n: int, letters: int, what: str, allowance: Allowance) -> None:
    """Book an array of texts.

    Parameters
    ----------
    n : how many texts there are.
    letters : of the longest.

    Raises
    ------
    InvalidUpload
        If there are too many, or they are too long; nothing has been allocated then.
    """
    Allowance(MAX_TEXTS).take(4 * letters * n, what)
    if letters > MAX_LETTERS or n > MAX_ROWS:
        raise InvalidUpload(
            "too_large",
            f"{what} holds {n:,} texts of up to {letters:,} letters; at most {MAX_ROWS:,} of {MAX_LETTERS:,} are read.",
            OTHERS,
        )
    allowance.take(4 * letters * n, what)


def text_array(values: list[str], what: str, allowance: Allowance) -> Array:
    """Strings as an array."""
    longest = max(map(len, values), default=0)
    book_texts(len(values), longest, what, allowance)
    return np.array(values, dtype=f"<U{max(longest, 1)}")


def decoded(texts: Array, what: str, allowance: Allowance) -> npt.NDArray[np.str_]:
    """Bytes of a fixed length, as an array that was read holds them, as text in UTF-8."""
    flat = texts.reshape(-1)
    longest = max((int(np.char.str_len(flat[rows]).max()) for rows in blocks(flat.size, entries=AT_ONCE)), default=0)
    book_texts(flat.size, longest, what, allowance)
    found = np.empty(flat.size, dtype=f"<U{max(longest, 1)}")
    for rows in blocks(flat.size, entries=AT_ONCE):
        found[rows] = np.char.decode(flat[rows].astype(f"S{max(longest, 1)}"), "utf-8", "replace")
    return found.reshape(texts.shape)


def replace_no_letters(texts: Array) -> None:
    """Put U+FFFD for numbers that are no letters and for halves of one, in place; Python makes no text of them."""
    codes = texts.reshape(-1, order="A").view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))
    codes[(codes > LAST_LETTER) | ((codes >= 0xD800) & (codes <= 0xDFFF))] = 0xFFFD


def distinct(values: Array, most: int) -> tuple[Array, npt.NDArray[np.intp]] | None:
    """The different values in order, and which of them each item is; None where more than ``most`` differ.

    Texts are taken in blocks, so that no more than these are sorted, and numbers without sorting all of their places.
    """
    values = values.reshape(-1)
    if values.dtype.kind != "U":
        found = np.unique(values)
        return None if len(found) > most else (found, np.searchsorted(found, values))
    numbers: dict[str, int] = {}
    places = np.empty(len(values), dtype=np.intp)
    for rows in blocks(len(values), entries=AT_ONCE):
        here, positions = np.unique(values[rows], return_inverse=True)
        own = np.array([numbers.setdefault(text, len(numbers)) for text in here.tolist()], dtype=np.intp)
        if len(numbers) > most:
            return None
        places[rows] = own[positions.reshape(-1)]
    found, order = np.unique(np.array([*numbers], dtype=values.dtype), return_inverse=True)
    return found, order.reshape(-1)[places]
