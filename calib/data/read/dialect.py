"""How a text table is written: encoding, delimiter, decimal sign, lines above the table, and the names of its columns.

All are inferred from the first megabyte.
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from itertools import islice
from statistics import mode

from calib.data.array_names import LABELS, canonical
from calib.data.findings import InvalidUpload, count, shortened
from calib.data.options import Choices
from calib.data.read.nested import parsed
from calib.data.read.numerals import Sign, decimal_sign, is_number
from calib.errors import Finding

DELIMITERS = ("\t", ";", "|", ",", " ")
"""In the order they are tried: a comma may also be a decimal comma, a blank may also stand in a name."""

COMMENTS = ("#", "%", "//", "sep=", '"sep=')
"""Beginnings of lines above a table that say nothing of its columns; by the last two Excel is told the delimiter."""

RULE = re.compile(r"(?=.*--)[\s|+:=,;-]+")
"""A line between header and rows, as Markdown and database shells draw it."""

CODE = re.compile(r"\s*(0\d+|\d{16,})\s*")
"""Digits that name something, such as 007: as a number they would be written in another way."""

SAMPLE = 2**20
SAMPLE_LINES = 100
MAX_ABOVE = 50
"""Lines that may stand above a table."""


@dataclass(frozen=True)
class Dialect:
    """One way of writing a table.

    Attributes
    ----------
    decimal : the decimal sign of cells that do not decide; ``certain`` where it was chosen or some cells decide.
    header : whether a line holds the names of the columns; ``names`` are those, or made up.
    skipped : lines before the first row, the header among them.
    above : the lines above the table that say nothing of its columns.
    codes : names of columns whose digits are text.
    """

    delimiter: str
    decimal: Sign
    certain: bool
    header: bool
    names: list[str]
    skipped: int
    above: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()

    def findings(self, file: str) -> list[Finding]:
        """What is to be said of the lines above the table."""
        if not self.above:
            return []
        text = f"{count(len(self.above), 'line')} above the table of {file} left out, such as"
        return [Finding("info", "lines_above", f"{text} {shortened(self.above[0].strip())!r}.")]


@dataclass(frozen=True)
class Line:
    """A line that is not blank: its number in the file from zero, its text, and its cells."""

    number: int
    text: str
    cells: list[str]

    @property
    def filled(self) -> int:
        """Cells that are not empty."""
        return sum(bool(cell.strip()) for cell in self.cells)


def infer_dialect(content: bytes, encoding: str, choices: Choices, file: str) -> Dialect:
    """Infer how a table is written from its first lines."""
    texts = re.split(r"\r\n|\n|\r", as_text(content[:SAMPLE], encoding, file))
    if len(content) > SAMPLE:
        texts = texts[:-1]
    numbered = [(number, text) for number, text in enumerate(texts) if text.strip()][: SAMPLE_LINES + MAX_ABOVE + 1]
    if not numbered:
        raise InvalidUpload(
            "no_rows", f"{file} holds no whole line of text.", "Save one row per line, with a delimiter between cells."
        )
    delimiter = choices.delimiter or infer_delimiter([text for _, text in numbered], file)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidUpload("delimiter", f"The delimiter {delimiter!r} is not one character.", "Choose one, such as ;")
    lines = [Line(number, text, cells_of([text], delimiter)[0]) for number, text in numbered]
    n_above = lines_above(lines)
    above, lines = lines[:n_above], lines[n_above:]
    lines = [line for j, line in enumerate(lines) if j != 1 or not RULE.fullmatch(line.text)]
    rows = [line.cells for line in lines]
    decimal, certain = choose_decimal([cell for row in rows[1:] or rows for cell in row], delimiter, choices.decimal)
    header = infer_header(rows) if choices.header is None else choices.header
    names = column_names(rows, header)
    skipped = lines[1].number if header and len(lines) > 1 else lines[0].number + header
    codes = {names[j] for row in rows[header:] for j, cell in enumerate(row[: len(names)]) if CODE.fullmatch(cell)}
    texts_above = tuple(line.text for line in above)
    return Dialect(delimiter, decimal, certain, header, names, skipped, texts_above, tuple(sorted(codes)))


def cells_of(lines: list[str], delimiter: str) -> list[list[str]]:
    """The cells of each line; a line of many columns is one long cell by any other delimiter."""
    csv.field_size_limit(max(csv.field_size_limit(), SAMPLE))
    return list(csv.reader(lines, delimiter=delimiter))


# Encodings.


def marked_encoding(head: bytes) -> str:
    """UTF-16 by its mark, or by the zero bytes that it puts beside Latin letters; else UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if not even and odd > len(head) // 6:
        return "utf-16-le"
    if not odd and even > len(head) // 6:
        return "utf-16-be"
    return "utf-8"


