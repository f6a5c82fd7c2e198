"""The table of methods: values, marks, hovers, and dots that lie on one axis."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from calib.evaluation import evaluate
from calib.evaluation.comparison_table import MARKS, differences
from calib.evaluation.describe import FREQUENCIES
from calib.evaluation.view import EVENT, TOP_LABEL
from calib.numerics import softmax
from calib.plots.methods_table import COLORS, methods_table
from calib.plots.style import method_style, text_color
from tests.conftest import compare_evaluations

FACTORS = {"identity": 1.0, "temperature": 0.5, "beta": 0.45, "isotonic": 0.55, "bbq": 0.02}


class Rows(HTMLParser):
    """Attributes and text of each element of a table, row by row."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, dict[str, str | None]]]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
            self.texts.append("")
        if self.rows:
            self.rows[-1].append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.texts:
            self.texts[-1] += f" {data.strip()}"


def compared(factors: dict[str, float]) -> pd.DataFrame:
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(1500, 3)) * 2
    labels = np.array([generator.choice(3, p=p) for p in softmax(logits / 2)])
    return compare_evaluations(
        {name: evaluate(softmax(logits * f), labels) for name, f in factors.items()}
    )


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return compared(FACTORS)


STYLES = {name: method_style(name) for name in FACTORS}


def test_rows_are_ordered_by_the_main_score_and_end_with_the_lines(table) -> None:
    html = Rows(methods_table(table, STYLES, TOP_LABEL, "beta", clickable=True))
    fits = [row[0][1].get("data-fit") for row in html.rows]
    expected = [row.method for row in differences(table, "NLL") if row.method in STYLES]
    expected.remove("identity")
    assert fits == [None, *expected, None, None]
    assert [row[0][1]["class"] for row in html.rows if row[0][1].get("data-fit") == "beta"] == [
        "chosen"
    ]
    assert FREQUENCIES.capitalize() in html.texts[-2]
    by_method = {row.method: row for row in differences(table, "NLL")}
    for method, text, row in zip(fits[1:-2], html.texts[1:-2], html.rows[1:-2], strict=True):
        claim = by_method[method]
        assert MARKS.get(claim.verdict, "") in text
        value = float(re.search(r"\d+\.\d+", text)[0])
        assert value == pytest.approx(claim.value, abs=0.006)
        (hover, *_) = [attrs["title"] for tag, attrs in row if tag == "td" and "title" in attrs]
        assert claim.verdict in hover and "95\u00a0%" in hover
        assert "e-" not in text and "e-" not in hover, "no exponents"


def test_dots_lie_on_their_intervals_in_the_order_of_the_values(table) -> None:
    html = Rows(methods_table(table, STYLES, TOP_LABEL))
    dots = {}
    widths = []
    for row in html.rows[1:-2]:
        circle = [attrs for tag, attrs in row if tag == "circle"]
        lines = [attrs for tag, attrs in row if tag == "line" and attrs.get("stroke-width")]
        title = row[1][1]["title"]
        if circle:
            x = float(circle[0]["cx"][:-1])
            low, high = (float(lines[0][end][:-1]) for end in ("x1", "x2"))
            assert 0 <= low <= x <= high <= 100
            dots[title] = x
            widths.append(high - low)
    values = {row.title: row.value for row in differences(table, "NLL")}
    order = sorted(dots, key=values.__getitem__)
    assert [dots[title] for title in order] == sorted(dots.values())
    assert min(widths) > 20, "the axis shows the intervals of the methods"
    assert "BBQ" not in dots, "a method far worse does not squeeze the others"
    assert any("→" in text for text in html.texts)


def test_the_best_method_is_on_the_axis_however_far_it_is_ahead() -> None:
    ahead = {"identity": 1.0, "temperature": 0.99, "beta": 1.001, "isotonic": 0.999, "bbq": 0.5}
    html = Rows(methods_table(compared(ahead), STYLES, TOP_LABEL, "bbq"))
    (best,) = [row for row in html.rows if row[0][1].get("class") == "chosen"]
    assert [attrs for tag, attrs in best if tag == "circle"]
    assert not any("←" in text for text in html.texts)


def test_a_hostile_name_is_text_and_a_confidence_alone_has_no_nll(table) -> None:
    hostile = table.replace({"title": {"Beta": '<b onclick="x">'}})
    lacks = (hostile["method"] == "isotonic") & (hostile["score"] == "NLL")
    hostile.loc[lacks, ["value", "low", "high", "difference"]] = math.nan
    html = methods_table(hostile, STYLES, EVENT, clickable=True)
    assert "<b onclick" not in html and "&lt;b onclick" in html
    assert "–" in html


def test_muted_marks_have_no_colour(table) -> None:
    green = f"color:{text_color(COLORS['better'])}"
    assert green in methods_table(table, STYLES, TOP_LABEL)
    muted = methods_table(table, STYLES, TOP_LABEL, muted=True)
    marks = re.findall('<span class="mark"><span(.*?)>', muted)
    assert marks and set(marks) == {""}


def test_the_end_of_a_title_is_left_out_unless_two_would_be_alike(table) -> None:
    names = {"Beta": "Isotonic (shared map)", "Temperature": "Temperature (shared map)"}
    html = Rows(methods_table(table.replace({"title": names}), STYLES, TOP_LABEL))
    written = " ".join(html.texts)
    assert "Isotonic (shared map)" in written, "there is another Isotonic"
    assert "Temperature" in written and "Temperature (shared map)" not in written
