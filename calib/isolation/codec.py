"""What goes to a reader and what comes back: a request is pickled by this program, an answer is checked by it.

An answer is a record (:mod:`calib.records`): bounded JSON for structure and text, then the bytes of the arrays, read as
the type that the receiver expects. Nothing in it chooses a class or a function.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import struct
from collections.abc import Callable, Sequence
from math import prod
from typing import IO, Any, BinaryIO

import numpy as np

from calib.errors import CalibrationError
from calib.records import ARRAY, MAX_TEXT, BadRecord, TypedReader, check_named_once, checked, flatten, parse

HEADER = struct.Struct("<8sQ")
"""What an answer begins with: its mark, and the length of its JSON."""
MARK = b"calib\0\0\2"
ALIGNED = 64
MAX_VALUES = 2**22
"""Values in the JSON (4 million); the names of 100,000 classes are as many, and each may take 64 bytes."""
MAX_DIMENSIONS = 8
NUMBERS = frozenset(
    np.dtype(kind).str for kind in ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
)
TEXT = re.compile(re.escape(np.dtype("U1").str[:2]) + r"[1-9][0-9]{0,7}")
MAX_CODE_POINT = 0x10FFFF


class RequestWriter(pickle.Pickler):
    """Pickles what a reader is asked; in place of a named file goes the number of a descriptor.

    Parameters
    ----------
    to : where the pickle goes.
    number : called with the name of a file and the file.
    """

    def __init__(self, to: IO[bytes], number: Callable[[str, BinaryIO], int]):
        super().__init__(to)
        self._number = number

    def persistent_id(self, value: Any) -> tuple[str, int] | None:
        """The name and the number of a file, which is a pair of a name and an open file; None for all else."""
        if type(value) is tuple and len(value) == 2 and hasattr(value[1], "read"):
            return value[0], self._number(*value)
        return None


class RequestReader(pickle.Unpickler):
    """Undoes :class:`RequestWriter`, in the reader and before it opens any file."""

    def __init__(self, asked: IO[bytes], descriptors: Sequence[int]):
        super().__init__(asked)
        self._descriptors = descriptors

    def persistent_load(self, held: tuple[str, int]) -> tuple[str, BinaryIO]:
        """The name and the file."""
        name, number = held
        return name, os.fdopen(self._descriptors[number], "rb")


def write_answer(fd: int, value: Any) -> None:
    """Write a value to an empty file; what :func:`calib.records.flatten` takes, with arrays of numbers and text."""
    outline, arrays = flatten(value)
    plain = {name: _plain(array) for name, array in arrays.items()}
    declared = [[name, array.dtype.str, array.shape] for name, array in plain.items()]
    # Text of a file may hold lone surrogates, which UTF-8 cannot; escaped, they are ASCII.
    text = json.dumps([outline, declared]).encode("ascii")
    place = _write(fd, HEADER.pack(MARK, len(text)) + text, 0)
    for array in plain.values():
        place = _write(fd, np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, _aligned(place))


def read_answer(content: memoryview, expected: Any) -> Any:
    """The value in an answer, of the expected type; its arrays are views of ``content``, each of them another part.

    Parameters
    ----------
    expected : a type, as for :func:`calib.records.unflatten`; where plain values are expected there are no arrays.

    Raises
    ------
    BadRecord
        For anything that was not written for this type.
    """
    try:
        mark, length = HEADER.unpack_from(content)
        place = HEADER.size + checked(length, mark == MARK and length <= min(MAX_TEXT, len(content)))
        text = bytes(content[HEADER.size : place])
        checked("So many values", sum(text.count(mark) for mark in b"[{,") < MAX_VALUES)
        outline, declared = parse(text.decode("ascii"))
        arrays = {}
        for name, code, shape in declared:
            dtype, size = _type(code, shape)
            place = _aligned(place)
            arrays[name] = _array(np.frombuffer(content[place : place + size], np.uint8), dtype, shape)
            place += size
        check_named_once(outline, arrays)
        return _Answer(arrays).read(outline, expected)
    except (CalibrationError, ValueError, TypeError, OverflowError, struct.error) as error:
        raise BadRecord(f"{type(error).__name__}: {error}") from error


class _Answer(TypedReader):
    """Refuses arrays where plain values are expected."""

    def anything(self, plain: Any, sequence: type) -> Any:
        """Nested dicts and sequences."""
        if isinstance(plain, dict):
            checked(plain, ARRAY not in plain)
        return super().anything(plain, sequence)


def _plain(array: np.ndarray) -> np.ndarray:
    """The array in this machine's byte order, and texts of no letter with room for one; TypeError for other kinds."""
    if array.dtype.kind == "U" and not array.dtype.itemsize:
        return array.astype("U1")
    native = array.dtype.newbyteorder("=")
    if (native.kind != "U" and native.str not in NUMBERS) or array.ndim > MAX_DIMENSIONS:
        raise TypeError(f"An array of {array.dtype} with {array.ndim} dimensions is not written.")
    return array.astype(native, copy=False)


def _type(code: Any, shape: Any) -> tuple[np.dtype[Any], int]:
    """The type of an array that :func:`_plain` can have given, and its number of bytes."""
    checked(code, type(code) is str and (code in NUMBERS or TEXT.fullmatch(code)))
    checked(shape, type(shape) is list and len(shape) <= MAX_DIMENSIONS)
    checked(shape, all(type(n) is int and n >= 0 for n in shape))
    dtype = np.dtype(code)
    return dtype, dtype.itemsize * prod(shape)


def _array(content: np.ndarray, dtype: np.dtype[Any], shape: Sequence[int]) -> np.ndarray:
    """The array of which these are the bytes, without a copy."""
    if dtype.kind == "b":  # NumPy takes every byte of a boolean for 0 or 1
        checked(dtype, not content.size or content.max() <= 1)
    if dtype.kind == "U":  # and every four of a text for a character
        checked(dtype, not content.size or content.view(np.uint32).max() <= MAX_CODE_POINT)
    return content.view(dtype).reshape(shape)


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED


def _write(fd: int, content: bytes | memoryview, place: int) -> int:
    rest = memoryview(content)
    while len(rest):
        written = os.pwrite(fd, rest[: 1 << 30], place)
        rest, place = rest[written:], place + written
    return place
