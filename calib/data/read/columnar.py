"""Parquet and Arrow files, and tables in memory: data frames of pandas, polars and others, and Arrow's own."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calib.data.findings import InvalidUpload
from calib.data.options import Choices
from calib.data.read.base import check_size, reading
from calib.data.read.nested import open_columns
from calib.data.read.table import SAMPLE_ROWS, Table

if TYPE_CHECKING:
    import pyarrow as pa


def open_parquet(name: str, file: BinaryIO, choices: Choices) -> Table:
    """A Parquet file, all of whose columns are read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(name):
        opened = pq.ParquetFile(file)
        bits = sum(
            kind.bit_width for kind in opened.schema_arrow.types if pa.types.is_primitive(kind)
        )
        check_size(
            opened.metadata.num_rows * bits // 8, f"The columns of {name}"
        )  # runs of one value pack to nothing
        return open_columns(name, opened.read(use_threads=False), choices)


GROUPS = 8
"""Row groups of a Parquet file that are looked at where it is larger than memory."""


def sample_of_parquet(name: str, file: BinaryIO, choices: Choices) -> tuple[Table, int]:
    """The first rows of some row groups from all of a Parquet file, and how many rows the file has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(name):
        opened = pq.ParquetFile(file)
        groups = sorted({*np.linspace(0, opened.num_row_groups - 1, GROUPS).astype(int).tolist()})
        found = [
            opened.iter_batches(SAMPLE_ROWS // len(groups), [group], use_threads=False)
            for group in groups
        ]
        heads = pa.Table.from_batches(
            [head for batches in found for head in islice(batches, 1)], opened.schema_arrow
        )
        return open_columns(name, heads, choices), opened.metadata.num_rows


def open_arrow(name: str, file: BinaryIO, choices: Choices) -> Table:
    """The columns of an Arrow IPC file (Feather version 2) or stream."""
    import pyarrow as pa

    opened = pa.ipc.open_file if file.read(6) == b"ARROW1" else pa.ipc.open_stream
    file.seek(0)
    with reading(name):
        table = opened(file, options=pa.ipc.IpcReadOptions(use_threads=False)).read_all()
        table.validate(full=True)  # offsets are of the file's making
        return open_columns(name, table, choices)


NAME = "The table"


def is_pandas(source: Any) -> bool:
    """Return whether a source is a pandas DataFrame, without importing pandas."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def open_frame(source: Any, choices: Choices) -> Table:
    """A data frame, or whatever else gives Arrow its columns.

    Raises
    ------
    InvalidUpload
        If it is a single column, if two columns have the same name, or if Arrow knows no type for one.
    """
    import pyarrow as pa

    with reading(NAME):
        try:
            table = pandas_table(source) if is_pandas(source) else pa.table(source)
        except pa.ArrowInvalid as error:
            reason = f"A {type(source).__name__} is one column, and outputs need the outcome beside them."
            raise InvalidUpload("source", reason, "Give a DataFrame that holds both.") from error
        return open_columns(NAME, table, choices)


def pandas_table(frame: Any) -> pa.Table:
    """The columns of a pandas DataFrame, with its index where that has a name; objects of several types as text."""
    import pyarrow as pa

    def as_arrow(column: Any) -> pa.Array:
        try:
            return pa.array(column, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            return pa.array(column.astype(str), from_pandas=True)

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [
        " ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns
    ]
    return pa.table([as_arrow(frame.iloc[:, j]) for j in range(len(names))], names=names)
