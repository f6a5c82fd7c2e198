"""HDF5 files: only plain datasets that lie in the file itself, none of which is read before its size is known."""

from __future__ import annotations

import zlib
from math import prod
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calib.data.checks.report import InvalidUpload
from calib.data.formats.base import Allowance, Array, ArrayInfo, Contents, reading
from calib.data.formats.texts import decoded, text_array
from calib.data.limits import MAX_CHUNKS, MAX_DEPTH, MAX_ROWS, MAX_UNPACKED, RESAVE, check_count, nbytes_of
from calib.numerics import block_rows, blocks

if TYPE_CHECKING:
    import h5py

DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
HARMLESS = {DEFLATE, SHUFFLE, FLETCHER32, LZF}
"""Filters that h5py itself writes; any other would load a plug-in."""

EXPANSION = {DEFLATE: 1032, LZF: 90}
"""How far each can expand its input."""

SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""What the superblock begins with."""

USER_BLOCKS = (0, *(2**power for power in range(9, 17)))
"""Bytes of another program that may lie before it, such as the header of a MATLAB file; larger blocks are not read.

HDF5 File Format Specification 3.0, section II.A.
"""

SUPERBLOCK = 48
"""Bytes of the shortest, that of versions 2 and 3 (HDF5 File Format Specification 3.0, section II.A)."""

HEAP = b"GCOL\x01"
"""What a piece of the heap begins with, in which the strings of any length lie; its size follows at the eighth byte.

