"""A sheet of an .xlsx file, read by openpyxl and then as the text table that its cells would be."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO

from calib.data.findings import InvalidUpload, info, listed, shortened
from calib.data.options import Choices
from calib.data.read.base import reading
from calib.data.read.numerals import is_number
from calib.data.read.table import Table
from calib.data.read.text import open_text
from calib.formatting import plural

if TYPE_CHECKING:
    from openpyxl.worksheet._read_only import ReadOnlyWorksheet

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
        raise InvalidUpload(
            "no_rows",
            reason,
            "Check that the file is the right one, and that its values were saved.",
        )
    raise InvalidUpload(
        "several_sheets",
        f"{name} holds {len(tables)} sheets with tables: {listed(sheet.title for sheet in tables)}.",
        "Choose one by the option sheet.",
        readings={
            f"Sheet {shortened(sheet.title)!r}": {"sheet": sheet.title}
            for sheet in tables[:MOST_SHEETS]
        },
    )


def has_numbers(sheet: ReadOnlyWorksheet) -> bool:
    """Return whether a row below the first one holds a number."""
    rows = islice(filled_rows(sheet, HEAD), 1, None)
    return any(is_number(str(cell)) for row in rows for cell in row if cell not in EMPTY)


def filled_rows(sheet: ReadOnlyWorksheet, most: int = LAST_ROW) -> Iterator[tuple[Any, ...]]:
    """The values of each row that holds any, from among the first rows."""
    sheet.reset_dimensions()  # what the file says of its size is not to be believed
    rows = islice(sheet.iter_rows(values_only=True), most)
    return (row for row in rows if any(cell not in EMPTY for cell in row))


def lines_of(rows: Iterator[tuple[Any, ...]]) -> bytes:
    """The rows as csv, without empty columns and line breaks."""
    import pandas as pd

    cells = pd.DataFrame(list(rows), dtype=object)
    filled = cells.loc[:, (cells.notna() & (cells != "")).any()].replace(
        r"[\r\n]+", " ", regex=True
    )
    return filled.to_csv(header=False, index=False, lineterminator="\n").encode("utf-8", "replace")
