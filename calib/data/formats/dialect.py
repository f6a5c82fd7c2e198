"""How a text table is written: encoding, delimiter, decimal comma, header. Guessed from its first megabyte."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from statistics import mode

from calib.data.checks.report import Rejected
from calib.data.interpret.names import LABELS, canonical
from calib.data.options import Choices

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


def guess_dialect(sample: bytes, encoding: str, complete: bool, choices: Choices, file: str) -> Dialect:
    """Look at the first lines.

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
        raise Rejected(
            "no_rows", f"{file} holds no whole line of text.", "Save one row per line, with a delimiter between cells."
        )
    delimiter = choices.delimiter or guess_delimiter(lines)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise Rejected("delimiter", f"The delimiter {delimiter!r} is not one character.", "Choose one, such as ;")
    rows = list(csv.reader(lines, delimiter=delimiter))
    decimal = choices.decimal or guess_decimal(rows[1:] or rows, delimiter)
    if decimal not in (".", ","):
        raise Rejected(
            "decimal", f"The decimal sign {decimal!r} is neither a point nor a comma.", "Choose one of them."
        )
    header = guess_header(rows) if choices.header is None else choices.header
    width = len(rows[0]) if header else mode(map(len, rows))
    names = [name.strip() for name in rows[0]] if header else [f"column_{j}" for j in range(width)]
    return Dialect(encoding, delimiter, decimal, header, [name or f"unnamed_{j}" for j, name in enumerate(names)])


def guess_encoding(sample: bytes) -> str:
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
        raise Rejected(
            "encoding",
            f"{file} cannot be read as {encoding!r}: no text encoding, or not that of the file.",
            "Choose utf-8, latin-1 or utf-16.",
        ) from error
    return text.removeprefix("\ufeff")


def guess_delimiter(lines: list[str]) -> str:
    """The first candidate that splits most lines into the same number of cells, at least two."""
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = mode(widths)
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            return delimiter
    return ","


def guess_decimal(rows: list[list[str]], delimiter: str) -> str:
    """A comma where cells look like 0,25 and the comma does not separate them."""
    if delimiter == ",":
        return "."
    return "," if any(DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row) else "."


def guess_header(rows: list[list[str]]) -> bool:
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