SPECIAL = re.compile(rb"[\x80-\xff][^\r\n]*")
ACCENT = re.compile(rb"(?<![\x80-\xff])[\xc0-\xff](?![\x80-\xff])")
MOST_LINES = 1000
"""Lines with special letters that are looked at for their encoding."""


def infer_encoding(content: bytes) -> str:
    """UTF-8 or UTF-16, or else what the letters that are not ASCII say.

    It is the code page of Windows in Western Europe where most of these letters stand alone among plain ones, as
    accents do. Otherwise charset-normalizer tells Japanese, Chinese, Korean, Cyrillic and others apart.
    """
    marked = marked_encoding(content[:SAMPLE])
    if marked != "utf-8" or content.isascii() or is_encoded(content, "utf-8"):
        return marked
    special = b"\n".join(found[0] for found in islice(SPECIAL.finditer(content), MOST_LINES))
    n_letters = sum(special.count(letter) for letter in range(0x80, 0x100))
    guess = "cp1252" if 2 * len(ACCENT.findall(special)) > n_letters else guessed(special)
    return next((encoding for encoding in (guess, "cp1252") if is_encoded(content, encoding)), "latin-1")


def guessed(text: bytes) -> str:
    """The encoding that charset-normalizer finds likeliest."""
    from charset_normalizer import from_bytes

    found = from_bytes(text).best()
    return "latin-1" if found is None else found.encoding


def is_encoded(content: bytes, encoding: str) -> bool:
    """Whether bytes are text in an encoding."""
    try:
        codecs.decode(content, encoding)
    except UnicodeError:
        return False
    return True


def as_text(content: bytes, encoding: str, file: str) -> str:
    """Bytes as text; those that the encoding does not know are replaced."""
    try:
        "".encode(encoding)  # some of Python's codecs unpack or transform bytes; they are no text encodings
        text = content.decode(encoding, "replace")
    except (LookupError, UnicodeError) as error:
        raise InvalidUpload(
            "encoding",
            f"{file} cannot be read as {encoding!r}: no text encoding, or not that of the file.",
            "Choose utf-8, latin-1 or utf-16.",
        ) from error
    return text.removeprefix("\ufeff")


# Signs.


def infer_delimiter(lines: list[str], file: str) -> str:
    """The first candidate that splits most lines into the same number of cells, at least two.

    One that splits the first line so too goes before others: a semicolon may also stand between numbers in a cell, or
    in the text of every row.
    """
    lines = [line for line in lines if not line.lstrip().startswith(COMMENTS)] or lines
    found = []
    for delimiter in DELIMITERS:
        widths = list(map(len, cells_of(lines, delimiter)))
        usual = mode(widths)
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            found.append((not max(2, usual - 1) <= widths[0] <= usual, delimiter))
    aligned = len(lines) > 1 and sum("  " in line.strip() for line in lines) > len(lines) / 2
    if aligned and (not found or found[0][1] == " "):
        raise InvalidUpload(
            "fixed_width",
            f"The columns of {file} are aligned by blanks, with no delimiter between them.",
            "Save it as csv; in Python, pandas.read_fwf reads it.",
        )
    return min(found, key=lambda item: item[0], default=(False, ","))[1]


