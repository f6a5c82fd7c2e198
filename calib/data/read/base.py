"""What all readers share: how large an array may be, the list of what a file holds, and errors in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.findings import InvalidUpload, shortened
from calib.data.limits import MAX_BYTES, check_count, megabytes
from calib.errors import Finding, missing_package, reason
from calib.numerics import blocks

Array = npt.NDArray[Any]


def check_size(nbytes: int, what: str) -> None:
    """Refuse what is larger than may be read; what is larger still has no room in the process that reads it."""
    if nbytes > MAX_BYTES:
        raise InvalidUpload(
            "too_large",
            f"{what} would take {megabytes(nbytes)} of memory; at most {megabytes(MAX_BYTES)} are allowed.",
            "Save logits as float32 and only arrays that are needed, or fewer rows: 20,000 are plenty to calibrate.",
        )


@dataclass(frozen=True)
class ArrayInfo:
    """One array of a file, or one column of a table.

    Attributes
    ----------
    name : str
        Name of the array or column.
    shape : tuple of int
        Its shape.
    dtype : str
        Type of its values, such as float64.
    file : str
        File that holds it, where an upload has several; empty elsewhere.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    file: str = ""


class Contents:
    """An open file whose arrays are listed but not yet read: :class:`Arrays` or a :class:`Table`.

    Attributes
    ----------
    name : file name, for sentences.
    arrays : what the file holds.
    names, by_name : of all arrays, in the order of the file, and what is known of each.
    tabular : whether the arrays are columns of one table.
    format_choices : how a text table was read, as fields of Choices.
    findings : what is to be said of how the file was opened.
    nested : of a table, the columns of values that no role can use, and what these are.
    """

    tabular = False

    def __init__(self, name: str, arrays: tuple[ArrayInfo, ...]):
        check_count(len(arrays), name)
        self.name = name
        self.arrays = arrays
        self.names = [array.name for array in arrays]
        self.format_choices: dict[str, Any] = {}
        self.findings: list[Finding] = []
        self.nested: dict[str, str] = {}
        self.by_name = {array.name: array for array in arrays}

    def __contains__(self, name: object) -> bool:
        """Whether the file holds an array of this name."""
        return name in self.by_name

    def info(self, name: str) -> ArrayInfo:
        """Shape and dtype of one array."""
        return self.by_name[name]

    def read(self, name: str) -> Array:
        """One array.

        Raises
        ------
        InvalidUpload
            If it cannot be read safely, or is larger than may be read.
        """
        what = self.name if len(self.arrays) == 1 else f"{shortened(name)} in {self.name}"
        with reading(what):
            array = self._read(name, what)
        check_size(array.nbytes, what)
        return array

    def _read(self, name: str, what: str) -> Array:
        raise NotImplementedError

    def sample(self) -> dict[str, Array]:
        """A bounded number of rows of every column of a table; nothing for files of arrays."""
        return {}

    def read_columns(self, names: tuple[str, ...]) -> Array:
        """Columns of a table side by side, shape (n, len(names))."""
        raise InvalidUpload(
            "no_such_array",
            f"{self.name} holds arrays, not columns.",
            "Choose one array by its name.",
        )


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn any exception of a library on a broken file into InvalidUpload.

    The parsers of zip, HDF5, Parquet and CSV raise dozens of types on broken bytes, so all are caught here, and nowhere
    else.
    """
    try:
        yield
    except (InvalidUpload, ModuleNotFoundError):
        raise
    except MemoryError as error:
        reason_ = f"There is not enough memory to read {what}."
        raise InvalidUpload("too_large", reason_, "Save fewer rows.") from error
    except Exception as error:
        raise damaged(what, reason(error)[:160] or type(error).__name__) from error


def damaged(what: str, why: str) -> InvalidUpload:
    """The error for a file that a library cannot read, with the library's reason."""
    return InvalidUpload(
        "damaged",
        f"{what} cannot be read ({why}). It is probably cut off or damaged.",
        "Copy or download the file again, or save it anew.",
    )


@contextmanager
def missing_packages() -> Iterator[None]:
    """Turn a package that is not installed, or too little memory, into a finding.

    NumPy alone is enough to predict, not to read tables.
    """
    try:
        yield
    except MemoryError as error:
        reason_ = "There is not enough memory for what the file holds."
        raise InvalidUpload("too_large", reason_, "Save fewer rows, or fewer columns.") from error
    except ModuleNotFoundError as error:
        raise InvalidUpload("missing_package", missing_package(error)) from error


AT_ONCE = 2**15
"""Texts that are Python objects at the same time."""


def distinct(values: Array) -> tuple[Array, npt.NDArray[np.intp]]:
    """The different values in order, and which of them each item is."""
    values = values.reshape(-1)
    if values.dtype.kind != "U":
        found = np.unique(values)
        return found, np.searchsorted(found, values)
    numbers: dict[str, int] = {}
    places = np.empty(len(values), dtype=np.intp)
    for rows in blocks(len(values), entries=AT_ONCE):
        places[rows] = [numbers.setdefault(text, len(numbers)) for text in values[rows].tolist()]
    found, order = np.unique(np.array([*numbers], dtype=values.dtype), return_inverse=True)
    return found, order.reshape(-1)[places]
