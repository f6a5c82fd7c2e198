"""Text tables: csv, tsv and their like, parsed by Arrow once it is known how they are written.

Columns of numbers that Arrow does not take are read as people write them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calib.data.findings import InvalidUpload, info, shortened, verb
from calib.data.limits import check_count
from calib.data.options import Choices
from calib.data.read.base import reading
from calib.data.read.dialect import Dialect, infer_dialect, infer_encoding
from calib.data.read.nested import open_columns
from calib.data.read.table import Table
from calib.formatting import plural

if TYPE_CHECKING:
    import pyarrow as pa


def open_text(name: str, content: bytes, choices: Choices) -> Table:
    """Parse a text table."""
    encoding = choices.encoding or infer_encoding(content)
    with reading(name):
        dialect = infer_dialect(content, encoding, choices, name)
        check_count(len(dialect.names), name)
        table = parse(content, encoding, dialect, name, bool(choices.drop_bad_rows))
        table = without_empty(table)
        contents = open_columns(name, table, choices, dialect.decimal, dialect.certain)
    if dialect.above:
        text = f"{plural(len(dialect.above), 'line')} above the table of {name} left out, such as"
        contents.findings.insert(
            0, info("lines_above", f"{text} {shortened(dialect.above[0].strip())!r}.")
        )
    contents.format_choices = {
        "delimiter": dialect.delimiter,
        "encoding": encoding,
        "decimal": dialect.decimal,
        "header": dialect.header,
    }
    return contents


def parse(
    content: bytes, encoding: str, dialect: Dialect, name: str, drop_bad_rows: bool
) -> pa.Table:
    """The whole table; lines with too few or too many cells are counted, and left out if that was chosen."""
    import pyarrow as pa
    from pyarrow import csv

    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append((row.number, row.actual_columns))
        return "skip"

    table = csv.read_csv(
        pa.BufferReader(content),
        read_options=csv.ReadOptions(
            use_threads=False,
            column_names=dialect.names,
            skip_rows=dialect.skipped,
            encoding="utf8" if encoding == "utf-8" else encoding,
        ),
        parse_options=csv.ParseOptions(delimiter=dialect.delimiter, invalid_row_handler=skip),
        convert_options=csv.ConvertOptions(
            decimal_point=dialect.decimal if dialect.certain else ".",
            column_types=dict.fromkeys(dialect.codes, pa.string()),
        ),
    )
    if ragged and not drop_bad_rows:
        number, width = ragged[0]
        raise InvalidUpload(
            "ragged",
            f"{plural(len(ragged), 'line')} of {name} {verb(len(ragged), 'has', 'have')} another number of cells "
            f"than the {plural(len(dialect.names), 'column')}; the first is line {number:,} with {width}. A comma "
            "inside a name, a line below the table or a file that was cut off usually causes it.",
            "Leave these lines out, or put names with commas in quotes.",
            drop_bad_rows=True,
        )
    return table


def without_empty(table: pa.Table) -> pa.Table:
    """A table without rows that hold nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled: Any = None
    for column in table.columns:
        text = pa.types.is_string(column.type)
        if not (text or column.null_count):
            return table
        here = pc.not_equal(column, "") if text else pc.is_valid(column)
        filled = here if filled is None else pc.or_(filled, here)
    return table.filter(filled)
