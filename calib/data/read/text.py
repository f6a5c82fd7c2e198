"""Text tables: csv, tsv and their like, and the sheets of .xlsx files, parsed by Arrow once their form is known.

Encoding, delimiter, decimal sign, lines above the table and names of columns are inferred from the first megabyte.
Columns of numbers that Arrow does not take are read as people write them.
"""

from __future__ import annotations

import codecs
import csv
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from statistics import mode
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.findings import InvalidUpload, check_count, info, listed, shortened, verb
from calib.data.names import LABELS, canonical
from calib.data.options import Choices, Sign
from calib.data.read.base import reading
from calib.data.read.columns import open_columns
from calib.data.read.numerals import CODE, are_numbers, are_values, decimal_sign
from calib.data.read.table import Table
from calib.formatting import plural

if TYPE_CHECKING:
    import pyarrow as pa
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

DELIMITERS = ("\t", ";", "|", ",", " ")
"""Delimiters in the order they are tried: a comma may also be a decimal comma, a blank may stand in a name."""

COMMENTS = ("#", "%", "//", "sep=", '"sep=')
"""Beginnings of lines above a table that say nothing of its columns; by the last two Excel is told the delimiter."""

RULE = re.compile(r"(?=.*--)[\s|+:=,;-]+")
"""A line between header and rows, as Markdown and database shells draw it."""

SAMPLE = 2**20
SAMPLE_LINES = 100
MAX_ABOVE = 50
"""Lines that may stand above a table."""

UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
CODE_PAGES = ("cp1252", "cp1251", "cp932", "gb18030", "big5", "cp949")
"""Western Europe, Cyrillic, Japanese, Chinese (twice) and Korean, which are told apart by what their letters spell."""


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
        lines = f"{plural(len(dialect.above), 'line')} above the table of {name} left out"
        finding = info("lines_above", f"{lines}, such as {shortened(dialect.above[0].strip())!r}.")
        contents.findings.insert(0, finding)
    chosen = {name: getattr(dialect, name) for name in ("delimiter", "decimal", "header")}
    contents.format_choices = {"encoding": encoding, **chosen}
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
        lines = f"{plural(len(ragged), 'line')} of {name} {verb(len(ragged), 'has', 'have')}"
        reason = (
            f"{lines} another number of cells than the {plural(len(dialect.names), 'column')}; the first is line "
            f"{number:,} with {width}. A comma inside a name, a line below the table or a file that was cut off "
            "usually causes it."
        )
        action = "Leave these lines out, or put names with commas in quotes."
        raise InvalidUpload("ragged", reason, action, drop_bad_rows=True)
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


# Encodings.


def infer_encoding(content: bytes) -> str:
    """UTF-16 by its mark, UTF-8 where all bytes fit, else the code page that charset-normalizer finds likeliest."""
    if content.startswith(UTF_16):
        return "utf-16"
    for encoding in _likely_encodings(content):
        with suppress(UnicodeError):
            content.decode(encoding)
            return encoding
    return "latin-1"


def _likely_encodings(content: bytes) -> Iterator[str]:
    yield "utf-8"
    from charset_normalizer import from_bytes

    special = [line for line in content[:SAMPLE].splitlines() if not line.isascii()]
    likeliest = from_bytes(b"\n".join(special[: 10 * SAMPLE_LINES]), cp_isolation=[*CODE_PAGES])
    yield from (match.encoding for match in likeliest)
    yield "cp1252"


def as_text(content: bytes, encoding: str, file: str) -> str:
    """Bytes as text; those that the encoding does not know are replaced."""
    try:
        "".encode(encoding)  # some of Python's codecs unpack bytes; they are no text encodings
        text = content.decode(encoding, "replace")
    except (LookupError, UnicodeError) as error:
        reason = (
            f"{file} cannot be read as {encoding!r}: no text encoding, or not that of the file."
        )
        raise InvalidUpload("encoding", reason, "Choose utf-8, latin-1 or utf-16.") from error
    return text.removeprefix("\ufeff")


# Lines.


