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

COMMENTS = ("#", "%", "//")
SEPARATOR = re.compile(r'"?sep=(.)"?', re.I)
"""The line by which Excel is told the delimiter."""

RULE = re.compile(r"(?=.*--)[\s|+:=,;-]+")
"""A line between header and rows, as Markdown and database shells draw it."""

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
    """

    delimiter: str
    decimal: Sign
    certain: bool
    header: bool
    names: list[str]
    skipped: int
    above: tuple[str, ...] = ()

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
    told = SEPARATOR.fullmatch(numbered[0][1].strip())
    delimiter = choices.delimiter or (told[1] if told else infer_delimiter([text for _, text in numbered], file))
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidUpload("delimiter", f"The delimiter {delimiter!r} is not one character.", "Choose one, such as ;")
    lines = [Line(number, text, cells_of(text, delimiter)) for number, text in numbered]
    n_above = lines_above(lines, bool(told))
    above, lines = lines[:n_above], lines[n_above:]
    lines = [line for j, line in enumerate(lines) if j != 1 or not RULE.fullmatch(line.text)]
    cells = [cell for line in lines[1:] or lines for cell in line.cells]
    decimal, certain = choose_decimal(cells, delimiter, choices.decimal)
    rows = [line.cells for line in lines]
    named = infer_header(rows)
    header = named if choices.header is None else choices.header
    names = column_names(rows, header)
    skipped = lines[1].number if header and len(lines) > 1 else lines[0].number + header
    return Dialect(delimiter, decimal, certain, header, names, skipped, tuple(line.text for line in above))


def cells_of(text: str, delimiter: str) -> list[str]:
    """The cells of one line."""
    return next(csv.reader([text], delimiter=delimiter), [""])


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

    One that splits the first line so too goes before others: a semicolon may also stand between numbers in a cell.
    """
    lines = [line for line in lines if not line.lstrip().startswith(COMMENTS)] or lines
    found = []
    for delimiter in DELIMITERS:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = mode(widths)
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            found.append((not usual - 1 <= widths[0] <= usual, delimiter))
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
    if chosen is not None:
        if chosen not in (".", ","):
            raise InvalidUpload(
                "decimal", f"The decimal sign {chosen!r} is neither a point nor a comma.", "Choose one of them."
            )
        return ("," if chosen == "," else "."), True
    sign, unclear = decimal_sign(cells)
    if sign is not None:
        return sign, True
    return ("," if unclear and delimiter != "," else "."), False


def is_listed(cell: str) -> bool:
    """Whether a cell holds several values, such as ``[0.1, 0.9]``."""
    return isinstance(parsed(cell), (list, dict))


# Lines.


def lines_above(lines: list[Line], told: bool) -> int:
    """How many lines stand above the table.

    Comments, lines with at most half as many filled cells as the rows have, and lines with gaps right above a header
    without any, as merged cells leave them.
    """
    width = mode(len(line.cells) for line in lines)
    n = int(told)
    for line in lines[n : min(MAX_ABOVE, len(lines) - 1)]:
        comment = line.text.lstrip().startswith(COMMENTS) and not is_row(line, width)
        if not comment and 2 * line.filled > width:
            break
        n += 1
    commented = any(line.text.lstrip().startswith(COMMENTS) for line in lines[:n])
    shorter = any(len(line.cells) != width for line in lines[:n])
    if n and not (commented or told or shorter or infer_header([line.cells for line in lines[n:]])):
        n = 0  # a first row whose cells are mostly empty is a row, unless a header stands below it
    merged = len(lines) > n + 2 and lines[n].filled < lines[n + 1].filled == width
    return n + 1 if merged and is_header(lines[n + 1].cells, lines[n + 2].cells) else n


def is_header(first: list[str], below: list[str]) -> bool:
    """Whether a line is all text and the next one holds numbers."""
    return not any(map(is_number, first)) and any(cell.strip() and is_number(cell) for cell in below)


def is_row(line: Line, width: int) -> bool:
    """Whether a line that begins like a comment is a row of the table: as many cells, some of them numbers."""
    return len(line.cells) == width > 1 and any(cell.strip() and is_number(cell) for cell in line.cells)


def infer_header(rows: list[list[str]]) -> bool:
    """Whether the first line names the columns: text above numbers, or 0, 1, 2, ... as pandas writes it."""
    first, rest = rows[0], rows[1:]
    if not rest:
        return not any(map(is_number, first))
    for j, cell in enumerate(first):
        below = [row[j] for row in rest if j < len(row)]
        numeric = sum(is_number(value) or is_listed(value) for value in below)
        if (
            (not cell.strip() or not (is_number(cell) or is_listed(cell)))
            and numeric > len(below) / 2
            and any(v.strip() for v in below)
        ):
            return True
    if len(first) > 2 and [cell.strip() for cell in first] == [str(j) for j in range(len(first))]:
        return any(row != first for row in rest)
    return any(canonical(cell).base in LABELS for cell in first) or names_repeated_text(first, rest)


def names_repeated_text(first: list[str], rest: list[list[str]]) -> bool:
    """Whether the first line is above columns of text that repeat few values, of which it holds none."""
    below = [[row[j].strip() for row in rest if j < len(row)] for j in range(len(first))]
    distinct = all(cell.strip() for cell in first) and len(set(first)) == len(first)
    few = all(2 * len(set(cells)) <= len(cells) for cells in below)
    return distinct and few and not any(cell.strip() in cells for cell, cells in zip(first, below, strict=True))


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
