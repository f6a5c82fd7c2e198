"""Text tables: csv, tsv, also gzipped.

Their dialect is inferred from the first megabyte. A first bounded pass counts the cells, a second one parses them with
Arrow; columns of numbers that Arrow does not take are read as people write them.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.checks.report import InvalidUpload, count, shortened, verb
from calib.data.formats.archives import unpacked
from calib.data.formats.base import Allowance, reading
from calib.data.formats.cells import read_written
from calib.data.formats.dialect import BELOW, Dialect, infer_dialect, infer_encoding
from calib.data.formats.table import TableContents, check_names
from calib.data.formats.vectors import one_hot_as_labels, with_columns
from calib.data.limits import MAX_TEXT, check_count, megabytes
from calib.data.options import Choices
from calib.errors import Finding

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 2**20
CHUNK = 2**20
MOST_BELOW = 3
"""Lines below a table that are no rows of it, as database shells write them."""


def open_text(name: str, file: BinaryIO, gzipped: bool, allowance: Allowance, choices: Choices) -> TableContents:
    """Parse a text table."""

    def stream() -> BinaryIO:
        file.seek(0)
        return unpacked(file) if gzipped else file

    with reading(name):
        source = stream()
        sample = source.read(SAMPLE)
        complete = not source.read(1)
    encoding = choices.encoding or infer_encoding(sample)
    with reading(name):  # csv refuses cells of more than 131,072 characters
        dialect = infer_dialect(sample, encoding, complete, choices, name)
    check_count(len(dialect.names), "columns", name)
    check_names(dialect.names, name)
    if not scan(stream(), dialect, name) and choices.encoding is None:
        encoding = "latin-1"
        with reading(name):
            dialect = infer_dialect(sample, encoding, complete, choices, name)
    drop = bool(choices.drop_bad_rows)
    with reading(name):
        table, below = parse(stream(), dialect, name, drop)
        table, findings = read_written(table, dialect.decimal, dialect.certain, name)
        table, one_hot = one_hot_as_labels(with_columns(without_empty(table)), name)
    contents = TableContents.from_table(name, table, allowance, drop)
    contents.findings = [*dialect.findings(name), *below, *findings, *one_hot]
    contents.format_choices = {
        "delimiter": dialect.delimiter,
        "encoding": encoding,
        "decimal": dialect.decimal,
        "header": dialect.header,
    }
    return contents


def without_empty(table: pa.Table) -> pa.Table:
    """A table without rows that hold nothing, and without such columns at its end that have no name either."""
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
            return table
        here = pc.not_equal(column, "") if text else pc.is_valid(column)
        filled = here if filled is None else pc.or_(filled, here)
    return table if filled is None or pc.all(filled).as_py() is not False else table.filter(filled)


def scan(source: BinaryIO, dialect: Dialect, name: str) -> bool:
    """Refuse what would parse to too much; says whether the bytes are what the encoding allows.

    The number of cells is at most the number of delimiters and line ends, and a number takes eight bytes.
    """
    delimiter = dialect.delimiter.encode("utf-8")
    decoder = codecs.getincrementaldecoder(dialect.encoding)()
    size = cells = 0
    valid = True
    with reading(name):
        while chunk := source.read(CHUNK):
            size += len(chunk)
            cells += chunk.count(delimiter) + chunk.count(b"\n")
            if max(size, 8 * cells) > MAX_TEXT:
                raise InvalidUpload(
                    "too_large",
                    f"The text of {name} has more than {megabytes(MAX_TEXT)} or {MAX_TEXT // 8:,} cells.",
                    "Save it as npz or Parquet with float32 columns, or fewer rows: 20,000 are plenty to calibrate.",
                )
            if valid:
                try:
                    decoder.decode(chunk)
                except UnicodeError:
                    valid = False
    return valid


def parse(source: BinaryIO, dialect: Dialect, name: str, drop_bad_rows: bool) -> tuple[pa.Table, list[Finding]]:
    """The whole table, and what is to be said of lines below it that are no rows.

    Other lines with too few or too many cells are counted, and left out if that was chosen.
    """
    from pyarrow import csv

    ragged: list[Any] = []
    counted = [0]

    def skip(row: Any) -> str:
        if len(ragged) < MOST_BELOW:
            ragged.append(row)
        counted[0] += 1
        return "skip"

    with reading(name):
        table = csv.read_csv(
            source,
            read_options=csv.ReadOptions(
                use_threads=False,
                column_names=dialect.names,
                skip_rows=dialect.skipped,
                encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
            ),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, invalid_row_handler=skip),
            convert_options=csv.ConvertOptions(decimal_point=dialect.decimal if dialect.certain else "."),
        )
    if counted[0] == len(ragged) > 0 and ragged[0].number == dialect.skipped + table.num_rows + 1:
        below = [row.text.strip() for row in ragged if row.actual_columns == 1]
        if len(below) == len(ragged) and all(map(BELOW.fullmatch, below)):
            text = f"{count(len(below), 'line')} below the table of {name} left out, such as {shortened(below[0])!r}."
            return table, [Finding("info", "lines_below", text)]
    if ragged and not drop_bad_rows:
        first = ragged[0]
        raise InvalidUpload(
            "ragged",
            f"{count(counted[0], 'line')} of {name} {verb(counted[0], 'has', 'have')} another number of cells "
            f"than the {len(dialect.names)} columns; the first is line {first.number:,} with {first.actual_columns}. "
            "A comma inside a name or a file that was cut off usually causes it.",
            "Leave these lines out, or put names with commas in quotes.",
            drop_bad_rows=True,
        )
    return table, []
