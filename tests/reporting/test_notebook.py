"""Comparisons, recommendations and reports show themselves in notebooks, with every text escaped."""

from __future__ import annotations

import sys

import pytest

import calib
from calib.auditing.compare import compare
from calib.data import Predictions
from calib.reporting import report_from_comparison
from tests.conftest import simulate
from tests.reporting.conftest import HOSTILE as NAMES
from tests.reporting.conftest import Reading

HOSTILE = NAMES[0]


@pytest.fixture(scope="module")
def results():
    logits, labels = simulate(400, 3)
    data = Predictions(logits, labels, (HOSTILE, "b", "c"), name=HOSTILE)
    parts, methods = (
        data.split(0.5),
        {HOSTILE: calib.calibrator("temperature"), "platt": calib.calibrator("platt")},
    )
    found = compare(methods, *parts)
    return {"comparison": found, "report": report_from_comparison(found, data, parts, methods),
            "recommendation": found.recommendation}  # fmt: skip


@pytest.mark.parametrize("name", ["comparison", "report", "recommendation"])
def test_each_shows_its_verdict_and_no_markup_of_a_name(results, name):
    document = results[name]._repr_html_()
    shown = Reading(document)
    assert "<script" not in document and "<img" not in document
    assert "NLL" in shown.text
    rows = [row for table in shown.tables.values() for row in table]
    assert len(rows) == (0 if name == "recommendation" else 5)


def test_all_show_their_text_without_jinja(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "calib.reporting.make", None)
    assert results["comparison"]._repr_html_() is None
