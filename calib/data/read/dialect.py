"""Form of a text table: encoding, delimiter, decimal sign, lines above the table, and the names of its columns.

All are inferred from the first megabyte.
"""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from statistics import mode

from calib.data.array_names import LABELS, canonical
from calib.data.findings import InvalidUpload
from calib.data.options import Choices
from calib.data.read.nested import parsed
from calib.data.read.numerals import CODE, Sign, decimal_sign, is_number

DELIMITERS = ("\t", ";", "|", ",", " ")
"""In the order they are tried: a comma may also be a decimal comma, a blank may also stand in a name."""

COMMENTS = ("#", "%", "//", "sep=", '"sep=')
"""Beginnings of lines above a table that say nothing of its columns; by the last two Excel is told the delimiter."""

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
    codes : names of columns whose digits are text.
    """

    delimiter: str
    decimal: Sign
    certain: bool
    header: bool
    names: list[str]
    skipped: int
    above: list[str]
    codes: tuple[str, ...] = ()


def infer_dialect(content: bytes, encoding: str, choices: Choices, file: str) -> Dialect:
    """Infer how a table is written from its first lines."""
    texts = re.split(r"\r\n|\n|\r", as_text(content[:SAMPLE], encoding, file))
    if len(content) > SAMPLE:
        texts = texts[:-1]
    lines = [(number, text) for number, text in enumerate(texts) if text.strip()][
        : SAMPLE_LINES + MAX_ABOVE + 1
    ]
    lines = with_savetxt_header(lines)
    if not lines:
        reason = f"{file} holds no whole line of text."
        raise InvalidUpload(
            "no_rows", reason, "Save one row per line, with a delimiter between cells."
        )
    delimiter = choices.delimiter or infer_delimiter([text for _, text in lines], file)
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InvalidUpload(
            "delimiter",
            f"The delimiter {delimiter!r} is not one character.",
            "Choose one, such as ;",
        )
    if choices.decimal not in (None, ".", ","):
        reason = f"The decimal sign {choices.decimal!r} is neither a point nor a comma."
        raise InvalidUpload("decimal", reason, "Choose one of them.")
    n_above = lines_above(
        [text for _, text in lines], cells_of([text for _, text in lines], delimiter)
    )
    above = [text for _, text in lines[:n_above]]
    lines = lines[n_above:]
    lines = [line for j, line in enumerate(lines) if j != 1 or not RULE.fullmatch(line[1])]
    rows = cells_of([text for _, text in lines], delimiter)
    decimal, certain = decimal_sign([cell for row in rows[1:] or rows for cell in row], delimiter)
    if choices.decimal is not None:
        decimal = "," if choices.decimal == "," else "."
        certain = True
    header = infer_header(rows) if choices.header is None else choices.header
    names = column_names(rows, header)
    skipped = lines[1][0] if header and len(lines) > 1 else lines[0][0] + header
    codes = {
        names[j]
        for row in rows[header:]
        for j, cell in enumerate(row[: len(names)])
        if CODE.fullmatch(cell)
    }
    return Dialect(delimiter, decimal, certain, header, names, skipped, above, tuple(sorted(codes)))


def with_savetxt_header(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Lines whose names of columns follow a ``#``, as numpy.savetxt writes them, without that sign."""
    n = next((k for k, (_, text) in enumerate(lines) if not text.lstrip().startswith("#")), 0)
    if n == 0:
        return lines
    number, text = lines[n - 1]
    names = text.lstrip().lstrip("#").strip()
    pieces = [[len(re.split(sign, t.strip())) for t in (names, lines[n][1])] for sign in SPLITS]
    if not any(counts[0] == counts[1] > 1 for counts in pieces):
        return lines
    return [*lines[: n - 1], (number, names), *lines[n:]]


SPLITS = (",", ";", "\t", r"\s+")
"""Separators between names or numbers of numpy.savetxt."""


def cells_of(lines: list[str], delimiter: str) -> list[list[str]]:
    """The cells of each line; a line of many columns is one long cell by any other delimiter."""
    csv.field_size_limit(max(csv.field_size_limit(), SAMPLE))
    return [next(csv.reader([line], delimiter=delimiter)) for line in lines]


# Encodings.

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CODE_PAGES = ("cp1252", "cp1251", "cp932", "gb18030", "big5", "cp949")
"""Western Europe, Cyrillic, Japanese, Chinese (twice) and Korean, which are told apart by what their letters spell."""


def infer_encoding(content: bytes) -> str:
    """UTF-16 by its mark, UTF-8 where all bytes fit, else the code page that charset-normalizer finds likeliest."""
    if content.startswith(UTF_16):
        return "utf-16"
    if is_encoded(content, "utf-8"):
        return "utf-8"
    from charset_normalizer import from_bytes

    special = b"\n".join(
        [line for line in content[:SAMPLE].splitlines() if not line.isascii()][: 10 * SAMPLE_LINES]
    )
    likeliest = [found.encoding for found in from_bytes(special, cp_isolation=[*CODE_PAGES])]
    return next(
        (encoding for encoding in (*likeliest, "cp1252") if is_encoded(content, encoding)),
        "latin-1",
    )


def is_encoded(content: bytes, encoding: str) -> bool:
    """Return whether bytes are text in an encoding."""
    try:
        codecs.decode(content, encoding)
    except UnicodeError:
        return False
    return True


