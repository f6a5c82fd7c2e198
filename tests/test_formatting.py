"""Numbers in words, and texts of an upload that stay texts in Markdown, in a spreadsheet and in a terminal."""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import calib
from calib.formatting import (
    JOINER,
    escape_markdown,
    number,
    points_between,
    safe_cell,
    safe_table,
    single_line,
)


@given(st.floats(-9e5, 9e5).filter(lambda value: abs(value) >= 1e-4))
def test_three_digits_are_kept(value):
    assert float(number(value).replace(",", "")) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.05234, "0.0523"), (12.34, "12.3"), (1234.0, "1,234"), (0.0, "0"), (1.2e-7, "1.20e-07"),
     (-8.5e-16, "0"), (3e6, "3.00e+06"), (math.nan, "–"), (math.inf, "∞"), (-math.inf, "-∞")],
)  # fmt: skip
def test_numbers_as_people_write_them(value, written):
    assert number(value) == written


PACKAGE = Path(calib.__file__).parent
FORMULAS = [
    "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "  =1+1", "＝1+1",
    '=HYPERLINK("x")', "-", "-1 [=A1]", "-1 [2]+cmd",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_text(text):
    assert safe_cell(text) == "'" + text


@pytest.mark.parametrize(
    ("text", "inert"),
    [
        ("\ufeff=cmd", "'\ufeff=cmd"),
        ("x;=1+1", "x;'=1+1"),
        ("=1; @SUM(A1)", "'=1;' @SUM(A1)"),
        ("a; b-c", "a; b-c"),
    ],
)
def test_formulas_behind_a_mark_and_in_other_locales_become_text(text, inert):
    assert safe_cell(text) == inert


@pytest.mark.parametrize(
    "value",
    ["", "cat", "a=b", "-1", "+1", "-0.5e-3", "1", "p_=1", "'=1", "+0.07 [-0.01, 0.09]", "+1.0  [84 %]", "-∞", -1, -0.5,
     None, True],
    ids=repr,
)  # fmt: skip
def test_everything_else_stays(value):
    assert safe_cell(value) is value


def test_a_table_is_written_with_safe_texts_and_equal_numbers():
    table = pd.DataFrame(
        {
            "=name": FORMULAS[:3],
            "x": [-1.5, np.nan, 2.0],
            "n": [-1, 2, 3],
            "kept": ["a", None, "-1"],
        }
    )
    table["group"] = pd.Categorical(["=g", "b", "=g"])
    before = table.copy()
    header, *rows = csv.reader(io.StringIO(safe_table(table).to_csv(index=False)))
    assert header == ["'=name", "x", "n", "kept", "group"]
    assert [row[0] for row in rows] == ["'" + text for text in FORMULAS[:3]]
    assert [row[1:] for row in rows] == [
        ["-1.5", "-1", "a", "'=g"],
        ["", "2", "", "b"],
        ["2.0", "3", "-1", "'=g"],
    ]
    pd.testing.assert_frame_equal(table, before)
    of_one_name = pd.DataFrame([["=a", "=b"]], columns=["t", "t"])
    assert safe_table(of_one_name).to_csv(index=False) == "t,t\n'=a,'=b\n"


def test_every_table_is_made_safe_before_it_is_written():
    written = {
        (path.name, call)
        for path in PACKAGE.rglob("*.py")
        for call in re.findall(r"[^\s=(\[]+(?:\(.*\))?\.to_csv\(", path.read_text(encoding="utf-8"))
    }
    assert len(written) >= 3  # the pattern still finds them
    read_again = ("text.py", "cells.to_csv(")  # the cells of a workbook, for the reader of text
    assert not [call for call in written - {read_again} if "safe_table(" not in call[1]]


MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
MARKUP = (
    "!", "[a]", "](//b.c/d.png)", "*", "_", "**", "`", "<b>", "</b>", "<!--", "&#58;", "&lt;", "~~", "|", "\\", "#",
    ">", "-", "+", "=", "1.", "2)", ":", ".", "a", "b c", "é", "\n", "\n\n", "---", "```", "://", "www", "@", "red",
    "$",
)  # fmt: skip
BEHIND = ("{}", "It is {}.", "**{}**", "- {}", "x{}y", "a\n{}", "(“{}”)")
"""Where names stand in sentences."""


TEXTS = st.lists(st.sampled_from(MARKUP), min_size=1, max_size=9).map("".join).filter(str.strip)


@given(TEXTS, st.sampled_from(BEHIND))
def test_markdown_reads_a_text_as_it_stands(text, sentence):
    words = " ".join(text.split())
    shown = MARKDOWN.parse(sentence.format(escape_markdown(text)))
    kinds = {
        kind
        for token in shown
        for kind in (token.type, *(child.type for child in token.children or ()))
    }
    allowed = {
        "paragraph_open",
        "inline",
        "paragraph_close",
        "text",
        "softbreak",
        "strong_open",
        "strong_close",
    }
    allowed |= {"bullet_list_open", "list_item_open", "list_item_close", "bullet_list_close"}
    assert kinds <= allowed, (kinds - allowed, escape_markdown(text))
    read = "".join(child.content for token in shown for child in token.children or ()).replace(
        JOINER, ""
    )
    assert words in read


@given(TEXTS)
def test_a_text_stays_in_its_cell_of_a_table(text):
    tokens = MARKDOWN.parse(f"| | |\n|---|---|\n| {escape_markdown(text)} | next |")
    cells = [token for token in tokens if token.type == "inline"][2:]
    assert [cell.content for cell in cells][1:] == ["next"]
    assert {child.type for child in cells[0].children} <= {"text"}


# After backslashes were read, the parsers of GitHub's Markdown and of Streamlit look at texts with these.
LATE = (
    r"(https?://|www(?=\.))([-.\w]+)([^ \t\r\n]*)",
    r"(?<![^\s\W])([-.\w+]+)@([-\w]+(?:\.[-\w]+)+)",
    r":material[/_]\w+:",
    r":\+1:|:-1:|:[\w-]+:",
)


@pytest.mark.parametrize(
    "name",
    ["http://e.vil", "HTTPS://e.vil", "www.e.vil", "WWW.e.vil", "a@e.vil", "mailto:a@e.vil", ":material/home:",
     ":smile:", ":+1:", "a&#64;e.vil", "http&#58;//e.vil", "::::a:::", ":a:b:c:"],
)  # fmt: skip
def test_no_address_and_no_icon_stays_whole(name):
    (paragraph,) = (
        token for token in MARKDOWN.parse(f"x {escape_markdown(name)} y") if token.type == "inline"
    )
    text = "".join(child.content for child in paragraph.children)
    assert text.replace(JOINER, "") == f"x {name} y"
    assert not any(re.search(pattern, text, re.IGNORECASE) for pattern in LATE), text


@pytest.mark.parametrize(
    "char", ["\x1b", "\x07", "\x9b", "\x00", "\u202e", "\u2066", "\ufeff", "\ud800"]
)
def test_nothing_drives_a_terminal_or_turns_a_line(char):
    assert single_line(f"a{char}b") == "a\ufffdb"
    assert escape_markdown(f"a{char}b") == "a\ufffdb"
    # Words that are spelled with joiners stay.
    assert single_line("می\u200cخواهم 👩\u200d🔬") == "می\u200cخواهم 👩\u200d🔬"


def test_an_end_that_would_be_written_as_0_gets_more_digits():
    assert points_between(0.0003, 0.038) == "+0.03 to +3.8"
    assert points_between(-0.038, -0.00004) == "−3.8 to −0.004"
    assert points_between(0.0003, 0.038, sign=False) == "0.03 to 3.8"
    assert points_between(0.0, 0.1) == "0.0 to +10.0"
