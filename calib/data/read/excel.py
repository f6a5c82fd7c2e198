"""A sheet of an .xlsx file, read by openpyxl and then as the text table that its cells would be."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, time
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.findings import InvalidUpload, count, info, listed, shortened, verb, warning
from calib.data.limits import MAX_SHEET_CELLS, MAX_TEXT, megabytes
from calib.data.options import Choices
from calib.data.read.arrays import open_zip
from calib.data.read.base import Allowance, reading
from calib.data.read.numerals import is_number
from calib.data.read.table import Table
from calib.data.read.text import open_text

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

HEAD = 50
"""Rows of a sheet that show whether it holds a table."""

MOST_SHEETS = 12
LAST_ROW = 2**20
ERRORS = ("#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#GETTING_DATA", "#SPILL!", "#CALC!")
Row = tuple[Any, ...]


def open_spreadsheet(name: str, file: BinaryIO, allowance: Allowance, choices: Choices) -> Table:
    """The table of one sheet: the one that was chosen, or the only one that holds a table."""
    with reading(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions
        with open_zip(file) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > 4 * MAX_TEXT:
            raise InvalidUpload(
                "too_large", f"{name} unpacks to {megabytes(size)}.", "Save the table as csv or Parquet."
            )
        sheet = chosen_sheet(workbook(file).worksheets, name, choices.sheet)
        rows, what = rows_of(sheet), f"Sheet {shortened(sheet.title)} of {name}"
        content, n_errors = lines_of(rows, what)
    contents = open_text(name, content, allowance, replace(choices, delimiter=",", encoding="utf-8"))
    contents.format_choices = {"header": contents.format_choices["header"], "sheet": sheet.title}
    if choices.sheet not in (None, sheet.title):  # it may be that of another file
        reason = f"{name} has no sheet {shortened(choices.sheet)!r}; its only table was read."
        contents.findings.append(info("sheet", reason))
    if n_errors:
        text = f"{count(n_errors, 'cell')} of {name} {verb(n_errors, 'holds', 'hold')} an error such as #DIV/0!; "
        contents.findings.append(warning("cell_errors", f"{text}read as empty.", "Correct the formulas."))
    return contents


def workbook(file: BinaryIO) -> Workbook:
    """The workbook, with the saved values of formulas."""
    import openpyxl

    file.seek(0)
    return openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)


def chosen_sheet(sheets: list[ReadOnlyWorksheet], name: str, chosen: str | None) -> ReadOnlyWorksheet:
    """The sheet of the name that was chosen, or the only one that holds a table.

    Raises
    ------
    InvalidUpload
        If there is none, or several, each of which is then a reading to choose.
    """
    by_title = {sheet.title: sheet for sheet in sheets}
    if chosen in by_title:
        return by_title[chosen]
    shown = [sheet for sheet in sheets if sheet.sheet_state == "visible"]
    tables = [sheet for sheet in shown if has_table(sheet)] or [sheet for sheet in sheets if has_table(sheet)]
    if len(tables) == 1:
        return tables[0]
    if not tables:
        raise InvalidUpload(
            "no_rows",
            f"None of {count(len(sheets), 'sheet')} of {name} holds rows of numbers.",
            "Check that the file is the right one, and that its values were saved.",
        )
    readings = {}
    for sheet in tables[:MOST_SHEETS]:
        first = next((row for row in islice(rows_of(sheet), HEAD) if any(cell is not None for cell in row)), ())
        cells = [cell for cell in first if cell is not None]
        readings[f"Sheet {shortened(sheet.title)!r}, which begins with {listed(cells)}"] = {"sheet": sheet.title}
    raise InvalidUpload(
        "several_sheets",
        f"{name} holds {len(tables)} sheets with tables: {listed(sheet.title for sheet in tables)}.",
        "Choose one by the option sheet.",
        readings=readings,
    )


def has_table(sheet: ReadOnlyWorksheet) -> bool:
    """Whether a row below the first one holds a number."""
    filled = (row for row in islice(rows_of(sheet), HEAD) if any(cell is not None for cell in row))
    cells = (str(cell) for row in islice(filled, 1, None) for cell in row if cell is not None)
    return any(cell.strip() and is_number(cell) for cell in cells)


def rows_of(sheet: ReadOnlyWorksheet) -> Iterator[Row]:
    """The values of each row; rows that the file leaves out are empty."""
    sheet.reset_dimensions()  # what the file says of its size is not to be believed
    return islice(sheet.iter_rows(values_only=True), LAST_ROW)


def lines_of(rows: Iterator[Row], what: str) -> tuple[bytes, int]:
    """The filled rows as csv, and how many cells hold an error."""
    filled: list[Row] = []
    n_cells = n_errors = 0
    first, last = MAX_SHEET_CELLS, 0
    for row in rows:
        places = [j for j, cell in enumerate(row) if cell is not None and cell != ""]
        if not places:
            continue
        first, last = min(first, places[0]), max(last, places[-1] + 1)
        n_errors += sum(cell in ERRORS for cell in row if isinstance(cell, str))
        n_cells += len(row)
        if n_cells > MAX_SHEET_CELLS:
            raise InvalidUpload(
                "too_large", f"{what} has more than {MAX_SHEET_CELLS:,} cells.", "Save the table as csv or Parquet."
            )
        filled.append(row[: places[-1] + 1])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    for row in filled:
        writer.writerow([*map(written, row[first:]), *[""] * (last - max(first, len(row)))])
        if out.tell() > MAX_TEXT:
            raise InvalidUpload(
                "too_large",
                f"{what} has more than {megabytes(MAX_TEXT)} as text.",
                "Save it as Parquet, or fewer rows.",
            )
    return out.getvalue().encode("utf-8", "replace"), n_errors


def written(cell: Any) -> str:
    """A cell as a text table holds it."""
    if cell is None or (isinstance(cell, str) and cell in ERRORS):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (datetime, date, time)):
        return cell.isoformat()
    return " ".join(str(cell).splitlines()) if isinstance(cell, str) else repr(cell)
