"""Text tables (csv, tsv, also gzipped), counted in a first bounded pass and parsed by Arrow in a second."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.checks.report import Rejected, count, verb
from calib.data.formats.archives import unpacked
from calib.data.formats.base import reading
from calib.data.formats.dialect import Dialect, guess_dialect, guess_encoding
from calib.data.formats.table import TableContents, check_names
from calib.data.limits import MAX_TEXT, Allowance, check_count, megabytes
from calib.data.options import Choices

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 2**20
CHUNK = 2**20


def open_text(name: str, file: BinaryIO, gzipped: bool, allowance: Allowance, choices: Choices) -> TableContents:
    """Parse a text table."""

    def stream() -> BinaryIO:
        file.seek(0)
        return unpacked(file) if gzipped else file

    with reading(name):
        source = stream()
        sample = source.read(SAMPLE)
        complete = not source.read(1)
    encoding = choices.encoding or guess_encoding(sample)
    dialect = guess_dialect(sample, encoding, complete, choices, name)
    check_count(len(dialect.names), "columns", name)
    check_names(dialect.names, name)
    if not scan(stream(), dialect, name) and choices.encoding is None:
        encoding = "latin-1"
        dialect = guess_dialect(sample, encoding, complete, choices, name)
    drop = bool(choices.drop_bad_rows)
    table = parse(stream(), dialect, name, drop)
    columns = dict(zip(dialect.names, table.columns, strict=True))
    schema, n_rows = table.schema, table.num_rows
    del table

    def fetch(names: list[str]) -> list[pa.ChunkedArray]:
        return [columns.pop(column) for column in names]  # each is used once, and then let go

    contents = TableContents(name, schema, n_rows, fetch, allowance, drop)
    contents.format_choices = {
        "delimiter": dialect.delimiter,
        "encoding": encoding,
        "decimal": dialect.decimal,
        "header": dialect.header,
    }
    return contents


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
                raise Rejected(
                    "too_large",
                    f"The text of {name} has more than {megabytes(MAX_TEXT)} or {MAX_TEXT // 8:,} cells.",
                    "Save it as npz or Parquet with float32 columns, or fewer rows: 20,000 are plenty to calibrate.",
                )
            if valid:
                valid = decodes(decoder, chunk)
    return valid


def decodes(decoder: codecs.IncrementalDecoder, chunk: bytes) -> bool:
    """Whether the next bytes belong to the encoding."""
    try:
        decoder.decode(chunk)
    except UnicodeError:
        return False
    return True


def parse(source: BinaryIO, dialect: Dialect, name: str, drop_bad_rows: bool) -> pa.Table:
    """The whole table; lines with too few or too many cells are counted, and left out if that was chosen."""
    from pyarrow import csv

    ragged: list[Any] = []

    def skip(row: Any) -> str:
        if len(ragged) < 2:
            ragged.append(row)
        else:
            ragged[1] = row
        counted[0] += 1
        return "skip"

    counted = [0]
    with reading(name):
        table = csv.read_csv(
            source,
            read_options=csv.ReadOptions(
                use_threads=False,
                column_names=dialect.names,
                skip_rows=int(dialect.header),
                encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
            ),
            parse_options=csv.ParseOptions(delimiter=dialect.delimiter, invalid_row_handler=skip),
            convert_options=csv.ConvertOptions(decimal_point=dialect.decimal),
        )
    if counted[0] and not drop_bad_rows:
        first = ragged[0]
        raise Rejected(
            "ragged",
            f"{count(counted[0], 'line')} of {name} {verb(counted[0], 'has', 'have')} another number of cells "
            f"than the {len(dialect.names)} columns; the first is line {first.number:,} with {first.actual_columns}. "
            "A comma inside a name or a file that was cut off usually causes it.",
            "Leave these lines out, or put names with commas in quotes.",
            drop_bad_rows=True,
        )
    return table
