"""Parquet tables, whose sizes are checked in the metadata before a page is unpacked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.formats.columns import TableContents
from calib.data.formats.contents import reading
from calib.data.limits import Allowance, check_count

if TYPE_CHECKING:
    import pyarrow as pa

FOUR_BYTES = ("FLOAT", "INT32")


def open_parquet(name: str, file: BinaryIO, allowance: Allowance, drop_bad_cells: bool) -> TableContents:
    """List the columns of a Parquet file; each is read only if it is used."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with reading(name):
        metadata = pq.read_metadata(file)
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

    return TableContents(name, schema, metadata.num_rows, fetch, allowance, drop_bad_cells)


def unpacked_size(metadata: Any, names: set[str]) -> int:
    """Bytes that some columns need once unpacked.

    Run-length encoding makes a page of a few bytes into millions of values, so the declared bytes alone would
    say too little; the number of values times their width is taken where it is more.
    """
    total = 0
    for g in range(metadata.num_row_groups):
        group = metadata.row_group(g)
        for c in range(group.num_columns):
            column = group.column(c)
            if column.path_in_schema.split(".")[0] in names:
                width = 4 if column.physical_type in FOUR_BYTES else 8
                total += max(column.total_uncompressed_size, width * column.num_values)
    return total
