"""Sheets of .xlsx files: which is read, what its cells become, and workbooks that would take memory or read files."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from datetime import datetime

import openpyxl

from calib.data import Choices, Inspection, inspect
from tests.data.conftest import cases, the
from tests.data.read.conftest import LABELS, PROBS, check_read

HEADER = ("p_0", "p_1", "p_2", "label")
ROWS = [(*map(float, row), int(label)) for row, label in zip(PROBS, LABELS, strict=True)]
TABLE = [HEADER, *ROWS]


def workbook(**sheets) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    return saved(book)


def saved(book: openpyxl.Workbook) -> bytes:
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(content: bytes, **chosen) -> Inspection:
    return inspect(("table.xlsx", content), choices=Choices(**chosen))


@cases(
    "sheets",
    [
        ("empty sheets", {"Sheet1": [], "Data": TABLE, "Sheet3": []}),
        (
            "title and merged heads",
            {"Data": [("Report",), (), (None, "Model A", None, "Outcome"), *TABLE]},
        ),
        (
            "a title in each cell",
            {"Data": [("Report",) * 4, ("as of", "31 March"), ("A", "A", "A", "Truth"), *TABLE]},
        ),
        (
            "below titles and to their right",
            {
                "Data": [
                    ("Report",),
                    ("as of", "31 March"),
                    ("rows", 240),
                    *((None, *row) for row in TABLE),
                ]
            },
        ),
        (
            "dates",
            {
                "Data": [
                    (*row, "when" if row is HEADER else datetime(2024, 1, 5, 12)) for row in TABLE
                ]
            },
        ),
        ("names of lines", {"Data": [("cla,ss\n0", "cla,ss\n1", "cla,ss\n2", "label"), *ROWS]}),
    ],
)
def test_the_sheet_with_the_table_is_read(sheets):
    found = read(workbook(**sheets))
    check_read(found)
    assert found.choices.sheet == "Data"
    again = inspect(("table.xlsx", workbook(**sheets)), choices=found.choices)
    assert again.predictions is not None and again.predictions.sha256 == found.predictions.sha256


def test_several_tables_are_asked_for_each_with_its_fix_but_not_a_hidden_one():
    content = workbook(train=[HEADER, *ROWS[:100]], val=TABLE)
    found = read(content)
    assert found.predictions is None
    assert list(the(found, "several_sheets").offers.values()) == [
        {"sheet": "train"},
        {"sheet": "val"},
    ]
    check_read(read(content, sheet="val"))
    assert read(content, sheet="test").predictions is None
    book = openpyxl.load_workbook(io.BytesIO(workbook(Data=TABLE, Old=TABLE[:50])))
    book["Old"].sheet_state = "hidden"
    check_read(read(saved(book)))


def test_errors_in_cells_are_no_numbers():
    rows = [HEADER, ("#DIV/0!", *ROWS[0][1:]), *ROWS[1:]]
    assert "'#DIV/0!' in row 1" in the(read(workbook(Data=rows)), "text_in_cells").message
    assert len(read(workbook(Data=rows), drop_bad_rows=True).predictions) == 239


# Workbooks that would take memory or time, or read other files.


def rewritten(content: bytes, ending: str, change: Callable[[str], str]) -> bytes:
    """The workbook with one of its parts changed."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for member in old.infolist():
            text = old.read(member).decode()
            new.writestr(
                member.filename, change(text) if member.filename.endswith(ending) else text
            )
    return out.getvalue()


def test_a_formula_counts_by_its_stored_value():
    content, formula = workbook(Data=TABLE), '<f>WEBSERVICE("http://elsewhere.example/")</f>'
    changed = rewritten(
        content,
        "sheet1.xml",
        lambda text: re.sub(r"(<c [^>]*>)(<v>0\.\d+</v>)", rf"\1{formula}\2", text),
    )
    assert content != changed
    expected, found = (read(each).predictions for each in (content, changed))
    assert expected is not None and found is not None
    assert found.sha256 == expected.sha256


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def with_shared_strings(content: bytes) -> bytes:
    """The workbook with its strings in a part of their own, as Excel saves them."""
    texts: list[str] = []

    def moved(match: re.Match[str]) -> str:
        texts.append(match[2])
        return f'{match[1]}t="s"><v>{len(texts) - 1}</v></c>'

    def sheet(text: str) -> str:
        return re.sub(r'(<c [^>]*)t="inlineStr"><is><t>([^<]*)</t></is></c>', moved, text)

    content = rewritten(content, "sheet1.xml", sheet)
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    part = f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'
    out = io.BytesIO(
        rewritten(content, "[Content_Types].xml", lambda text: text.replace("</Types>", part))
    )
    with zipfile.ZipFile(out, "a") as book:
        items = "".join(f"<si><t>{text}</t></si>" for text in texts)
        book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{MAIN}">{items}</sst>')
    return out.getvalue()


PLAIN = with_shared_strings(workbook(Data=TABLE))


@cases(
    "change",
    [
        ("a cell far to the right", lambda text: text.replace('r="A2"', 'r="XFD2"', 1)),
        ("dimensions that lie", lambda text: re.sub(r'<dimension ref="[^"]*"', '<dimension ref="A1:XFD1048576"', text)),
        ("a digit too many", lambda text: text.replace("<v>", "<v>" + "9" * 5000, 1)),
        ("a string that is not there", lambda text: text.replace("<v>0</v>", "<v>99999</v>", 1)),
    ],
)  # fmt: skip
def test_a_sheet_that_lies_is_read_or_refused_in_words(change):
    content = rewritten(PLAIN, "sheet1.xml", change)
    assert content != PLAIN
    found = read(content)
    assert found.predictions is not None or found.findings[0].action