def choose_decimal(cells: list[str], delimiter: str, chosen: str | None) -> tuple[Sign, bool]:
    """The decimal sign, and whether it is certain; where cells like 1,234 alone have one, that of the delimiter.

    Beside semicolons a comma is the decimal sign; commas inside quotes separate thousands.
    """
    if chosen not in (None, ".", ","):
        reason = f"The decimal sign {chosen!r} is neither a point nor a comma."
        raise InvalidUpload("decimal", reason, "Choose one of them.")
    sign, unclear = decimal_sign(cells)
    found: Sign | None = sign if chosen is None else "," if chosen == "," else "."
    return found or ("," if unclear and delimiter != "," else "."), found is not None


# Lines.


def is_value(cell: str) -> bool:
    """Whether a cell holds a number, or several values such as ``[0.1, 0.9]``."""
    return bool(cell.strip()) and (is_number(cell) or isinstance(parsed(cell), (list, dict)))


def lines_above(lines: list[Line]) -> int:
    """How many lines stand above the table.

    Comments, lines with at most half as many filled cells as the rows have, and lines with gaps right above a header
    without any, as merged cells leave them.
    """
    width = mode(len(line.cells) for line in lines)

    def is_comment(line: Line) -> bool:
        is_row = len(line.cells) == width > 1 and any(map(is_value, line.cells))
        return line.text.lstrip().startswith(COMMENTS) and not is_row

    candidates = lines[: min(MAX_ABOVE, len(lines) - 1)]
    n = next(
        (n for n, line in enumerate(candidates) if not is_comment(line) and 2 * line.filled > width), len(candidates)
    )
    alike = all(len(line.cells) == width and not is_comment(line) for line in lines[:n])
    if n and alike and not infer_header([line.cells for line in lines[n:]]):
        n = 0  # a first row whose cells are mostly empty is a row, unless a header stands below it
    if len(lines) > n + 2 and lines[n].filled < lines[n + 1].filled == width:
        merged = not any(map(is_value, lines[n + 1].cells)) and any(map(is_value, lines[n + 2].cells))
        return n + merged
    return n


def infer_header(rows: list[list[str]]) -> bool:
    """Whether the first line names the columns.

    It is text above numbers, or 0, 1, 2, ... as pandas writes it; above text it holds the name of a label, or it stands
    above columns that repeat few values, of which it holds none.
    """
    first, rest = [cell.strip() for cell in rows[0]], rows[1:]
    if not rest:
        return not any(map(is_number, first))
    below = [[row[j].strip() for row in rest if j < len(row)] for j in range(len(first))]
    for name, cells in zip(first, below, strict=True):
        values = sum(not cell or is_value(cell) for cell in cells)
        if not is_value(name) and any(cells) and 2 * values > len(cells):
            return True
    if len(first) > 2 and first == [str(j) for j in range(len(first))]:
        return any(row != rows[0] for row in rest)
    if any(canonical(name).base in LABELS for name in first):
        return True
    few = all(2 * len(set(cells)) <= len(cells) for cells in below)
    new = not any(name in cells for name, cells in zip(first, below, strict=True))
    return few and new and all(first) and len(set(first)) == len(first)


def column_names(rows: list[list[str]], header: bool) -> list[str]:
    """One name for each column; those without one are numbered.

    A first column without a name is that of R's row names; a last one is what a delimiter at the end of lines makes.
    """
    width = mode(map(len, rows[1:] or rows))
    if not header:
        return [f"column_{j}" for j in range(mode(map(len, rows)))]
    names, below = [name.strip() for name in rows[0]], [row for row in rows[1:] if len(row) == width]
    if len(names) == width + 1 and not names[-1]:
        names = names[:-1]
    elif len(names) == width - 1 > 0 and below:
        ends_empty = not any(row[-1].strip() for row in below)
        names = [*names, ""] if ends_empty else ["row" if "row" not in names else "row_name", *names]
    return [name or f"unnamed_{j}" for j, name in enumerate(names)]