def infer_dialect(content: bytes, encoding: str, choices: Choices, file: str) -> Dialect:
    """Infer how a table is written from its first lines."""
    texts = re.split(r"\r\n|\n|\r", as_text(content[:SAMPLE], encoding, file))
    if len(content) > SAMPLE:
        texts.pop()
    lines = [(number, text) for number, text in enumerate(texts) if text.strip()]
    lines = lines[: SAMPLE_LINES + MAX_ABOVE + 1]
    if not lines:
        action = "Save one row per line, with a delimiter between cells."
        raise InvalidUpload("no_rows", f"{file} holds no whole line of text.", action)
    delimiter = choices.delimiter or infer_delimiter([text for _, text in lines], file)
    n_comments = next((k for k, (_, t) in enumerate(lines) if not t.lstrip().startswith("#")), 0)
    if n_comments:  # numpy.savetxt writes the names of columns so
        number, text = lines[n_comments - 1]
        names = text.strip().lstrip("#").strip()
        widths = [len(cells) for cells in cells_of([names, lines[n_comments][1]], delimiter)]
        if widths[0] == widths[1] > 1:
            lines[n_comments - 1] = number, names
    n_above = lines_above([text for _, text in lines], delimiter)
    above = [text for _, text in lines[:n_above]]
    lines = lines[n_above:]
    lines = [line for j, line in enumerate(lines) if j != 1 or not RULE.fullmatch(line[1])]
    rows = cells_of([text for _, text in lines], delimiter)
    decimal, certain = choices.decimal, True
    if decimal is None:
        cells_below = [cell for row in rows[1:] or rows for cell in row]
        decimal, certain = decimal_sign(cells_below, delimiter)
    header = infer_header(rows) if choices.header is None else choices.header
    columns = column_names(rows, header)
    skipped = lines[1][0] if header and len(lines) > 1 else lines[0][0] + header
    cells = [pair for row in rows[header:] for pair in zip(columns, row, strict=False)]
    codes = tuple(sorted({name for name, cell in cells if CODE.fullmatch(cell)}))
    return Dialect(delimiter, decimal, certain, header, columns, skipped, above, codes)


def cells_of(lines: list[str], delimiter: str) -> list[list[str]]:
    """The cells of each line; a line of many columns is one long cell by any other delimiter."""
    csv.field_size_limit(max(csv.field_size_limit(), SAMPLE))
    return [next(csv.reader([line], delimiter=delimiter)) for line in lines]


def infer_delimiter(lines: list[str], file: str) -> str:
    """The first candidate that splits most lines into the same number of cells, at least two.

    One that splits the first line so too goes before others: a semicolon may also stand between numbers in a cell, or
    in the text of every row.
    """
    lines = [line for line in lines if not line.lstrip().startswith(COMMENTS)] or lines
    candidates = []
    for delimiter in DELIMITERS:
        widths = [len(cells) for cells in cells_of(lines, delimiter)]
        usual = mode(widths)
        is_blank = delimiter == " " and any(width != usual for width in widths[1:])
        if usual > 1 and widths.count(usual) > len(widths) / 2:
            other_header = not max(2, usual - 1) <= widths[0] <= usual
            candidates.append((is_blank or other_header, delimiter))
    aligned = len(lines) > 1 and sum("  " in line.strip() for line in lines) > len(lines) / 2
    if aligned and (not candidates or candidates[0][1] == " "):
        reason = f"The columns of {file} are aligned by blanks, with no delimiter between them."
        action = "Save it as csv; in Python, pandas.read_fwf reads it."
        raise InvalidUpload("fixed_width", reason, action)
    return min(candidates, key=lambda item: item[0], default=(False, ","))[1]


def lines_above(texts: list[str], delimiter: str) -> int:
    """Return the number of lines above the table.

    Whatever has fewer filled cells than most lines, or the same text twice, where the first other line holds names and
    the next one values; else comments, and lines with at most half as many filled cells as most have.
    """
    rows = cells_of(texts, delimiter)
    width = mode(map(len, rows))
    filled = [[cell for cell in row if cell.strip()] for row in rows]
    usual = mode(map(len, filled))
    full = [n for n, cells in enumerate(filled) if len(cells) >= usual]
    # A merged title repeats in its cells.
    first = next((n for n in full if len({*filled[n]}) == len(filled[n])), full[0])
    below = rows[first + 1] if first + 1 < len(rows) else []
    if not any(are_values(rows[first])) and any(are_values(below)):
        return first
    last = min(MAX_ABOVE, len(rows) - 1)
    for n in range(last):
        is_row = len(rows[n]) == width > 1 and any(are_values(rows[n]))
        is_comment = texts[n].lstrip().startswith(COMMENTS)
        if is_row or not (is_comment or 2 * len(filled[n]) <= usual):
            return n
    return last


def infer_header(rows: list[list[str]]) -> bool:
    """Return whether the first line names the columns.

    It is text above numbers, or 0, 1, 2, ... as pandas writes it; above text it holds the name of a label, or none of
    the values of those columns that repeat few.
    """
    first = [cell.strip() for cell in rows[0]]
    rest = rows[1:]
    if not rest:
        return not any(are_numbers(first))
    below = [[row[j].strip() for row in rest if j < len(row)] for j in range(len(first))]
    columns = list(zip(first, below, strict=True))
    name_values = [*are_values(first)]
    for (_, cells), is_value in zip(columns, name_values, strict=True):
        n_values = sum(are_values(cells)) + cells.count("")
        if not is_value and any(cells) and 2 * n_values > len(cells):
            return True
    if len(first) > 2 and first == [str(j) for j in range(len(first))]:
        return any(row != rows[0] for row in rest)
    if any(canonical(name).base in LABELS for name in first):
        return True
    are_names = all(first) and len(set(first)) == len(first) and not any(name_values)
    among_cells = [name in cells for name, cells in columns if 2 * len(set(cells)) <= len(cells)]
    return are_names and bool(among_cells) and not any(among_cells)


