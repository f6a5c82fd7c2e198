"""Rows of outputs that are read in blocks, or picked by number: arrays, .npy files and Parquet tables.

:class:`LogitRows` gives a model's outputs as canonical logits, with every check that loading makes.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from calib.canonical import Kind, check_values, to_canonical
from calib.data.checks.report import InvalidUpload
from calib.data.formats.base import Array, reading
from calib.data.formats.numpy import check_dtype, check_length, read_header
from calib.data.formats.table import common_dtype, numbers
from calib.data.interpret.reading import float_dtype
from calib.data.limits import MAX_CLASSES, check_count, nbytes_of
from calib.data.scales import PLAIN, Scale, check_rescaled, to_plain
from calib.errors import CalibrationError
from calib.numerics import MEMORY_ENTRIES, PREDICTED_ENTRIES, Floats, Ints, block_rows, blocks

Item = TypeVar("Item")
Result = TypeVar("Result")

Block = tuple[int, Floats]
"""The number of the first row, and the rows."""

_SEEK_FOR_ONE_IN = 8
"""Where more rows are wanted, reading all of them is quicker than looking for each."""

BUFFER = 2**16
"""Bytes of a column that are read ahead; all columns are open at once."""
Progress = Callable[[str, int, int], None]
"""``progress(what, rows done, rows in all)``; it may raise to cancel."""
MOST_THREADS = 8
"""Blocks that are held at once; NumPy lets go of the interpreter where it counts."""


class Rows(ABC):
    """Numbers by rows, of which only a block is in memory at a time.

    Attributes
    ----------
    name : for sentences.
    shape : as an array's; a single column is (n,) or (n, 1).
    dtype : of the blocks, float32 or float64.
    block_rows : rows read at a time: a multiple of those predicted at a time, so that both cut at the same rows.
    """

    def __init__(self, name: str, shape: tuple[int, ...], dtype: np.dtype[Any]):
        if len(shape) == 0:
            raise InvalidUpload("shape_0d", f"{name} is a single value.", "Save one row per input.")
        if prod(shape[1:]) > MAX_CLASSES:
            raise InvalidUpload(
                "too_many_classes",
                f"{name} has {prod(shape[1:]):,} values in a row; at most {MAX_CLASSES:,} are read.",
                "Save the outputs as (rows, classes).",
            )
        self.name, self.shape, self.dtype = name, shape, dtype
        together = block_rows(self.width, PREDICTED_ENTRIES)
        self.block_rows = together * block_rows(together * self.width, MEMORY_ENTRIES)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return prod(self.shape[1:])

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """All rows in order, :attr:`block_rows` at a time; the last block may be shorter."""

    def take(self, rows: Ints) -> Floats:
        """The rows of these increasing numbers."""
        taken = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for start, block in self.blocks():
            first, last = np.searchsorted(rows, [start, start + len(block)])
            taken[first:last] = block[rows[first:last] - start]
        return taken


class ArrayRows(Rows):
    """Rows of an array in memory, or of a memory map, whose pages the system keeps as it sees fit."""

    def __init__(self, array: Array):
        super().__init__("The outputs", array.shape, float_dtype(array.dtype, "The outputs"))
        self._array = array

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        for rows in blocks(len(self), entries=self.block_rows):
            yield rows.start, np.asarray(self._array[rows], dtype=self.dtype)

    def take(self, rows: Ints) -> Floats:
        """See the base class."""
        return np.asarray(self._array[rows], dtype=self.dtype)


class NpyRows(Rows):
    """Rows of a .npy file, whose header is checked first.

    They are read, not mapped: pages of a map would count as this process's memory until all of the file is
    there, and a file that shrinks under a map ends the process without a word.
    """

    def __init__(self, path: Path, file: BinaryIO, size: int):
        self._file = file
        header = read_header(file, path.name)
        check_length(header, size - header.size, path.name)
        check_dtype(header.dtype, path.name)
        nbytes_of(header.shape, header.dtype.itemsize, path.name)
        self._header = header
        super().__init__(path.name, header.shape, float_dtype(header.dtype, path.name))

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        for rows in blocks(len(self), entries=self.block_rows):
            yield rows.start, self._read(rows.start, rows.stop)

    def take(self, rows: Ints) -> Floats:
        """See the base class; where they are few, only they are read."""
        if len(rows) * _SEEK_FOR_ONE_IN > len(self):
            return super().take(rows)
        taken = np.empty((len(rows), *self.shape[1:]), self.dtype)
        for at, row in enumerate(rows.tolist()):
            taken[at] = self._read(row, row + 1)[0]
        return taken

    def _read(self, start: int, stop: int) -> Floats:
        with reading(self.name):
            if self._header.fortran_order:
                raw = np.empty((self.width, stop - start), self._header.dtype)
                for column in range(self.width):
                    self._fill(raw[column], column * len(self) + start)
                raw = raw.reshape((*self.shape[:0:-1], stop - start)).T
            else:
                raw = np.empty((stop - start, *self.shape[1:]), self._header.dtype)
                self._fill(raw, start * self.width)
            return np.ascontiguousarray(raw, dtype=self.dtype)

    def _fill(self, part: Array, first: int) -> None:
        """Fill a contiguous array with the numbers from the ``first`` of the file on."""
        self._file.seek(self._header.size + first * self._header.dtype.itemsize)
        view = part.reshape(-1).view(np.uint8).data
        done = 0
        while done < len(view):
            got = self._file.readinto(view[done:])  # type: ignore[attr-defined]
            if not got:
                raise EOFError("the file ended while it was read")
            done += got


class Subset(Rows):
    """Some of the rows, by their increasing numbers."""

    def __init__(self, rows: Rows, chosen: Ints):
        super().__init__(rows.name, (len(chosen), *rows.shape[1:]), rows.dtype)
        self._rows, self._chosen = rows, chosen

    def blocks(self) -> Iterator[Block]:
        """See the base class; blocks are cut where those of all rows are."""
        for start, block in self._rows.blocks():
            first, last = np.searchsorted(self._chosen, [start, start + len(block)])
            if last > first:
                yield int(first), block[self._chosen[first:last] - start]

    def take(self, rows: Ints) -> Floats:
        """See the base class."""
        return self._rows.take(self._chosen[rows])


class ParquetRows(Rows):
    """Columns of numbers side by side; missing cells become NaN, which the check of the values then names."""

    def __init__(self, path: Path, file: BinaryIO, columns: tuple[str, ...]):
        import pyarrow.parquet as pq

        with reading(path.name):
            # A whole row group at once may be the whole file, so pages are read as they are needed.
            self._parquet = pq.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER)
            schema, n_rows = self._parquet.schema_arrow, self._parquet.metadata.num_rows
            check_count(self._parquet.metadata.num_columns, "columns", path.name)
            dtype = common_dtype([schema.field(name).type for name in columns])
        super().__init__(path.name, (n_rows, len(columns)), dtype)
        self.columns = columns

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        import pyarrow as pa

        start = 0
        batches = self._parquet.iter_batches(self.block_rows, columns=list(self.columns), use_threads=False)
        while True:
            with reading(self.name):
                batch = next(batches, None)
                if batch is None:
                    break
                block = np.empty((batch.num_rows, len(self.columns)), self.dtype)
                for j, name in enumerate(self.columns):
                    column = pa.chunked_array([batch.column(name)])
                    block[:, j] = numbers(column, f"Column {name} of {self.name}", False)
            yield start, block
            start += len(block)


class PlainRows(Rows):
    """Outputs on the scale of their kind; see :func:`calib.data.scales.to_plain`."""

    def __init__(self, outputs: Rows, scale: Scale):
        super().__init__(outputs.name, outputs.shape, outputs.dtype)
        self.block_rows = outputs.block_rows
        self._outputs, self._scale = outputs, scale

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        for start, block in self._outputs.blocks():
            if start == 0:
                check_rescaled(block, self._scale)
            yield start, to_plain(block, self._scale)

    def take(self, rows: Ints) -> Floats:
        """See the base class."""
        return to_plain(self._outputs.take(rows), self._scale)


def on_plain_scale(outputs: Rows, scale: Scale | None) -> Rows:
    """Outputs on the scale of their kind."""
    return outputs if scale in (None, PLAIN) else PlainRows(outputs, scale)


class LogitRows(Rows):
    """Canonical logits of stored outputs.

    Parameters
    ----------
    outputs : rows as the model wrote them.
    kind, floor : what they are and what an exact zero becomes, see :func:`calib.canonical.to_canonical`.

    Raises
    ------
    CalibrationError
        At once for a wrong shape; while blocks are read, for values that cannot be of the kind, with the number
        of the first such row, counted from 1.
    """

    def __init__(self, outputs: Rows, kind: Kind, floor: float | None = None):
        empty = to_canonical(np.empty((0, *outputs.shape[1:]), outputs.dtype), kind, floor)
        super().__init__(outputs.name, (len(outputs), empty.shape[1]), empty.dtype)
        self.block_rows = outputs.block_rows
        self._outputs, self.kind, self.floor = outputs, kind, floor

    def blocks(self) -> Iterator[Block]:
        """See the base class."""
        for start, block in self._outputs.blocks():
            yield start, self.checked(start, block)

    def take(self, rows: Ints) -> Floats:
        """See the base class."""
        return to_canonical(self._outputs.take(rows), self.kind, self.floor)

    def checked(self, start: int, block: Floats) -> Floats:
        """Logits of a block of outputs whose first row has the number ``start``."""
        check_block(block, self.kind, start, len(self), self.name)
        return to_canonical(block, self.kind, self.floor)


def check_block(block: Any, kind: Kind, start: int, n: int, name: str) -> None:
    """What :func:`calib.canonical.check_values` does for all rows at once, for some of ``n``; rows are said from 1."""
    if not _refused(block, kind):
        return
    good, bad = 0, len(block)  # block[:good] can be used, block[:bad] cannot
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if _refused(block[:middle], kind) else (middle, bad)
    where = f"row {start + bad:,} of {n:,} in {name}"
    if np.isfinite(block[bad - 1]).all():
        raise CalibrationError(f"The first that cannot be used is {where}: {_refused(block[bad - 1 : bad], kind)}")
    last = min(start + len(block), n)
    raise CalibrationError(
        f"NaN or infinite values stand in {where}, the first of {_n_not_finite(block, kind):,} such rows up to row "
        f"{last:,}; empty cells and overflow in float16 usually cause it. Leave these rows out."
    )


def _refused(rows: Any, kind: Kind) -> str:
    """Why rows cannot be used; empty where they can."""
    try:
        check_values(rows, kind)
    except CalibrationError as error:
        return str(error)
    return ""


def _n_not_finite(block: Any, kind: Kind) -> int:
    flat = np.asarray(block).reshape(len(block), -1)
    zero = np.isneginf(flat) if kind == "log_probabilities" else False
    return int((~(np.isfinite(flat) | zero)).any(axis=1).sum())


def no_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""


def n_threads() -> int:
    """Threads that this process may use."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(allowed, MOST_THREADS))


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """``map(work, items)`` on threads; while they work, the next item is read and the last result is used.

    No more items are taken than there are threads, and one: memory does not grow with their number.
    """
    with ThreadPoolExecutor(n_threads()) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > pool._max_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
