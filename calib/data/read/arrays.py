"""Files of arrays: npz and npy by NumPy, HDF5 by h5py; and arrays and tensors that are in memory already."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calib.data.findings import InvalidUpload, shortened
from calib.data.limits import MAX_ROWS, RESAVE, check_count, nbytes_of
from calib.data.read.base import Allowance, Array, ArrayInfo, Contents, book_texts, reading, text_array
from calib.errors import reason

Read = Callable[[], Array]


class Arrays(Contents):
    """Arrays by their names, each of which is read when it is asked for.

    Parameters
    ----------
    arrays : shape and type of each array, and the function that reads it.
    """

    def __init__(self, name: str, arrays: Sequence[tuple[ArrayInfo, Read]], allowance: Allowance):
        super().__init__(name, tuple(info for info, _ in arrays), allowance)
        self._reads = {info.name: read for info, read in arrays}

    def read(self, name: str) -> Array:
        """See the base class."""
        what = self.name if len(self.arrays) == 1 else f"{name} in {self.name}"
        with reading(what):
            return self._reads[name]()


# NumPy's files.


def open_npy(name: str, file: BinaryIO, size: int, allowance: Allowance) -> Arrays:
    """A file with a single array, named after the file."""
    shape, dtype = npy_header(file, name, size)
    check_dtype(dtype, name)

    def read() -> Array:
        file.seek(0)
        return npy_array(file, shape, dtype, name, allowance)

    return Arrays(name, [(info_of(name.removesuffix(".npy"), shape, dtype), read)], allowance)


def open_npz(name: str, file: BinaryIO, allowance: Allowance) -> Arrays:
    """The .npy members of a zip archive."""
    with reading(name):
        archive = open_zip(file)
    members = {m.filename.removesuffix(".npy"): m for m in archive.infolist() if m.filename.endswith(".npy")}
    check_count(len(members), "arrays", name)

    def array(key: str, member: zipfile.ZipInfo) -> tuple[ArrayInfo, Read]:
        what = f"{key} in {name}"
        if member.compress_type not in COMPRESSIONS or member.flag_bits & 0x1:
            raise InvalidUpload(
                "compression",
                f"{what} is encrypted or packed in a way NumPy does not write.",
                "Save it with numpy.savez_compressed.",
            )
        with reading(what), archive.open(member) as stream:
            shape, dtype = npy_header(stream, what, member.file_size)  # the directory bounds what is unpacked

        def read() -> Array:
            with archive.open(member) as stream:
                return npy_array(stream, shape, dtype, what, allowance)

        return info_of(key, shape, dtype), read

    return Arrays(name, [array(key, member) for key, member in members.items()], allowance)


def npy_header(file: IO[bytes], what: str, size: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of a .npy array as its header declares them, which is never evaluated as code.

    Parameters
    ----------
    size : bytes that are there, header included.
    """
    with reading(what):
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, _, dtype = read(file)
    nbytes = nbytes_of(shape, dtype.itemsize, what)
    if nbytes > size - file.tell() and not dtype.hasobject:
        Allowance().take(nbytes, what)
        raise InvalidUpload(
            "truncated",
            f"{what} says it has the shape {shape}, {nbytes:,} bytes, but only {size - file.tell():,} are there. "
            "The copy or download was probably cut off.",
            "Copy or download the file again.",
        )
    return shape, dtype


def npy_array(file: IO[bytes], shape: tuple[int, ...], dtype: np.dtype[Any], what: str, allowance: Allowance) -> Array:
    """The array from its beginning on, once its type and its size are known to be harmless."""
    check_dtype(dtype, what)
    book(shape, dtype, what, allowance)
    return plain_text(npy_format.read_array(file, allow_pickle=False))