def column_names(rows: list[list[str]], header: bool) -> list[str]:
    """One name for each column; those without one are numbered.

    A first column without a name is that of R's row names; a last one is what a delimiter at the end of lines makes.
    """
    if not header:
        return [f"column_{j}" for j in range(mode(map(len, rows)))]
    width = mode(map(len, rows[1:] or rows))
    names = [name.strip() for name in rows[0]]
    last_cells = [row[-1].strip() for row in rows[1:] if len(row) == width]
    if len(names) == width + 1 and not names[-1]:
        names.pop()
    elif len(names) == width - 1 > 0 and any(last_cells):
        names.insert(0, "row_name" if "row" in names else "row")
    elif len(names) == width - 1 > 0 and last_cells:
        names.append("")
    return [name or f"unnamed_{j}" for j, name in enumerate(names)]


# Spreadsheets, read as the text table that their cells would be.

HEAD = 50
"""Rows of a sheet that show whether it holds a table."""

MOST_SHEETS = 12
LAST_ROW = 2**20
EMPTY = (None, "")


def open_spreadsheet(name: str, file: BinaryIO, choices: Choices) -> Table:
    """The table of one sheet: the one that was chosen, or the only one that holds a table."""
    import openpyxl

    with reading(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions
        # With the saved values of formulas.
        workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        sheet = chosen_sheet(workbook.worksheets, name, choices.sheet)
        content = lines_of(filled_rows(sheet))
    contents = open_text(name, content, replace(choices, delimiter=",", encoding="utf-8"))
    contents.format_choices = {"header": contents.format_choices["header"], "sheet": sheet.title}
    if choices.sheet not in (None, sheet.title):  # it may be that of another file
        reason = f"{name} has no sheet {shortened(choices.sheet)!r}; its only table was read."
        contents.findings.append(info("sheet", reason))
    return contents


def chosen_sheet(
    sheets: list[ReadOnlyWorksheet], name: str, chosen: str | None
) -> ReadOnlyWorksheet:
    """The sheet of the name that was chosen, or the only one that holds a table; of numbers, if there is one.

    Raises
    ------
    InvalidUpload
        If there is none, or several, each of which is then a reading to choose.
    """
    named = [sheet for sheet in sheets if sheet.title == chosen]
    filled = [sheet for sheet in sheets if any(filled_rows(sheet, HEAD))]
    tables = named or [sheet for sheet in filled if has_numbers(sheet)] or filled
    tables = [sheet for sheet in tables if sheet.sheet_state == "visible"] or tables
    if len(tables) == 1:
        return tables[0]
    if not tables:
        reason = f"None of {plural(len(sheets), 'sheet')} of {name} holds a row."
        action = "Check that the file is the right one, and that its values were saved."
        raise InvalidUpload("no_rows", reason, action)
    titles = [sheet.title for sheet in tables]
    reason = f"{name} holds {len(tables)} sheets with tables: {listed(titles)}."
    readings = {f"Sheet {shortened(title)!r}": {"sheet": title} for title in titles[:MOST_SHEETS]}
    action = "Choose one by the option sheet."
    raise InvalidUpload("several_sheets", reason, action, readings=readings)


def has_numbers(sheet: ReadOnlyWorksheet) -> bool:
    """Return whether a row below the first one holds a number."""
    rows = islice(filled_rows(sheet, HEAD), 1, None)
    return any(are_numbers(str(cell) for row in rows for cell in row if cell not in EMPTY))


def filled_rows(sheet: ReadOnlyWorksheet, most: int = LAST_ROW) -> Iterator[tuple[Any, ...]]:
    """The values of each row that holds any, from among the first rows."""
    sheet.reset_dimensions()  # what the file says of its size is not to be believed
    rows = islice(sheet.iter_rows(values_only=True), most)
    return (row for row in rows if any(cell not in EMPTY for cell in row))


def lines_of(rows: Iterator[tuple[Any, ...]]) -> bytes:
    """The rows as csv, without empty columns and line breaks."""
    import pandas as pd

    cells = pd.DataFrame(list(rows), dtype=object)
    cells = cells.loc[:, (cells.notna() & (cells != "")).any()]
    cells = cells.replace(r"[\r\n]+", " ", regex=True)
    return cells.to_csv(header=False, index=False, lineterminator="\n").encode("utf-8", "replace")
