"""Model outputs on disk, read in blocks of rows: a .npy array, a Parquet table, or a folder of such tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from calib.data.checks.report import InvalidUpload, Report
from calib.data.formats.base import Allowance, Contents, reading
from calib.data.formats.detect import contents_of, open_file, sniff
from calib.data.formats.table import numbers
from calib.data.interpret.reading import check_there
from calib.data.interpret.tables import infer_columns
from calib.numerics import MEMORY_ENTRIES, Floats, block_rows, blocks

Progress = Callable[[str, int, int], None]
"""``progress(what, done, total)``; it may raise to stop the work."""

FORMATS = ("npy", "parquet")
"""Formats whose rows can be read one after the other."""

READ_AHEAD = 2**16
"""Bytes of each column of a Parquet file that are read ahead; all columns are open at once."""


def no_progress(what: str, done: int, total: int) -> None:
    """Ignore progress."""


@dataclass(frozen=True)
class Rows:
    """Rows of an array, or of tables one after the other, of which a block of about 16 MB is in memory at a time.

    Attributes
    ----------
    name : of the file or folder.
    parts : the files.
    n_rows : in all parts.
    columns : of the outputs, where they lie in tables; empty for an array.
    n_outputs : numbers in a row of outputs.
    row_bytes : bytes of a row in memory, of tables with all other columns.
    """

    name: str
    parts: tuple[Path, ...]
    n_rows: int
    columns: tuple[str, ...]
    n_outputs: int
    row_bytes: int

    @classmethod
    def from_path(cls, path: Path, report: Report, separate_labels: bool = True) -> Rows:
        """The rows of a file or folder; which columns are outputs is inferred as for files that are read at once.

        Parameters
        ----------
        report : its choices say how to read the file, and get what is inferred from the first part.
        separate_labels : whether the labels lie elsewhere, or none are needed.
        """
        parts = tuple(sorted(path.glob("*.parquet"))) if path.is_dir() else (path,)
        if not parts:
            raise InvalidUpload("no_rows", f"The folder {path.name} holds no .parquet files.", "Name another one.")
        with ExitStack() as stack:
            contents = [_opened(part, report, stack) for part in parts]
            n_rows = sum(each.arrays[0].shape[0] if each.arrays[0].shape else 0 for each in contents)
            if not contents[0].tabular:
                (array,) = contents[0].arrays
                width = prod(array.shape[1:])
                return cls(path.name, parts, n_rows, (), width, max(1, width * np.dtype(array.dtype).itemsize))
            infer_columns(contents[0], report, separate_labels)
            for each in contents:
                columns = check_there(each, report.choices.outputs)
            return cls(path.name, parts, n_rows, columns, len(columns), 8 * len(contents[0].names))

    def blocks(self, columns: tuple[str, ...] | None = None) -> Iterator[Any]:
        """All rows in order, as arrays or as Arrow tables of these columns (None for all)."""
        for part in self.parts:
            if self.columns:
                yield from _table_blocks(part, columns)
                continue
            for rows in blocks(self.n_rows, self.n_outputs, MEMORY_ENTRIES):
                with reading(self.name):
                    # Opened anew for each block: pages of a map count as memory for as long as it is open.
                    block = np.array(np.load(part, mmap_mode="r")[rows])
                yield block

    def outputs(self) -> Iterator[Floats]:
        """The outputs of all rows in order, in blocks; missing cells of tables are NaN."""
        for block in self.blocks(self.columns):
            if self.columns:
                named = [(block.column(name), f"Column {name} of {self.name}") for name in self.columns]
                block = np.column_stack([numbers(column, what, False) for column, what in named])
            yield block


def has_blocks(path: Path) -> bool:
    """Whether a file can be read in blocks of rows, as a folder can; False where there is no such file."""
    if path.is_dir():
        return True
    try:
        with path.open("rb") as file:
            return sniff(path.name, file) in FORMATS
    except (OSError, InvalidUpload):
        return False


def _opened(path: Path, report: Report, stack: ExitStack) -> Contents:
    name, file = open_file(path, stack)
    found = sniff(name, file)
    if found not in FORMATS:
        raise InvalidUpload(
            "not_in_blocks",
            f"{name} holds {found}, which cannot be read in blocks of rows.",
            "Save one .npy array, a Parquet table, or a folder of Parquet tables.",
        )
    size = file.seek(0, 2)
    file.seek(0)
    return contents_of(found, name, file, size, Allowance(), report)


def _table_blocks(path: Path, columns: tuple[str, ...] | None) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A row group may be the whole file, so its pages are read as they are needed.
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
        names = file.schema_arrow.names if columns is None else list(columns)
        batches = file.iter_batches(block_rows(len(names), MEMORY_ENTRIES), columns=names, use_threads=False)
        while True:
            with reading(path.name):
                batch = next(batches, None)
            if batch is None:
                return
            yield pa.Table.from_batches([batch])
