"""Text tables: csv, tsv, also gzipped.

Encoding, delimiter, decimal sign and header are inferred from the first megabyte. A first bounded pass counts the
cells, a second one parses them with Arrow.
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from statistics import mode
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.checks.report import InvalidUpload, count, verb
from calib.data.formats.archives import unpacked
from calib.data.formats.base import Allowance, reading
from calib.data.formats.table import TableContents, check_names
from calib.data.interpret.names import LABELS, canonical
from calib.data.limits import MAX_TEXT, check_count, megabytes
from calib.data.options import Choices

if TYPE_CHECKING:
    import pyarrow as pa


DELIMITERS = ("\t", ";", "|", ",", " ")
"""In the order they are tried: a comma may also be a decimal comma, a blank may also stand in a name."""

NUMBER = re.compile(
    r"\s*[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?\s*|\s*[-+]?(nan|inf|infinity|na|n/a|null)?\s*", re.I
)
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
SAMPLE_LINES = 100


@dataclass(frozen=True)
class Dialect:
    """One way of writing a table; ``names`` are those of the first line, or made up."""

    encoding: str
    delimiter: str
    decimal: str
    header: bool
    names: list[str]


def infer_dialect(sample: bytes, encoding: str, complete: bool, choices: Choices, file: str) -> Dialect:
    """Infer how a table is written from its first lines.

    Parameters
    ----------
    sample : the first bytes of the file.
    encoding : how they are encoded.
    complete : whether the sample is the whole file, so that its last line is whole too.
    """
    text = decoded(sample, encoding, complete, file)
    lines = text.splitlines()
    if not complete:
        lines = lines[:-1]
    lines = [line for line in lines[: SAMPLE_LINES + 1] if line.strip()]
    if not lines:
        raise InvalidUpload(
            "no_rows", f"{file} holds no whole line of text.", "Save one row per line, with a delimiter between cells."
        )
    delimiter = choices.delimiter or infer_delimiter(lines)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidUpload("delimiter", f"The delimiter {delimiter!r} is not one character.", "Choose one, such as ;")
    rows = list(csv.reader(lines, delimiter=delimiter))
    decimal = choices.decimal or infer_decimal(rows[1:] or rows, delimiter)
    if decimal not in (".", ","):
        raise InvalidUpload(
            "decimal", f"The decimal sign {decimal!r} is neither a point nor a comma.", "Choose one of them."
        )
    header = infer_header(rows) if choices.header is None else choices.header
    width = len(rows[0]) if header else mode(map(len, rows))
    names = [name.strip() for name in rows[0]] if header else [f"column_{j}" for j in range(width)]
    return Dialect(encoding, delimiter, decimal, header, [name or f"unnamed_{j}" for j, name in enumerate(names)])


def infer_encoding(sample: bytes) -> str:
    """From the byte order mark, or from the zero bytes that two-byte encodings put beside Latin letters."""
    if sample.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if sample.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if not even and odd > len(sample) // 6:
        return "utf-16-le"
    if not odd and even > len(sample) // 6:
        return "utf-16-be"
    return "utf-8"


def decoded(sample: bytes, encoding: str, complete: bool, file: str) -> str:
    """The sample as text; bytes that the encoding does not know are replaced, since another may be tried."""
    try:
        "".encode(encoding)  # some of Python's codecs unpack or transform bytes; they are no text encodings
        text = codecs.getincrementaldecoder(encoding)("replace").decode(sample, final=complete)
    except (LookupError, UnicodeError) as error:
        raise InvalidUpload(
            "encoding",
            f"{file} cannot be read as {encoding!r}: no text encoding, or not that of the file.",
            "Choose utf-8, latin-1 or utf-16.",
        ) from error
    return text.removeprefix("\ufeff")


def infer_delimiter(lines: list[str]) -> str:
    """The first candidate that splits most lines into the same number of cells, at least two."""
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = mode(widths)
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            return delimiter
    return ","


def infer_decimal(rows: list[list[str]], delimiter: str) -> str:
    """A comma where cells look like 0,25 and the comma does not separate them."""
    if delimiter == ",":
        return "."
    return "," if any(DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row) else "."


def infer_header(rows: list[list[str]]) -> bool:
    """Whether the first line names the columns: text above numbers, or 0, 1, 2, ... as pandas writes it."""
    first, rest = rows[0], rows[1:]
    if not rest:
        return not any(NUMBER.fullmatch(cell) for cell in first)
    for j, cell in enumerate(first):
        below = [row[j] for row in rest if j < len(row)]
        numeric = sum(bool(NUMBER.fullmatch(value)) for value in below)
        if (
            (not cell.strip() or not NUMBER.fullmatch(cell))
            and numeric > len(below) / 2
            and any(v.strip() for v in below)
        ):
            return True
    if len(first) > 2 and [cell.strip() for cell in first] == [str(j) for j in range(len(first))]:
        return any(row != first for row in rest)
    return any(canonical(cell).base in LABELS for cell in first)


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
    encoding = choices.encoding or infer_encoding(sample)
    dialect = infer_dialect(sample, encoding, complete, choices, name)
    check_count(len(dialect.names), "columns", name)
    check_names(dialect.names, name)
    if not scan(stream(), dialect, name) and choices.encoding is None:
        encoding = "latin-1"
        dialect = infer_dialect(sample, encoding, complete, choices, name)
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
                raise InvalidUpload(
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
        raise InvalidUpload(
            "ragged",
            f"{count(counted[0], 'line')} of {name} {verb(counted[0], 'has', 'have')} another number of cells "
            f"than the {len(dialect.names)} columns; the first is line {first.number:,} with {first.actual_columns}. "
            "A comma inside a name or a file that was cut off usually causes it.",
            "Leave these lines out, or put names with commas in quotes.",
            drop_bad_rows=True,
        )
    return table
