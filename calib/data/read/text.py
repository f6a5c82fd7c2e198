"""Text tables: csv, tsv and their like, parsed by Arrow once it is known how they are written.

Columns of numbers that Arrow does not take are read as people write them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from calib.data.findings import InvalidUpload, count, verb
from calib.data.limits import MAX_TEXT, check_count
from calib.data.options import Choices
from calib.data.read.base import Allowance, reading
from calib.data.read.dialect import Dialect, infer_dialect, infer_encoding
from calib.data.read.nested import with_columns
from calib.data.read.numerals import read_written
from calib.data.read.table import Table, check_names, without_twins

if TYPE_CHECKING:
    import pyarrow as pa


def open_text(name: str, content: bytes, allowance: Allowance, choices: Choices) -> Table:
    """Parse a text table."""
    encoding = choices.encoding or infer_encoding(content)
    with reading(name):  # csv refuses cells of more than 131,072 characters
        dialect = infer_dialect(content, encoding, choices, name)
    check_count(len(dialect.names), "columns", name)
    n_cells = content.count(dialect.delimiter.encode("utf-8")) + content.count(b"\n")
    if 8 * n_cells > MAX_TEXT:
        raise InvalidUpload(
            "too_large",
            f"The text of {name} has more than {MAX_TEXT // 8:,} cells.",
            "Save it as npz or Parquet with float32 columns, or fewer rows: 20,000 are plenty to calibrate.",
        )
    drop = bool(choices.drop_bad_rows)
    with reading(name):
        table = parse(content, encoding, dialect, name, drop)
        table, findings = read_written(table, dialect.decimal, name, dialect.certain)
        written = written_ids(table, content, encoding, dialect)
        table, written = without_empty(table, written)
        table = without_twins(table)
        check_names(table.column_names, name)
        table = with_columns(table, name)
    contents = Table.from_arrow(name, table, allowance, drop)
    contents.written = written
    contents.findings = [*dialect.findings(name), *findings]
    contents.format_choices = {
        "delimiter": dialect.delimiter,
        "encoding": encoding,
        "decimal": dialect.decimal,
        "header": dialect.header,
    }
    return contents


def parse(content: bytes, encoding: str, dialect: Dialect, name: str, drop_bad_rows: bool) -> pa.Table:
    """The whole table; lines with too few or too many cells are counted, and left out if that was chosen."""
    ragged: list[Any] = []

    def skip(row: Any) -> str:
        ragged.append((row.number, row.actual_columns))
        return "skip"

    table = _with_arrow(content, encoding, dialect, name, skip)
    if ragged and not drop_bad_rows:
        number, width = ragged[0]
        raise InvalidUpload(
            "ragged",
            f"{count(len(ragged), 'line')} of {name} {verb(len(ragged), 'has', 'have')} another number of cells "
            f"than the {len(dialect.names)} columns; the first is line {number:,} with {width}. A comma inside a name, "
            "a line below the table or a file that was cut off usually causes it.",
            "Leave these lines out, or put names with commas in quotes.",
            drop_bad_rows=True,
        )
    return table


def _with_arrow(
    content: bytes, encoding: str, dialect: Dialect, name: str, skip: Callable[[Any], str], texts: tuple[str, ...] = ()
) -> pa.Table:
    """All columns with the types that Arrow finds, or ``texts``, the columns of these names, as text."""
    import pyarrow as pa
    from pyarrow import csv

    return csv.read_csv(
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
            include_columns=list(texts),
            column_types=dict.fromkeys(texts, pa.string()),
        ),
    )


CHANGED = r"^\s*[-+]?(0\d|\d+[eE]|\d{16})"
"""Beginnings of whole numbers that are written in another way once they were read: 007, 1e5, more than 15 digits."""


def written_ids(table: pa.Table, content: bytes, encoding: str, dialect: Dialect) -> dict[str, pa.ChunkedArray]:
    """Columns of whole numbers as text, where their cells are not as the numbers are written; they may be ids."""
    import pyarrow.compute as pc

    whole = tuple(
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if dialect.names.count(name) == 1 and _is_whole(column)
    )
    if not whole:
        return {}
    texts = _with_arrow(content, encoding, dialect, "", lambda row: "skip", whole)
    columns = {name: texts.column(name) for name in whole}
    return {
        name: pc.if_else(pc.is_valid(table.column(name)), column, None)
        for name, column in columns.items()
        if len(column) == table.num_rows and pc.any(pc.match_substring_regex(column, CHANGED)).as_py()
    }


def _is_whole(column: pa.ChunkedArray) -> bool:
    """Whether a column holds whole numbers alone, of any type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return bool(pa.types.is_integer(column.type))
    return pc.all(pc.or_kleene(pc.equal(pc.round(column), column), pc.is_nan(column))).as_py() is True


def without_empty(table: pa.Table, written: dict[str, pa.ChunkedArray]) -> tuple[pa.Table, dict[str, pa.ChunkedArray]]:
    """A table without rows that hold nothing, and without such columns at its end that have no name either.

    Parameters
    ----------
    written : some of its columns as text, of which the same rows are left out.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    width = table.num_columns
    while width > 1 and table.column_names[width - 1] == f"unnamed_{width - 1}":
        if table.column(width - 1).null_count < table.num_rows:
            break
        width -= 1
    table = table.select(range(width))
    filled: Any = None
    for column in table.columns:
        text = pa.types.is_string(column.type)
        if not (text or column.null_count):
            return table, written
        here = pc.not_equal(column, "") if text else pc.is_valid(column)
        filled = here if filled is None else pc.or_(filled, here)
    if filled is None or pc.all(filled).as_py() is not False:
        return table, written
    return table.filter(filled), {name: column.filter(filled) for name, column in written.items()}
