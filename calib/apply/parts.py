"""A .npy array, a Parquet table or a folder of Parquet tables, read in blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.data.build.part import check_there
from calib.data.findings import InvalidUpload
from calib.data.guess.question import infer_columns
from calib.data.options import Choices
from calib.data.read.base import reading
from calib.data.read.columns import sample_of_parquet
from calib.data.read.files import contents_of, open_file, sniff
from calib.data.read.table import numbers
from calib.errors import reason
from calib.numerics import MEMORY_ENTRIES, Floats, block_rows, blocks

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".npy", ".parquet")
"""Files that are read and written in blocks of rows."""

READ_AHEAD = 2**16
"""Bytes of each column of a Parquet file that are read ahead; all columns are open at once."""

Progress = Callable[[int, int], None]
"""``progress(done, total)``, of rows; it may raise to stop the work."""


def no_progress(done: int, total: int) -> None:
    """Ignore progress."""


def has_blocks(path: Path) -> bool:
    """Return whether a file, by its name, is read in blocks of rows, as a folder is."""
    return path.is_dir() or path.suffix.lower() in ENDINGS


@dataclass(frozen=True)
class Part:
    """A file that is read in blocks of rows.

    Attributes
    ----------
    path : of the file.
    n_rows : rows in it.
    columns : of the outputs in a table; empty for an array.
    n_outputs : numbers in a row of outputs.
    row_bytes : most bytes of a row in memory, of tables with all other columns.
    choices : with what was inferred.
    """

    path: Path
    n_rows: int
    columns: tuple[str, ...]
    n_outputs: int
    row_bytes: int
    choices: Choices

    @classmethod
    def from_path(cls, path: Path, choices: Choices, separate_labels: bool, infer: bool) -> Part:
        """Return a file, with the columns of a table inferred where they are not chosen."""
        with ExitStack() as stack:
            name, file = open_file(path, stack)
            format_name = sniff(name, file)
            if f".{format_name}" not in ENDINGS:
                raise InvalidUpload(
                    "not_in_blocks",
                    f"{name} holds {format_name}, which cannot be read in blocks of rows.",
                    "Save one .npy array, a Parquet table, or a folder of Parquet tables.",
                )
            if format_name == "parquet":
                contents, n_rows = sample_of_parquet(name, file, choices)
                check_there(contents, choices.outputs)
                if infer:
                    choices, _, _ = infer_columns(contents, choices, separate_labels)
                columns = check_there(contents, choices.outputs)
                return cls(path, n_rows, columns, len(columns), 8 * len(contents.names), choices)
            (array,) = contents_of(format_name, name, file, choices).arrays
            if not array.shape:
                raise InvalidUpload(
                    "shape_0d",
                    f"{name} is a single value, not one row of scores per example.",
                    "Save the whole array.",
                )
            width = prod(array.shape[1:])
            return cls(path, array.shape[0], (), width, 8 * width, choices)

    def blocks(self, columns: tuple[str, ...] | None = None) -> Iterator[Any]:
        """Every row in order, as arrays or as Arrow tables of these columns (None for all)."""
        return self._tables(columns) if self.columns else self._arrays()

    def outputs(self) -> Iterator[Floats]:
        """The outputs of all rows in order, in blocks; missing cells of tables are NaN."""
        for block in self.blocks(self.columns):
            if self.columns:
                named = [
                    (block.column(name), f"Column {name} of {self.path.name}")
                    for name in self.columns
                ]
                block = np.column_stack([numbers(column, what, False) for column, what in named])
            yield block

    def _arrays(self) -> Iterator[Floats]:
        for rows in blocks(self.n_rows, self.n_outputs, MEMORY_ENTRIES):
            with reading(self.path.name):
                # Opened anew for each block: pages of a map count as memory for as long as it is open.
                block = np.array(np.load(self.path, mmap_mode="r")[rows])
            yield block

    def _tables(self, columns: tuple[str, ...] | None) -> Iterator[pa.Table]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # A row group may be the whole file, so its pages are read as they are needed.
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=READ_AHEAD) as file:
            names = file.schema_arrow.names if columns is None else list(columns)
            batches = file.iter_batches(
                block_rows(len(names), MEMORY_ENTRIES), columns=names, use_threads=False
            )
            while True:
                with reading(self.path.name):
                    batch = next(batches, None)
                if batch is None:
                    return
                yield pa.Table.from_batches([batch])


def parts_of(path: Path, choices: Choices, separate_labels: bool = True) -> list[Part]:
    """Return a file alone, or the Parquet files of a folder, whose outputs have the columns of the first.

    Parameters
    ----------
    separate_labels : whether the labels lie elsewhere, or none are needed.

    Raises
    ------
    InvalidUpload
        If a file is of another kind, or there are no rows.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InvalidUpload(
            "no_rows", f"The folder {path.name} holds no .parquet files.", "Name another one."
        )
    parts = [Part.from_path(files[0], choices, separate_labels, infer=True)]
    parts += [Part.from_path(f, parts[0].choices, separate_labels, False) for f in files[1:]]
    if not any(part.n_rows for part in parts):
        raise InvalidUpload(
            "no_rows", f"{path.name} has 0 rows.", "Check that saving it ended, and name it again."
        )
    return parts


def joined(tables: Sequence[pa.Table], name: str) -> pa.Table:
    """Blocks of the tables of a folder as one table; numbers of two widths become the wider ones.

    Raises
    ------
    InvalidUpload
        If a column has types in two of the files that do not go together, such as numbers and texts.
    """
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        raise InvalidUpload(
            "parts_differ",
            f"The files of {name} cannot be read as one table ({reason(error)}). Probably different programs saved "
            "them.",
            "Save each column with the same type in all of them.",
        ) from error