HDF5 File Format Specification 3.0, section III.E.
"""

STRINGS_AT_ONCE, MOST_READS, LONGEST_STRING = 2**24, 20_000, 2**26
"""Bytes of such strings that are read at a time, times that they are, and bytes of one (64 MiB)."""


class Hdf5Contents(Contents):
    """Datasets of an HDF5 file, named by their paths."""

    def __init__(self, name: str, file: BinaryIO, size: int, allowance: Allowance):
        import h5py

        self._datasets: dict[str, Any] = {}
        self._links: list[str] = []
        self._walked: set[int] = set()
        self._n_entries = 0
        self._size = size
        self._source = file
        with reading(name):
            rest = size - (superblock_start(file) or 0)
            if rest < SUPERBLOCK:  # older libraries read on beyond the end
                raise OSError(f"{rest} bytes, where its superblock alone has {SUPERBLOCK}")
            self._file = h5py.File(file, "r")
            self._walk(self._file, "", 0, name)
            arrays = tuple(
                ArrayInfo(key, dataset.shape or (), kind_of(dataset)) for key, dataset in self._datasets.items()
            )
        if self._links and not arrays:
            raise linked(f"{name} holds only links to other files")
        super().__init__(name, arrays, allowance)

    def _walk(self, group: Any, prefix: str, depth: int, name: str) -> None:
        import h5py

        # Each group once: they may contain each other in a circle, or one may lie in many, which has no end either.
        address = h5py.h5o.get_info(group.id).addr
        if depth > MAX_DEPTH or address in self._walked:
            return
        self._walked.add(address)
        self._n_entries += len(group)
        check_count(self._n_entries, "entries", name)
        for key in group:
            path = f"{prefix}{key}"
            if not isinstance(group.get(key, getlink=True), h5py.HardLink):
                self._links.append(path)
                continue
            item = group[key]
            if isinstance(item, h5py.Dataset):
                self._datasets[path] = item
            elif isinstance(item, h5py.Group):
                self._walk(item, f"{path}/", depth + 1, name)

    def read(self, name: str) -> Array:
        """See the base class."""
        import h5py

        dataset = self._datasets[name]
        what = f"{name} in {self.name}"
        with reading(what):
            check_storage(dataset, what)
            if kind_of(dataset) == "structured":
                raise InvalidUpload("object_dtype", f"{what} holds records or lists, not plain numbers.", RESAVE)
            text = h5py.check_string_dtype(dataset.dtype)
            if text is None and dataset.dtype.hasobject:
                raise InvalidUpload(
                    "object_dtype", f"{what} holds {dataset.dtype}, not plain numbers or strings.", RESAVE
                )
            shape = dataset.shape or ()
            if text is not None and (len(shape) not in (1, 2) or prod(shape[1:]) != 1):
                raise InvalidUpload("labels_shape", f"{what} holds strings in the shape {shape}.", RESAVE)
            check_chunks(dataset, what, self._size, self.allowance)
            if text is not None and text.length is None:
                return self._read_strings(dataset, what)
            self.allowance.take(nbytes_of(shape, dataset.dtype.itemsize, what), what)
            array = np.empty(shape, dtype=dataset.dtype)
            if array.size:
                dataset.read_direct(array)
            return array if text is None else decoded(array.reshape(-1), what, self.allowance)

    def _read_strings(self, dataset: h5py.Dataset, what: str) -> Array:
        """Strings of any length, to which the rows point: many may point to one, as long as a piece of the heap."""
        n, longest = len(dataset), longest_string(self._source, self._size)
        if n > MAX_ROWS or n > MOST_READS * block_rows(longest, STRINGS_AT_ONCE) or longest > LONGEST_STRING:
            raise InvalidUpload(
                "too_large",
                f"{what} holds {n:,} strings, each of which may have up to {longest:,} bytes; they are not read.",
                RESAVE,
            )
        self.allowance.take(8 * n, what)
        values: list[str] = []
        held = 0
        for block in blocks(n, longest, entries=STRINGS_AT_ONCE):
            rows = dataset[block].reshape(-1).tolist()
            read = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in rows]
            held += sum(map(len, read))
            if held > self.allowance.left:
                self.allowance.take(held, what)
            values += read
        return text_array(values, what, self.allowance)


def superblock_start(file: BinaryIO) -> int | None:
    """Where the superblock of an HDF5 file lies, after a user block if there is one; None for other files."""
    for start in USER_BLOCKS:
        file.seek(start)
        if file.read(len(SIGNATURE)) == SIGNATURE:
            return start
    return None


def kind_of(dataset: Any) -> str:
    """The type of a dataset; "structured" for records and lists, whose thousands of fields are not looked at."""
    from h5py import h5t

    kind = dataset.id.get_type()
    if isinstance(kind, h5t.TypeEnumID) and kind.get_nmembers() > 2:
        kind = kind.get_super()
    return "structured" if isinstance(kind, (h5t.TypeCompoundID, h5t.TypeArrayID)) else str(kind.dtype)


def longest_string(file: BinaryIO, size: int) -> int:
    """Bytes of the largest piece of the heap in a file, which no string in it exceeds."""
    largest, held = 1, b""
    file.seek(0)
    while largest < LONGEST_STRING and (chunk := file.read(2**20)):
        held += chunk
        at = held.find(HEAP)
        while 0 <= at <= len(held) - 16:
            largest = max(largest, min(int.from_bytes(held[at + 8 : at + 16], "little"), size))
            at = held.find(HEAP, at + 1)
        held = held[-16:]
    return largest


def check_storage(dataset: Any, what: str) -> None:
    """Refuse data that lie in other files of this machine, and filters that would load code."""
    if dataset.external or dataset.is_virtual:
        raise linked(f"{what} points to another file")
    filters = filters_of(dataset)
    if not set(filters) <= HARMLESS or sum(f in EXPANSION for f in filters) > 1:
        raise InvalidUpload(
            "compression", f"{what} is packed with a filter that is not read here.", 'Save it with compression="gzip".'
        )


def filters_of(dataset: Any) -> list[int]:
    """The numbers of the filters that its chunks are packed with."""
    plist = dataset.id.get_create_plist()
    return [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]


def linked(what: str) -> InvalidUpload:
    """Refuse data outside the upload."""
    return InvalidUpload("external_link", f"{what}, which is not part of the upload.", RESAVE)


def check_chunks(dataset: Any, what: str, size: int, allowance: Allowance) -> None:
    """Refuse more chunks than are worth their cost, and those that unpack to more than they say.

    HDF5 takes some four kilobytes for each chunk of what is read, written or not, and grows the buffer of a packed one
    until its stream ends.

    Parameters
    ----------
    size : of the file, in which all chunks lie beside each other.
    """
    if dataset.chunks is None:
        return
    n = prod(-(-rows // step) for rows, step in zip(dataset.shape, dataset.chunks, strict=True))
    if n > MAX_CHUNKS:
        raise InvalidUpload(
            "too_large",
            f"{what} is stored in {n:,} chunks of the shape {dataset.chunks}; at most {MAX_CHUNKS:,} are read.",
            RESAVE,
        )
    chunk = nbytes_of(dataset.chunks, dataset.id.get_type().get_size(), what)
    if chunk > allowance.size:
        allowance.take(chunk, what)
    Allowance(2 * allowance.size).take(n * chunk, f"The {n:,} chunks of {what}")
    filters = filters_of(dataset)
    factor = max((EXPANSION.get(f, 1) for f in filters), default=1)
    written: list[Any] = []
    dataset.id.chunk_iter(written.append)
    if sum(stored.size for stored in written) > size:
        raise EOFError(f"its chunks have more than the {size:,} bytes of the file")
    for stored in written:
        if stored.size * factor <= max(MAX_UNPACKED, chunk):
            continue
        if DEFLATE not in filters or stored.size > 2 * chunk + 1024 or not inflates_to(dataset, stored, chunk):
            Allowance(min(allowance.size, MAX_UNPACKED)).take(stored.size * factor, f"A chunk of {what}")


def inflates_to(dataset: Any, stored: Any, nbytes: int) -> bool:
    """Whether a deflated chunk ends within its declared size and a checksum."""
    mask, raw = dataset.id.read_direct_chunk(stored.chunk_offset)
    if mask:
        return len(raw) <= nbytes + 1024
    unpacker = zlib.decompressobj()
    slack = 1024
    return len(unpacker.decompress(raw[: len(raw)], nbytes + slack)) <= nbytes + slack and not unpacker.unconsumed_tail
