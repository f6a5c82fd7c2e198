"""Parquet tables, whose sizes are checked in the metadata before a page is unpacked."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.checks.report import Rejected
from calib.data.formats.base import reading
from calib.data.formats.table import TableContents
from calib.data.limits import MAX_ARRAYS, MAX_FOOTER, MAX_STRUCTURES, Allowance, check_count, megabytes

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


def check_footer(file: BinaryIO, name: str) -> None:
    """Refuse metadata that would take far more memory than their bytes; counted before they are parsed."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - 8))
    length = min(int.from_bytes(file.read(4), "little"), size)
    file.seek(max(0, size - 8 - length))
    if length > MAX_FOOTER or file.read(length).count(0) > MAX_STRUCTURES:
        raise Rejected(
            "too_large",
            f"The metadata of {name} have {megabytes(length)}, for more row groups and columns than are read.",
            "Save it again with fewer row groups: pandas' to_parquet does.",
        )
    file.seek(0)


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