def info_of(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> ArrayInfo:
    """The line of the list of arrays for one header."""
    return ArrayInfo(name, shape, "object" if dtype.hasobject else str(dtype))


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


def book(shape: tuple[int, ...], dtype: np.dtype[Any], what: str, allowance: Allowance) -> None:
    """Book an array of this shape; bytes become text, which takes four times as much."""
    nbytes = nbytes_of(shape, dtype.itemsize, what)
    if dtype.kind in "US":
        book_texts(prod(shape), dtype.itemsize // (4 if dtype.kind == "U" else 1), what, allowance)
    else:
        allowance.take(nbytes, what)


LAST_LETTER = 0x10FFFF


def plain_text(array: Array) -> Array:
    """An array whose bytes are text in UTF-8; numbers that are no letters become U+FFFD, or no text can be made."""
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind == "U":
        codes = array.reshape(-1, order="A").view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        codes[(codes > LAST_LETTER) | ((codes >= 0xD800) & (codes <= 0xDFFF))] = 0xFFFD
    return array


# Zip archives, also those of exported calibrators.

MAX_DIRECTORY = 2**22
"""Bytes of a zip's directory (4 MiB): 10,000 arrays with names of some 300 letters."""

COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""What NumPy writes. LZMA would let the file choose the size of its dictionary, up to 4 GB."""


class _Directory:
    """A file of which no more than a small directory is read at once, until the directory is known.

    ``zipfile`` reads all of it before anybody can ask how many members there are, and one gigabyte of it becomes ten.
    """

    def __init__(self, file: BinaryIO, largest: int):
        self._file, self.largest = file, largest
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self.largest:
            raise ValueError(f"a directory of {size:,} bytes, where {self.largest:,} are plenty")
        return self._file.read(size)


def open_zip(file: BinaryIO, max_directory: int = MAX_DIRECTORY) -> zipfile.ZipFile:
    """An archive whose directory is not too large; raises what ``zipfile`` raises, or ValueError."""
    directory = _Directory(file, max_directory)
    archive = zipfile.ZipFile(directory)
    directory.largest = sys.maxsize  # members may be larger
    return archive


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    """All that the directory says a member holds; its size is for the caller to judge before.

    ``ZipFile.read`` would unpack a gigabyte before it cuts it to a directory's ten bytes.
    """
    if member.compress_type not in COMPRESSIONS:
        raise ValueError(f"compression {member.compress_type}, which NumPy does not write")
    with archive.open(member) as stream:
        return stream.read(member.file_size)


# HDF5.

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""What an HDF5 file begins with."""

FILTERS = {1, 2, 3, 32000}
"""Deflate, shuffle, Fletcher's checksum and LZF, which h5py writes; any other would load a plug-in."""


def open_hdf5(name: str, file: BinaryIO, allowance: Allowance) -> Arrays:
    """Datasets of an HDF5 file, named by their paths; links are not followed, neither to other files nor inside."""
    import h5py

    arrays: list[tuple[ArrayInfo, Read]] = []
    n_entries = 0

    def found(path: str | bytes, item: Any) -> None:
        nonlocal n_entries
        path = path.decode("utf-8", "replace") if isinstance(path, bytes) else path  # a name that is no UTF-8
        n_entries += 1
        check_count(n_entries, "entries", name)
        if isinstance(item, h5py.Dataset):
            dtype = item.dtype
            kind = "structured" if dtype.names or dtype.subdtype else str(dtype)
            read = lambda: hdf5_array(item, f"{path} in {name}", allowance)  # noqa: E731
            arrays.append((ArrayInfo(path, item.shape or (), kind), read))

    with reading(name):
        opened = h5py.File(file, "r")
        opened.visititems(found)
        if not arrays and any(not isinstance(opened.get(key, getlink=True), h5py.HardLink) for key in opened):
            raise linked(f"{name} holds only links to other files")
    return Arrays(name, arrays, allowance)


def hdf5_array(dataset: Any, what: str, allowance: Allowance) -> Array:
    """One dataset, if it lies in the file itself, needs no plug-in, and holds plain numbers or strings."""
    import h5py

    if dataset.external or dataset.is_virtual:
        raise linked(f"{what} points to another file")
    filters = dataset.id.get_create_plist()
    if not {filters.get_filter(i)[0] for i in range(filters.get_nfilters())} <= FILTERS:
        raise InvalidUpload(
            "compression", f"{what} is packed with a filter that is not read here.", 'Save it with compression="gzip".'
        )
    shape, dtype = dataset.shape or (), dataset.dtype
    if dtype.names or dtype.subdtype:
        raise InvalidUpload("object_dtype", f"{what} holds records or lists, not plain numbers.", RESAVE)
    text = h5py.check_string_dtype(dtype)
    if text is None and dtype.hasobject:
        raise InvalidUpload("object_dtype", f"{what} holds {dtype}, not plain numbers or strings.", RESAVE)
    if text is not None and (len(shape) not in (1, 2) or prod(shape[1:]) != 1):
        raise InvalidUpload("labels_shape", f"{what} holds strings in the shape {shape}.", RESAVE)
    if text is not None and text.length is None:
        if len(dataset) > MAX_ROWS:
            raise InvalidUpload("too_large", f"{what} holds {len(dataset):,} strings; {MAX_ROWS:,} are read.", RESAVE)
        allowance.take(8 * len(dataset), what)
        return text_array(dataset.asstr(errors="replace")[()].reshape(-1).tolist(), what, allowance)
    book(shape, dtype, what, allowance)
    array = np.asarray(dataset[()])
    return array if text is None else plain_text(array.reshape(-1))


def linked(what: str) -> InvalidUpload:
    """Refuse data outside the upload."""
    return InvalidUpload("external_link", f"{what}, which is not part of the upload.", RESAVE)


# In memory.

INPUT = "The input"


def open_arrays(given: Mapping[Any, Any], allowance: Allowance) -> Arrays:
    """Arrays and tensors by name, as of a file of NumPy's; loading changes copies of them."""
    check_count(len(given), "arrays", INPUT)
    arrays = {str(name): as_array(value, str(name)) for name, value in given.items() if value is not None}

    def reader(name: str, array: Array) -> Read:
        def read() -> Array:
            book(array.shape, array.dtype, name, allowance)
            return np.array(array)

        return read

    listed = [(info_of(name, array.shape, array.dtype), reader(name, array)) for name, array in arrays.items()]
    return Arrays(INPUT, listed, allowance)


def as_array(value: Any, name: str) -> Array:
    """An array, a list, a DataFrame or a tensor of PyTorch, TensorFlow or JAX, on whatever device, for NumPy.

    Neither library is imported: what was given brings its own methods, or NumPy's interface.

    Raises
    ------
    InvalidUpload
        For what is neither numbers nor text.
    """
    if hasattr(value, "detach"):  # a tensor of PyTorch: without its gradient, and on this side of a GPU
        value = value.detach().cpu()
    try:
        if np.ma.is_masked(value):  # what is masked is missing, whatever stands below
            value = value.astype(np.float64).filled(np.nan)
        array = np.asarray(value)
        if array.dtype.hasobject and all(isinstance(text, str) for text in array.flat):
            array = array.astype(np.str_)
    except Exception as error:  # of whatever library the value is from
        raise _no_array(value, name, reason(error)) from error
    if array.dtype.kind not in "biufU":
        raise _no_array(value, name, f"NumPy reads {array.dtype}")
    return array


def _no_array(value: Any, name: str, why: str) -> InvalidUpload:
    return InvalidUpload(
        "source",
        f"{name} is of the type {shortened(type(value).__name__)}, which is no array of numbers or text here "
        f"({shortened(why, 160)}).",
        "Give an array or a tensor of float32 or of whole numbers, or a list of texts, all rows of the same length.",
    )
