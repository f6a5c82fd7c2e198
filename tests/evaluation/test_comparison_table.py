"""The table of methods by scores is the same on the pages, in a shell and in the report."""

from __future__ import annotations

import math

import pytest

from calib.data import Predictions
from calib.evaluation.compare import compare
from calib.evaluation.comparison_table import MARKS, ScoreCell, score_rows, summary
from calib.formatting import fixed, number
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.registry import calibrator
from calib.ui.compare.scores import styled_scores
from tests.conftest import simulate


@pytest.fixture(scope="module")
def data() -> Predictions:
    logits, labels = simulate(n=600, n_classes=3)
    return Predictions(4 * logits, labels, ("a", "b", "c"))


@pytest.fixture(scope="module")
def table(data):
    calibration, test = data.split(0.5)
    methods = {name: calibrator(name) for name in ("temperature", "isotonic")}
    return compare({**methods, "apart": calibrator("isotonic", share_classes=False)}, calibration, test).table


def cell(**changes) -> ScoreCell:
    made = {"value": Interval(0.5, 0.4, 0.6), "sd": math.nan, "is_best": True, "verdict": "better"}  # fmt: skip
    return ScoreCell(**{**made, **changes})


def test_what_a_cell_says():
    assert cell().text() == "0.500 [0.400, 0.600] ★ ✓"
    assert cell(sd=0.012).text(intervals=False, spread=True) == "0.500 ± 0.012 ★ ✓"
    assert cell(verdict="worse", is_best=False).text(intervals=False) == "0.500 ✗"
    assert cell().text(fixed, {"best": "*"}) == "0.5000 [0.4000, 0.6000] *"
    absent = cell(value=UNKNOWN, is_best=False, verdict="")
    assert (absent.text(), absent.text(fixed)) == ("–", "-")


def test_pages_and_shell_say_the_same(table):
    rows = score_rows(table, ["NLL", "ECE"])
    drawn = styled_scores(table, ["NLL", "ECE"], intervals=True).to_html()
    printed = summary(table)
    for row in rows:
        assert row.title in drawn and row.title in printed
        for found in row.cells.values():
            assert found.text() in drawn
            assert found.text(fixed, {"best": "*"}) in printed
            assert number(found.value.low) in drawn and fixed(found.value.low) in printed
    assert any(mark in drawn for mark in MARKS.values())


def test_a_method_that_failed_says_why(data, table):
    missing = table[table["method"] == "apart"].assign(value=math.nan, note="did not converge")
    (row,) = score_rows(missing, ["NLL"])
    assert row.failed == "did not converge"
    assert "did not converge" in summary(missing)
    assert not any(row.failed for row in score_rows(table, ["NLL"]))
