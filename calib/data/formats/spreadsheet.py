"""Sheets of an .xlsx file, read as the text tables that their cells would be.

Every part is checked before openpyxl sees it: its size, its elements, and that it declares no entities. What openpyxl
opens is a copy of the parts that a table needs, since it unpacks whatever an archive holds.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.parsers import expat

from calib.data.checks.report import InvalidUpload, Report, count, listed, shortened, verb
from calib.data.formats.archives import open_member, open_zip
from calib.data.formats.base import Allowance, reading
from calib.data.formats.dialect import is_number
from calib.data.formats.table import TableContents
from calib.data.formats.text import open_text
from calib.data.limits import MAX_DEPTH_XML, MAX_ELEMENTS, MAX_SHEET_CELLS, MAX_TEXT, megabytes
from calib.data.options import Choices
from calib.errors import Finding

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main "
LET_GO = {MAIN + "row", MAIN + "si"}
"""Elements whose content openpyxl lets go of once it is read."""

NEEDED = re.compile(r"\[Content_Types\]\.xml|_rels/\.rels|\w+/(_rels/)?(workbook|sharedStrings|styles)\.xml(\.rels)?"
                    r"|\w+/worksheets/[^/]+\.xml", re.I)  # fmt: skip
HEAD = 50
"""Rows of a sheet that show whether it holds a table."""

MOST_SHEETS = 12
CHUNK = 2**16
LAST_ROW = 2**20
ERRORS = ("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA", "#SPILL!", "#CALC!")


@dataclass
class PartCheck:
    """One XML part as it is unpacked: no document type, and few elements that would stay in memory.

    Attributes
    ----------
    unsaved : cells with a formula whose value was not saved.
    """

    what: str
    unsaved: int = 0
    _cells: int = 0
    _elements: int = 0
    _open: list[int] = field(default_factory=list)
    _formula: bool = False

    def __post_init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end

    def feed(self, chunk: bytes) -> None:
        """Check the next bytes; none are the end."""
        self._parser.Parse(chunk, not chunk)

    def _doctype(self, *_: Any) -> None:
        raise InvalidUpload(
            "entities",
            f"{self.what} declares a document type, which could unpack to gigabytes or read other files.",
            "Save the table anew as .xlsx or csv.",
        )

    def _start(self, tag: str, _: Any) -> None:
        self._open.append(self._elements)
        self._elements += 1
        if tag == MAIN + "c":
            self._cells += 1
            self._formula = False
        elif tag == MAIN + "f":
            self._formula = True
            self.unsaved += 1
        elif tag == MAIN + "v" and self._formula:
            self._parser.CharacterDataHandler = self._value
        if self._elements > MAX_ELEMENTS or self._cells > MAX_SHEET_CELLS or len(self._open) > MAX_DEPTH_XML:
            raise InvalidUpload(
                "too_large",
                f"{self.what} has more than {MAX_SHEET_CELLS:,} cells, or elements that belong to no cell.",
                "Save the table as csv or Parquet.",
            )

    def _value(self, _: str) -> None:
        self._parser.CharacterDataHandler = None
        self.unsaved -= 1

    def _end(self, tag: str) -> None:
        if self._formula and tag == MAIN + "v":
            self._parser.CharacterDataHandler = None
        before = self._open.pop()
        if tag in LET_GO:
            self._elements = before + 1


def checked_copy(file: BinaryIO, name: str) -> tuple[io.BytesIO, dict[str, int]]:
    """The parts of a workbook that a table needs, unpacked and checked; and the formulas without value in each."""
    copy, unsaved, left = io.BytesIO(), {}, MAX_TEXT
    with open_zip(file) as archive, zipfile.ZipFile(copy, "w") as checked:
        for member in archive.infolist():
            if not NEEDED.fullmatch(member.filename) or member.filename in unsaved:
                continue
            left -= member.file_size
            if left < 0:
                raise InvalidUpload(
                    "too_large",
                    f"{name} unpacks to more than {megabytes(MAX_TEXT)}.",
                    "Save the table as csv or Parquet.",
                )
            part = PartCheck(f"{shortened(member.filename)} of {name}")
            with open_member(archive, member) as source, checked.open(member.filename, "w") as target:
                while chunk := source.read(CHUNK):
                    part.feed(chunk)
                    target.write(chunk)
                part.feed(b"")
            unsaved[member.filename] = part.unsaved
    return copy, unsaved


def open_spreadsheet(name: str, file: BinaryIO, allowance: Allowance, report: Report) -> TableContents:
    """The table of one sheet: the one that was chosen, or the only one that holds a table."""
    import openpyxl

    with reading(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions
        copy, unsaved = checked_copy(file, name)
        book = openpyxl.load_workbook(copy, read_only=True, data_only=True, keep_links=False)
        sheet = chosen_sheet(book.worksheets, name, report)
        lines, n_errors = lines_of(rows_of(sheet), f"Sheet {shortened(sheet.title)} of {name}")
        path = sheet._worksheet_path.lstrip("/")
    choices = report.choices
    written = Choices(
        delimiter=",",
        encoding="utf-8",
        decimal=choices.decimal,
        header=choices.header,
        drop_bad_rows=choices.drop_bad_rows,
    )
    contents = open_text(name, io.BytesIO(lines), False, allowance, written)
    contents.format_choices = {"header": contents.format_choices["header"], "sheet": sheet.title}
    contents.findings += empty_cells(unsaved.get(path, 0), n_errors, name)
    return contents


def chosen_sheet(sheets: list[ReadOnlyWorksheet], name: str, report: Report) -> ReadOnlyWorksheet:
    """The sheet of the name that was chosen, or the only one that holds a table.

    Raises
    ------
    InvalidUpload
        If there is none, or several, each of which is then named with the fix that reads it.
    """
    by_title = {sheet.title: sheet for sheet in sheets}
    if report.choices.sheet in by_title:
        return by_title[report.choices.sheet]
    shown = [sheet for sheet in sheets if sheet.sheet_state == "visible"]
    tables = [sheet for sheet in shown if has_table(sheet)] or [sheet for sheet in sheets if has_table(sheet)]
    if len(tables) == 1:
        if report.choices.sheet:  # it may be that of another file
            report.info("sheet", f"{name} has no sheet {shortened(report.choices.sheet)!r}; its only table was read.")
        return tables[0]
    if not tables:
        raise InvalidUpload(
            "no_rows",
            f"None of {count(len(sheets), 'sheet')} of {name} holds rows of numbers.",
            "Check that the file is the right one, and that its values were saved.",
        )
    for sheet in tables[:MOST_SHEETS]:
        first = next((row for row in islice(rows_of(sheet), HEAD) if any(cell is not None for cell in row)), ())
        cells = [cell for cell in first if cell is not None]
        report.warn(
            "sheet", f"Sheet {shortened(sheet.title)!r} begins with {listed(cells)}.", "Read it.", sheet=sheet.title
        )
    raise InvalidUpload(
        "several_sheets",
        f"{name} holds {len(tables)} sheets with tables: {listed(sheet.title for sheet in tables)}.",
        "Choose one by the option sheet.",
    )


def has_table(sheet: ReadOnlyWorksheet) -> bool:
    """Whether a row below the first one holds a number."""
    filled = (row for row in islice(rows_of(sheet), HEAD) if any(cell is not None for cell in row))
    cells = (str(cell) for row in islice(filled, 1, None) for cell in row if cell is not None)
    return any(cell.strip() and is_number(cell) for cell in cells)


def rows_of(sheet: ReadOnlyWorksheet) -> Iterator[tuple[Any, ...]]:
    """The values of each row; rows that the file leaves out are empty."""
    sheet.reset_dimensions()  # what the file says of its size is not to be believed
    return islice(sheet.iter_rows(values_only=True), LAST_ROW)


def lines_of(rows: Iterable[tuple[Any, ...]], what: str) -> tuple[bytes, int]:
    """The rows as lines of text with equally many cells, without empty ones around; and how many hold an error."""
    lines: list[tuple[int, str]] = []
    size = n_errors = width = 0
    start = LAST_ROW
    for row in rows:
        filled = [j for j, cell in enumerate(row) if cell is not None and cell != ""]
        if not filled:
            continue
        start, width = min(start, filled[0]), max(width, filled[-1] + 1)
        cells = [written(cell) for cell in row[: filled[-1] + 1]]
        n_errors += sum(cell in ERRORS for cell in row)
        line = ",".join(cells)
        lines.append((len(cells), line))
        size += len(line)
        if size > MAX_TEXT or 8 * width * len(lines) > MAX_TEXT:
            raise InvalidUpload(
                "too_large",
                f"{what} has more than {megabytes(MAX_TEXT)} as text.",
                "Save it as Parquet, or fewer rows.",
            )
    text = "\n".join(line[start:] + "," * (width - n) for n, line in lines)
    return text.encode("utf-8", "replace"), n_errors


def written(cell: Any) -> str:
    """A cell as a text table holds it."""
    if cell is None or (isinstance(cell, str) and cell in ERRORS):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (int, float)):
        return repr(cell)
    if isinstance(cell, (datetime, date, time)):
        return cell.isoformat()
    text = " ".join(str(cell).splitlines())
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"') else text


def empty_cells(unsaved: int, n_errors: int, name: str) -> list[Finding]:
    """Warnings of formulas without a value, and of errors in cells, both of which are read as empty."""
    found = []
    for code, n, what, action in (
        (
            "formulas",
            unsaved,
            "a formula whose value was not saved",
            "Open it in Excel or LibreOffice and save it.",
        ),
        ("cell_errors", n_errors, "an error such as #DIV/0!", "Correct the formulas, or leave these rows out."),
    ):
        if n:
            text = f"{count(n, 'cell')} of {name} {verb(n, 'holds', 'hold')} {what}; read as empty."
            found.append(Finding("warning", code, text, action))
    return found
