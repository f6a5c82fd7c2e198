"""HDF5 files: only plain datasets that lie in the file itself, none of which is read before its size is known."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calib.data.checks.report import InvalidUpload
from calib.data.formats.base import Allowance, Array, ArrayInfo, Contents, reading, text_array
from calib.data.limits import MAX_DEPTH, RESAVE, check_count, nbytes_of
from calib.numerics import block_rows, blocks

if TYPE_CHECKING:
    import h5py

DEFLATE, SHUFFLE, FLETCHER32, LZF = 1, 2, 3, 32000
HARMLESS = {DEFLATE, SHUFFLE, FLETCHER32, LZF}
"""Filters that h5py itself writes; any other would load a plug-in."""

EXPANSION = {DEFLATE: 1032, LZF: 90}
"""How far each can expand its input."""


class Hdf5Contents(Contents):
    """Datasets of an HDF5 file, named by their paths."""

    def __init__(self, name: str, file: BinaryIO, size: int, allowance: Allowance):
        import h5py

        self._datasets: dict[str, Any] = {}
        self._links: list[str] = []
        self._walked: set[int] = set()
        self._n_entries = 0
        self._size = size
        with reading(name):
            self._file = h5py.File(file, "r")
            self._walk(self._file, "", 0, name)
            arrays = tuple(
                ArrayInfo(key, dataset.shape or (), str(dataset.dtype)) for key, dataset in self._datasets.items()
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
            if h5py.check_string_dtype(dataset.dtype) is not None:
                return self._read_strings(dataset, what)
            if dataset.dtype.hasobject or dataset.dtype.names is not None:
                raise InvalidUpload(
                    "object_dtype", f"{what} holds {dataset.dtype}, not plain numbers or strings.", RESAVE
                )
            shape = dataset.shape or ()
            self.allowance.take(nbytes_of(shape, dataset.dtype.itemsize, what), what)
            check_chunks(dataset, what, self.allowance)
            array = np.empty(shape, dtype=dataset.dtype)
            if array.size:
                dataset.read_direct(array)
            return array

    def _read_strings(self, dataset: h5py.Dataset, what: str) -> Array:
        """Strings in blocks: many rows may point at one long string, each as long as the file at most."""
        n = int(np.prod(dataset.shape or ()))
        self.allowance.take(8 * n, what)
        check_chunks(dataset, what, self.allowance)
        if dataset.ndim == 2 and dataset.shape[1] == 1:
            rows = lambda block: dataset[block, 0]  # noqa: E731
        elif dataset.ndim == 1:
            rows = lambda block: dataset[block]  # noqa: E731
        else:
            raise InvalidUpload("labels_shape", f"{what} holds strings in the shape {dataset.shape}.", RESAVE)
        values: list[str] = []
        held = 0
        for block in blocks(n, entries=min(100_000, block_rows(self._size, self.allowance.size))):
            read = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in rows(block)]
            held += sum(map(len, read))
            if held > self.allowance.left:
                self.allowance.take(held, what)
            values += read
        return text_array(values, what, self.allowance)


def check_storage(dataset: Any, what: str) -> None:
    """Refuse data that lie in other files of this machine, and filters that would load code."""
    if dataset.external or dataset.is_virtual:
        raise linked(f"{what} points to another file")
    filters = [
        dataset.id.get_create_plist().get_filter(i)[0] for i in range(dataset.id.get_create_plist().get_nfilters())
    ]
    if not set(filters) <= HARMLESS or sum(f in EXPANSION for f in filters) > 1:
        raise InvalidUpload(
            "compression", f"{what} is packed with a filter that is not read here.", 'Save it with compression="gzip".'
        )


def linked(what: str) -> InvalidUpload:
    """Refuse data outside the upload."""
    return InvalidUpload("external_link", f"{what}, which is not part of the upload.", RESAVE)


def check_chunks(dataset: Any, what: str, allowance: Allowance) -> None:
    """Refuse chunks that unpack to more than they say; HDF5 itself grows its buffer until the stream ends."""
    if dataset.chunks is None:
        return
    chunk = nbytes_of(dataset.chunks, dataset.dtype.itemsize, what)
    if chunk > allowance.size:
        allowance.take(chunk, what)
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(i)[0] for i in range(plist.get_nfilters())]
    factor = max((EXPANSION.get(f, 1) for f in filters), default=1)
    for i in range(dataset.id.get_num_chunks()):
        stored = dataset.id.get_chunk_info(i)
        if stored.size * factor <= allowance.size:
            continue
        if DEFLATE not in filters or stored.size > 2 * chunk + 1024 or not inflates_to(dataset, stored, chunk):
            allowance.take(stored.size * factor, f"A chunk of {what}")


def inflates_to(dataset: Any, stored: Any, nbytes: int) -> bool:
    """Whether a deflated chunk ends within its declared size and a checksum."""
    mask, raw = dataset.id.read_direct_chunk(stored.chunk_offset)
    if mask:
        return len(raw) <= nbytes + 1024
    unpacker = zlib.decompressobj()
    slack = 1024
    return len(unpacker.decompress(raw[: len(raw)], nbytes + slack)) <= nbytes + slack and not unpacker.unconsumed_tail
