"""An open file and its arrays, which all readers share, with limits and errors; and NumPy's own files."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from typing import IO, Any, BinaryIO

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from calib.data.findings import MAX_BYTES, RESAVE, InvalidUpload, check_count, megabytes, shortened
from calib.errors import Finding, missing_package, reason
from calib.numerics import blocks

Array = npt.NDArray[Any]
Read = Callable[[], Array]


def place_in(file: str, array: str) -> str:
    """Name of an array for a sentence; that of its file where it is the only one."""
    return f"{shortened(array)} in {file}" if array else file


def check_size(nbytes: int, file: str, array: str = "") -> None:
    """Refuse what is larger than may be read; what is larger still has no room in the process that reads it."""
    if nbytes > MAX_BYTES:
        most = f"at most {megabytes(MAX_BYTES)} are allowed"
        reason_ = f"{place_in(file, array)} would take {megabytes(nbytes)} of memory; {most}."
        action = "Save logits as float32 and only arrays that are needed, or fewer rows: 20,000 are plenty."
        raise InvalidUpload("too_large", reason_, action)


@dataclass(frozen=True)
class ArrayInfo:
    """One array of a file, or one column of a table.

    Attributes
    ----------
    name : name of the array or column.
    shape : its shape.
    dtype : type of its values, such as float64.
    file : file that holds it, where an upload has several; empty elsewhere.
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
        """Return whether the file holds an array of this name."""
        return name in self.by_name

    def read(self, name: str | tuple[str, ...]) -> Array:
        """One array, or columns of a table side by side as (n, len(name)).

        Raises
        ------
        InvalidUpload
            If it cannot be read safely, or is larger than may be read.
        """
        if isinstance(name, tuple):
            return self.read_columns(name)
        place = self.name, name if len(self.arrays) > 1 else ""
        with reading(*place):
            array = self._read(name)
            check_size(array.nbytes, *place)
        return array

    def _read(self, name: str) -> Array:
        raise NotImplementedError

    def sample(self) -> dict[str, Array]:
        """A bounded number of rows of every column of a table; nothing for files of arrays."""
        return {}

    def read_columns(self, names: tuple[str, ...]) -> Array:
        """Columns of a table side by side, shape (n, len(names))."""
        reason_ = f"{self.name} holds arrays, not columns."
        raise InvalidUpload("no_such_array", reason_, "Choose one array by its name.")


@contextmanager
def reading(file: str, array: str = "") -> Iterator[None]:
    """Turn any exception of a library on a broken file, or one of its arrays, into InvalidUpload.

    The parsers of zip, HDF5, Parquet and CSV raise dozens of types on broken bytes, so all are caught here, and nowhere
    else.
    """
    try:
        yield
    except (InvalidUpload, ModuleNotFoundError):
        raise
    except MemoryError as error:
        reason_ = f"There is not enough memory to read {place_in(file, array)}."
        raise InvalidUpload("too_large", reason_, "Save fewer rows.") from error
    except Exception as error:
        why = reason(error)[:160] or type(error).__name__
        raise damaged(place_in(file, array), why) from error


def damaged(what: str, why: str) -> InvalidUpload:
    """The error for a file that a library cannot read, with the library's reason."""
    reason_ = f"{what} cannot be read ({why}). It is probably cut off or damaged."
    return InvalidUpload("damaged", reason_, "Copy or download the file again, or save it anew.")


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
        unique = np.unique(values)
        return unique, np.searchsorted(unique, values)
    numbers: dict[str, int] = {}
    places = np.empty(len(values), dtype=np.intp)
    for rows in blocks(len(values), entries=AT_ONCE):
        places[rows] = [numbers.setdefault(text, len(numbers)) for text in values[rows].tolist()]
    unique, order = np.unique(np.array([*numbers], dtype=values.dtype), return_inverse=True)
    return unique, order.reshape(-1)[places]


class Arrays(Contents):
    """Arrays by their names, each of which is read when it is asked for.

    Parameters
    ----------
    arrays : shape and type of each array, and the function that reads it.
    """

    def __init__(self, name: str, arrays: Sequence[tuple[ArrayInfo, Read]]):
        super().__init__(name, tuple(info for info, _ in arrays))
        self._reads = {info.name: read for info, read in arrays}

    def _read(self, name: str) -> Array:
        return self._reads[name]()


