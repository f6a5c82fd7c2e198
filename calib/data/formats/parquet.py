"""Parquet files as tables: their metadata are checked before they are parsed, and sizes before a page is unpacked."""

from __future__ import annotations

import io
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from calib.data.checks.report import InvalidUpload
from calib.data.formats.base import Allowance, reading
from calib.data.formats.table import SAMPLE_CELLS, TableContents, spread
from calib.data.limits import MAX_ARRAYS, MAX_FOOTER, MAX_STRUCTURES, check_count, megabytes

if TYPE_CHECKING:
    import pyarrow as pa

FOUR_BYTES = ("FLOAT", "INT32")


def open_parquet(name: str, file: BinaryIO, allowance: Allowance, drop_bad_cells: bool) -> TableContents:
    """List the columns of a Parquet file; each is read only if it is used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_footer(file, name)
    with reading(name):
        # A list that only says that it is long would already be given its room.
        metadata = pq.ParquetFile(file, thrift_container_size_limit=MAX_ARRAYS + 1).metadata
        if metadata.num_rows < 0:
            raise ValueError(f"it says that it has {metadata.num_rows:,} rows")
        schema = metadata.schema.to_arrow_schema()
        check_count(metadata.num_columns, "columns", name)
        # Strings stay dictionaries: one long string would otherwise be copied into every row.
        texts = [
            field.name for field in schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
        ]
        parquet = pq.ParquetFile(file, metadata=metadata, read_dictionary=texts)

    def fetch(names: list[str]) -> list[pa.ChunkedArray]:
        Allowance().take(unpacked_size(metadata, set(names)), f"Reading the columns of {name}")
        table = parquet.read(columns=names, use_threads=False)
        return [table.column(column) for column in names]

    def sample(most: int) -> list[pa.ChunkedArray]:
        """The first rows of up to :data:`SAMPLE_GROUPS` row groups from all of the file."""
        n_groups = metadata.num_row_groups
        groups = np.unique(np.linspace(0, n_groups - 1, SAMPLE_GROUPS).astype(int)).tolist() if n_groups else []
        Allowance().take(unpacked_size(metadata, set(schema.names), groups), f"Looking at the columns of {name}")
        if metadata.num_rows * len(schema) <= SAMPLE_CELLS:
            table = parquet.read(use_threads=False)
            return table.take(spread(len(table), most)).columns
        parts = []
        for group in groups:
            batches = parquet.iter_batches(
                batch_size=max(1, most // len(groups)), row_groups=[group], use_threads=False
            )
            parts += [pa.Table.from_batches([batch]) for batch in islice(batches, 1)]  # none of an empty group
        return pa.concat_tables(parts).columns if parts else schema.empty_table().columns

    return TableContents(name, schema, metadata.num_rows, fetch, allowance, drop_bad_cells, sample)


SAMPLE_GROUPS = 8
"""Row groups of a Parquet file whose first rows are looked at."""


def check_footer(file: BinaryIO, name: str) -> None:
    """Refuse metadata that would take far more memory than their bytes; counted before they are parsed."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    length = min(int.from_bytes(file.read(4), "little"), size)
    file.seek(max(0, size - 8 - length))
    if length > MAX_FOOTER or file.read(length).count(0) > MAX_STRUCTURES:
        raise InvalidUpload(
            "too_large",
            f"The metadata of {name} have {megabytes(length)}, for more row groups and columns than are read.",
            "Save it again with fewer row groups: pandas' to_parquet does.",
        )
    file.seek(0)


def unpacked_size(metadata: Any, names: set[str], groups: Iterable[int] | None = None) -> int:
    """Bytes that some columns need once unpacked, of all row groups or of some.

    Run-length encoding makes a page of a few bytes into millions of values, so the declared bytes alone would
    say too little; the number of values times their width is taken where it is more.
    """
    total = 0
    for g in range(metadata.num_row_groups) if groups is None else groups:
        group = metadata.row_group(g)
        for c in range(group.num_columns):
            column = group.column(c)
            if column.path_in_schema.split(".")[0] in names:
                width = 4 if column.physical_type in FOUR_BYTES else 8
                total += max(column.total_uncompressed_size, width * column.num_values)
    return total
