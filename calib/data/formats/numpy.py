"""NumPy files, .npy and .npz; shapes and sizes are checked in the headers before anything is allocated."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calib.data.checks.report import InvalidUpload
from calib.data.formats.archives import COMPRESSIONS, open_zip
from calib.data.formats.base import Allowance, Array, ArrayInfo, Contents, reading
from calib.data.formats.texts import book_texts, decoded, replace_no_letters
from calib.data.limits import check_count, nbytes_of

CHUNK = 2**20


@dataclass(frozen=True)
class Header:
    """What a .npy file says about itself; ``size`` is its own length in bytes."""

    shape: tuple[int, ...]
    fortran_order: bool
    dtype: np.dtype[Any]
    size: int


def read_header(file: BinaryIO, what: str) -> Header:
    """Parse the header, which NumPy bounds at 10,000 characters and never evaluates as code."""
    with reading(what):
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran_order, dtype = read(file)
    return Header(shape, fortran_order, dtype, file.tell())


def info(name: str, header: Header) -> ArrayInfo:
    """The line of the list of arrays for one header."""
    return ArrayInfo(name, header.shape, "object" if header.dtype.hasobject else str(header.dtype))


def check_dtype(dtype: np.dtype[Any], what: str) -> None:
    """Refuse items that are Python objects (they would need unpickling) or records."""
    if dtype.hasobject:
        raise InvalidUpload(
            "object_dtype",
            f"{what} holds Python objects, which would have to be unpickled; that can run code, so it is never "
            "done. Rows of different lengths or a list of strings usually cause it.",
            "Save numbers as array.astype('float32') and strings as array.astype('str').",
        )
    if dtype.names is not None or dtype.subdtype is not None:
        raise InvalidUpload(
            "structured_dtype",
            f"{what} is a structured array with the fields {', '.join(dtype.names or ('0',))[:200]}.",
            "Save each field as its own array: numpy.savez(file, logits=..., labels=a['label']).",
        )


def check_length(header: Header, available: int, what: str) -> None:
    """Refuse a header that announces more bytes than follow it."""
    declared = prod(header.shape) * header.dtype.itemsize
    if declared > available and not header.dtype.hasobject:
        Allowance().take(declared, what)
        raise InvalidUpload(
            "truncated",
            f"{what} says it has the shape {header.shape}, {declared:,} bytes, but only {available:,} are there. "
            "The copy or download was probably cut off.",
            "Copy or download the file again.",
        )


def read_body(file: BinaryIO, header: Header, what: str, allowance: Allowance) -> Array:
    """The array behind a header that was just read and whose length was checked."""
    check_dtype(header.dtype, what)
    declared = nbytes_of(header.shape, header.dtype.itemsize, what)
    if header.dtype.kind in "US":
        letters = header.dtype.itemsize // (4 if header.dtype.kind == "U" else 1)
        book_texts(prod(header.shape), letters, what, allowance)
    else:
        allowance.take(declared, what)
    order = "F" if header.fortran_order else "C"
    with reading(what):
        array = np.empty(header.shape, dtype=header.dtype, order=order)  # type: ignore[call-overload]
        if declared:
            fill(array.reshape(-1, order="A").view(np.uint8), file)
    if array.dtype.kind == "U":
        replace_no_letters(array)
    return decoded(array, what, allowance) if array.dtype.kind == "S" else array


def fill(flat: Array, file: BinaryIO) -> None:
    """Read exactly the bytes of a flat array in place; a copy of the whole never exists."""
    view, done = flat.data, 0
    while done < len(view):
        chunk = file.read(min(CHUNK, len(view) - done))
        if not chunk:
            raise EOFError(f"{len(view):,} bytes were announced, {done:,} are there")
        view[done : done + len(chunk)] = chunk
        done += len(chunk)


class NpyContents(Contents):
    """A file with a single array, named after the file."""

    def __init__(self, name: str, file: BinaryIO, size: int, allowance: Allowance):
        self._file = file
        self._header = read_header(file, name)
        check_length(self._header, size - self._header.size, name)
        check_dtype(self._header.dtype, name)
        nbytes_of(self._header.shape, self._header.dtype.itemsize, name)
        super().__init__(name, (info(name.removesuffix(".npy"), self._header),), allowance)

    def read(self, name: str) -> Array:
        """See the base class."""
        self._file.seek(self._header.size)
        return read_body(self._file, self._header, self.name, self.allowance)


class NpzContents(Contents):
    """The .npy members of a zip archive."""

    def __init__(self, name: str, file: BinaryIO, allowance: Allowance):
        with reading(name):
            self._archive = open_zip(file)
        members = [m for m in self._archive.infolist() if m.filename.endswith(".npy")]
        check_count(len(members), "arrays", name)
        self._members = {member.filename.removesuffix(".npy"): member for member in members}
        self._headers = {}
        for key, member in self._members.items():
            what = f"{key} in {name}"
            if member.compress_type not in COMPRESSIONS or member.flag_bits & 0x1:
                raise InvalidUpload(
                    "compression",
                    f"{what} is encrypted or packed in a way NumPy does not write.",
                    "Save it with numpy.savez_compressed.",
                )
            with reading(what), self._archive.open(member) as stream:
                self._headers[key] = header = read_header(stream, what)  # type: ignore[arg-type]
                # zipfile hands out file_size bytes at most, so the directory bounds what is unpacked.
                check_length(header, member.file_size - header.size, what)
        super().__init__(name, tuple(info(key, header) for key, header in self._headers.items()), allowance)

    def read(self, name: str) -> Array:
        """See the base class."""
        member, header, what = self._members[name], self._headers[name], f"{name} in {self.name}"
        with reading(what), self._archive.open(member) as stream:
            stream.read(header.size)
            return read_body(stream, header, what, self.allowance)  # type: ignore[arg-type]