# NumPy's files.


def open_npy(name: str, file: BinaryIO) -> Arrays:
    """Open a file with a single array, named after the file."""
    size = file.seek(0, 2)
    file.seek(0)
    with reading(name):
        shape, dtype = npy_header(file, name, size)
    check_dtype(dtype, name)
    info = ArrayInfo(name.removesuffix(".npy"), shape, str(dtype))

    def read() -> Array:
        file.seek(0)
        return npy_array(file, name, shape, dtype)

    return Arrays(name, [(info, read)])


def open_npz(name: str, file: BinaryIO) -> Arrays:
    """Open the .npy members of a zip archive."""
    with reading(name):
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        check_count(len(members), name)
        return Arrays(name, [npz_member(archive, member, name) for member in members])


def npz_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: str
) -> tuple[ArrayInfo, Read]:
    """Return shape and type of one member of an archive, and the function that reads it."""
    key = member.filename.removesuffix(".npy")
    what = f"{key} in {file}"
    with archive.open(member) as stream:  # the directory bounds what is unpacked
        shape, dtype = npy_header(stream, what, member.file_size)

    def read() -> Array:
        with archive.open(member) as stream:
            return npy_array(stream, what, shape, dtype)

    return ArrayInfo(key, shape, "object" if dtype.hasobject else str(dtype)), read


def npy_array(file: IO[bytes], what: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Read the array that follows a header; nothing is unpickled."""
    check_dtype(dtype, what)
    check_size(prod(shape) * dtype.itemsize, what)
    return plain_text(npy_format.read_array(file, allow_pickle=False))


def npy_header(file: IO[bytes], what: str, size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of a .npy array as its header declares them, which is never evaluated as code.

    Parameters
    ----------
    size : bytes that are there, header included.
    """
    old = npy_format.read_magic(file) == (1, 0)
    read = npy_format.read_array_header_1_0 if old else npy_format.read_array_header_2_0
    shape, _, dtype = read(file)
    nbytes = prod(shape) * dtype.itemsize
    there = size - file.tell()
    if dtype.itemsize <= 0 or any(n < 0 for n in shape) or nbytes >= 2**63:
        declared = f"{what} declares items of {dtype.itemsize} bytes and the shape {shortened(str(shape))}."
        raise InvalidUpload("dtype", declared, RESAVE)
    if nbytes > there and not dtype.hasobject:
        reason_ = f"{what} says it has the shape {shape}, {nbytes:,} bytes, but only {there:,} are there. "
        reason_ += "The copy or download was probably cut off."
        raise InvalidUpload("truncated", reason_, "Copy or download the file again.")
    return shape, dtype


def check_dtype(dtype: np.dtype[Any], what: str) -> None:
    """Refuse items that are Python objects (they would need unpickling) or records."""
    if dtype.hasobject:
        why = f"{what} holds Python objects, which would have to be unpickled; that can run code, so it is never done. "
        action = "Save numbers as array.astype('float32') and strings as array.astype('str')."
        why += "Rows of different lengths or a list of strings usually cause it."
        raise InvalidUpload("object_dtype", why, action)
    if dtype.names is not None or dtype.subdtype is not None:
        fields = f"{what} is a structured array with the fields {', '.join(dtype.names or ('0',))[:200]}."
        action = (
            "Save each field as its own array: numpy.savez(file, logits=..., labels=a['label'])."
        )
        raise InvalidUpload("structured_dtype", fields, action)


LAST_LETTER = 0x10FFFF


def plain_text(array: Array) -> Array:
    """An array whose bytes are text in UTF-8; numbers that are no letters become U+FFFD, or no text can be made."""
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind == "U":
        codes = array.reshape(-1, order="A").view(
            np.dtype(np.uint32).newbyteorder(array.dtype.byteorder)
        )
        codes[(codes > LAST_LETTER) | ((codes >= 0xD800) & (codes <= 0xDFFF))] = 0xFFFD
    return array
