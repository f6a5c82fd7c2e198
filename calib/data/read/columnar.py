"""Parquet and Arrow files, and tables in memory: data frames of pandas, polars and others, and Arrow's own."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calib.data.findings import InvalidUpload, shortened
from calib.data.limits import check_count
from calib.data.read.base import Allowance, reading
from calib.data.read.table import SAMPLE_CELLS, Table, is_number, is_plain, is_text, spread

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE_GROUPS = 8
"""Row groups of a Parquet file whose first rows are looked at."""


class Parquet(Table):
    """A Parquet file, whose columns are read when they are asked for."""

    def __init__(self, name: str, file: BinaryIO, allowance: Allowance, drop_bad_cells: bool):
        import pyarrow.parquet as pq

        with reading(name):
            metadata = pq.ParquetFile(file).metadata
            if metadata.num_rows < 0:
                raise ValueError(f"it says that it has {metadata.num_rows:,} rows")
            check_count(metadata.num_columns, "columns", name)
            schema = metadata.schema.to_arrow_schema()
            # Strings stay dictionaries: one long string would otherwise be copied into every row.
            texts = [field.name for field in schema if is_text(field.type)]
            self._file = pq.ParquetFile(file, metadata=metadata, read_dictionary=texts)
        super().__init__(name, schema, metadata.num_rows, allowance, drop_bad_cells)

    def fetch(self, names: list[str]) -> list[pa.ChunkedArray]:
        """See the base class; a page of a few bytes may hold millions of equal values, so they are booked first."""
        Allowance().take(self._nbytes(names, self.n_rows), f"Reading the columns of {self.name}")
        table = self._file.read(columns=names, use_threads=False)
        return [table.column(name) for name in names]

    def some_rows(self, most: int) -> list[pa.ChunkedArray]:
        """The rows of a small file, or the first ones of :data:`SAMPLE_GROUPS` row groups from all of a larger one."""
        import pyarrow as pa

        plain = [name for name in self.names if is_plain(self._types[name])]
        if self.n_rows * len(self.names) <= SAMPLE_CELLS:
            some = self._file.read(columns=plain, use_threads=False).take(spread(self.n_rows, most))
        else:
            n = self._file.metadata.num_row_groups
            groups = np.unique(np.linspace(0, n - 1, SAMPLE_GROUPS).astype(int)).tolist()
            size = max(1, most // len(groups))
            parts = []
            for group in groups:
                batches = self._file.iter_batches(batch_size=size, row_groups=[group], columns=plain, use_threads=False)
                parts += [pa.Table.from_batches([batch]) for batch in islice(batches, 1)]  # none of an empty group
            some = pa.concat_tables(parts)
        return [some.column(name) if name in plain else pa.nulls(len(some)) for name in self.names]

    def _nbytes(self, names: list[str], n_rows: int) -> int:
        """Bytes of some columns; text and lists take at least eight for each row."""
        kinds = [self._types[name] for name in names]
        return sum(n_rows * (kind.bit_width // 8 if is_number(kind) else 8) for kind in kinds)


def open_parquet(name: str, file: BinaryIO, allowance: Allowance, drop_bad_cells: bool) -> Table:
    """A Parquet file; one with lists of numbers, which become columns, is read whole."""
    import pyarrow as pa

    parquet = Parquet(name, file, allowance, drop_bad_cells)
    if not lists_to_split(parquet.schema):
        return parquet
    with reading(name):
        table = pa.table(dict(zip(parquet.names, parquet.fetch(parquet.names), strict=True)))
        return Table.from_arrow(name, plain_columns(table, name), allowance, drop_bad_cells)


def open_arrow(name: str, file: BinaryIO, allowance: Allowance, drop_bad_cells: bool) -> Table:
    """The columns of an Arrow IPC file (Feather version 2) or stream."""
    import pyarrow as pa

    file.seek(0)
    opened = pa.ipc.open_file if file.read(6) == b"ARROW1" else pa.ipc.open_stream
    file.seek(0)
    with reading(name):
        reader = opened(file, options=pa.ipc.IpcReadOptions(use_threads=False))
        check_count(len(reader.schema), "columns", name)
        table = reader.read_all()
        table.validate(full=True)  # offsets are of the file's making
        Allowance().take(table.nbytes, f"The columns of {name}")
        return Table.from_arrow(name, plain_columns(table, name), allowance, drop_bad_cells)


NAME = "The table"


def is_pandas(source: Any) -> bool:
    """Whether a source is a pandas DataFrame; pandas is not imported for that."""
    return type(source).__module__.partition(".")[0] == "pandas" and hasattr(source, "columns")


def open_frame(source: Any, allowance: Allowance, drop_bad_cells: bool) -> Table:
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
            raise InvalidUpload(
                "source",
                f"A {type(source).__name__} is one column, and outputs need the outcome beside them.",
                "Give a DataFrame that holds both.",
            ) from error
        check_count(table.num_columns, "columns", NAME)
        return Table.from_arrow(NAME, plain_columns(table, NAME), allowance, drop_bad_cells)


def pandas_table(frame: Any) -> pa.Table:
    """The columns of a pandas DataFrame, with its index where that has a name; objects of several types as text."""
    import pyarrow as pa

    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [" ".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    columns = []
    for j, name in enumerate(names):
        column = frame.iloc[:, j]
        try:
            columns.append(pa.array(column, from_pandas=True))
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            columns.append(pa.array(column.astype(str), from_pandas=True))
        except pa.ArrowNotImplementedError as error:
            raise InvalidUpload(
                "dtype",
                f"Column {shortened(name)} holds values of type {column.dtype}, which are neither numbers nor text.",
                "Leave it out, or turn it into numbers.",
            ) from error
    return pa.table(columns, names=names)


def plain_columns(table: pa.Table, file: str) -> pa.Table:
    """A table whose lists of equally many numbers are columns of their own, and whose text has a plain type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    split = lists_to_split(table.schema)
    names: list[str] = []
    columns: list[pa.ChunkedArray] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.cast(column.type.storage_type)
        if pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
        elif pa.types.is_dictionary(column.type) and pa.types.is_string_view(column.type.value_type):
            column = column.cast(pa.dictionary(column.type.index_type, pa.large_string()))
        widths = pc.unique(pc.list_value_length(column)).to_pylist() if name in split else []
        if len(widths) == 1 and widths[0]:
            check_count(len(names) + widths[0], "columns", file)
            names += [f"{name}_{j}" for j in range(widths[0])]
            columns += [pc.list_element(column, j) for j in range(widths[0])]
        else:
            names.append(name)
            columns.append(column)
    return pa.table(columns, names=names)


def lists_to_split(schema: pa.Schema) -> set[str]:
    """The columns of lists of numbers; none where some hold whole numbers and some do not, as the top k of classes."""
    import pyarrow as pa

    def is_list(kind: Any) -> bool:
        return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))

    lists = {f.name: f.type.value_type for f in schema if is_list(f.type) and is_number(f.type.value_type)}
    return set() if len({pa.types.is_integer(kind) for kind in lists.values()}) > 1 else set(lists)