def as_text(content: bytes, encoding: str, file: str) -> str:
    """Bytes as text; those that the encoding does not know are replaced."""
    try:
        "".encode(
            encoding
        )  # some of Python's codecs unpack or transform bytes; they are no text encodings
        text = content.decode(encoding, "replace")
    except (LookupError, UnicodeError) as error:
        reason = (
            f"{file} cannot be read as {encoding!r}: no text encoding, or not that of the file."
        )
        raise InvalidUpload("encoding", reason, "Choose utf-8, latin-1 or utf-16.") from error
    return text.removeprefix("\ufeff")


# Lines.


def infer_delimiter(lines: list[str], file: str) -> str:
    """The first candidate that splits most lines into the same number of cells, at least two.

    One that splits the first line so too goes before others: a semicolon may also stand between numbers in a cell, or
    in the text of every row.
    """
    lines = [line for line in lines if not line.lstrip().startswith(COMMENTS)] or lines
    found = []
    for delimiter in DELIMITERS:
        widths = [len(cells) for cells in cells_of(lines, delimiter)]
        usual = mode(widths)
        by_chance = delimiter == " " and any(
            width != usual for width in widths[1:]
        )  # as between two words
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            found.append((by_chance or not max(2, usual - 1) <= widths[0] <= usual, delimiter))
    aligned = len(lines) > 1 and sum("  " in line.strip() for line in lines) > len(lines) / 2
    if aligned and (not found or found[0][1] == " "):
        reason = f"The columns of {file} are aligned by blanks, with no delimiter between them."
        raise InvalidUpload(
            "fixed_width", reason, "Save it as csv; in Python, pandas.read_fwf reads it."
        )
    return min(found, key=lambda item: item[0], default=(False, ","))[1]


def is_value(cell: str) -> bool:
    """Return whether a cell holds a number, or several values such as ``[0.1, 0.9]``."""
    return bool(cell.strip()) and (is_number(cell) or isinstance(parsed(cell), (list, dict)))


def lines_above(texts: list[str], rows: list[list[str]]) -> int:
    """Return the number of lines above the table.

    Whatever has fewer filled cells than most lines, or the same text twice, where the first other line holds names and
    the next one values; else comments, and lines with at most half as many filled cells as most have.
    """
    width = mode(map(len, rows))
    names = [[cell for cell in row if cell.strip()] for row in rows]
    filled = [*map(len, names)]
    usual = mode(filled)
    full = [n for n in range(len(rows)) if filled[n] >= usual]
    first = next(
        (n for n in full if len({*names[n]}) == filled[n]), full[0]
    )  # a merged title repeats in its cells
    if (
        first + 1 < len(rows)
        and not any(map(is_value, rows[first]))
        and any(map(is_value, rows[first + 1]))
    ):
        return first

    def is_above(n: int) -> bool:
        is_row = len(rows[n]) == width > 1 and any(map(is_value, rows[n]))
        return not is_row and (texts[n].lstrip().startswith(COMMENTS) or 2 * filled[n] <= usual)

    last = min(MAX_ABOVE, len(rows) - 1)
    return next((n for n in range(last) if not is_above(n)), last)


def infer_header(rows: list[list[str]]) -> bool:
    """Return whether the first line names the columns.

    It is text above numbers, or 0, 1, 2, ... as pandas writes it; above text it holds the name of a label, or none of
    the values of those columns that repeat few.
    """
    first = [cell.strip() for cell in rows[0]]
    rest = rows[1:]
    if not rest:
        return not any(map(is_number, first))
    below = [[row[j].strip() for row in rest if j < len(row)] for j in range(len(first))]
    for name, cells in zip(first, below, strict=True):
        filled = [cell for cell in cells if cell]
        others = [cell for cell in filled if not is_number(cell)]
        values = len(cells) - len(others) + sum(map(is_value, others))
        if not is_value(name) and any(cells) and 2 * values > len(cells):
            return True
    if len(first) > 2 and first == [str(j) for j in range(len(first))]:
        return any(row != rows[0] for row in rest)
    known = [
        name in cells
        for name, cells in zip(first, below, strict=True)
        if 2 * len(set(cells)) <= len(cells)
    ]
    distinct = all(first) and len(set(first)) == len(first) and not any(map(is_value, first))
    return (distinct and bool(known) and not any(known)) or any(
        canonical(name).base in LABELS for name in first
    )


def column_names(rows: list[list[str]], header: bool) -> list[str]:
    """One name for each column; those without one are numbered.

    A first column without a name is that of R's row names; a last one is what a delimiter at the end of lines makes.
    """
    width = mode(map(len, rows[1:] or rows))
    if not header:
        return [f"column_{j}" for j in range(mode(map(len, rows)))]
    names = [name.strip() for name in rows[0]]
    below = [row for row in rows[1:] if len(row) == width]
    if len(names) == width + 1 and not names[-1]:
        names = names[:-1]
    elif len(names) == width - 1 > 0 and below:
        ends_empty = not any(row[-1].strip() for row in below)
        names = (
            [*names, ""] if ends_empty else ["row" if "row" not in names else "row_name", *names]
        )
    return [name or f"unnamed_{j}" for j, name in enumerate(names)]
