"""What notebooks show: every public result has HTML of its own, without scripts, with all names escaped."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.io
import pytest

import calib
from calib.data import Finding
from calib.data.load import from_outputs
from calib.formatting import number, percent
from calib.numerics import softmax
from calib.sklearn import ReliabilityDisplay
from tests.conftest import simulate
from tests.reporting.conftest import HOSTILE, Reading


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One of each, all of whose names are hostile."""
    logits, labels = simulate(n=400, n_classes=4)
    data = from_outputs(logits, labels, name=HOSTILE[0], class_names=HOSTILE)
    data = replace(data, findings=(Finding("warning", "x", HOSTILE[1], HOSTILE[2]),))
    calibration, test = data.split(0.5)
    fitted = calib.calibrator("temperature").fit(calibration.logits, calibration.labels)
    found = calib.compare_methods({HOSTILE[1]: fitted, "vector": calib.calibrator("vector")}, calibration, test)
    path = tmp_path_factory.mktemp("reports") / "report.html"
    return {
        "data": data,
        "calibrator": fitted,
        "comparison": found,
        "recommendation": found.recommendation,
        "curve": calib.reliability_curve(softmax(test.logits), test.labels),
        "report": calib.report(data, path=path, methods=["temperature"]),
    }


NAMES = ("data", "calibrator", "comparison", "recommendation", "curve", "report")


@pytest.mark.parametrize("name", NAMES)
def test_each_result_shows_itself_without_scripts_requests_or_elements_of_others(name, results):
    document = results[name]._repr_html_()
    reading = Reading(document)
    assert len(reading.text) > 20
    assert {element for element, _ in reading.elements} <= {
        "div", "style", "p", "strong", "b", "span", "bdi", "ul", "li", "table", "thead", "tbody", "tr", "th", "td",
    }  # fmt: skip
    for _, attributes in reading.elements:
        assert not [key for key in attributes if key.startswith("on") or key in ("src", "href", "xlink:href", "style")]
    (style,) = re.findall(r"<style>(.*?)</style>", document, re.DOTALL)
    assert "url" not in style and "@import" not in style


@pytest.mark.parametrize("name", NAMES)
def test_the_plain_text_of_each_is_short(name, results):
    assert len(repr(results[name])) < (2000 if name == "recommendation" else 400)


def test_numbers_are_those_of_the_results(results):
    data, curve, found = results["data"], results["curve"], results["comparison"]
    assert percent(data.accuracy) in Reading(data._repr_html_()).text
    assert f"ECE {number(curve.ece)}; " in Reading(curve._repr_html_()).text
    shown = Reading(found._repr_html_()).text
    assert (
        found.recommendation.sentences(dict(zip(found.table["method"], found.table["title"], strict=True)).get)[0]
        in shown
    )
    for value in found.table.loc[found.table["score"] == "NLL", "value"]:
        assert number(value) in shown
    assert number(results["calibrator"].temperature_, 4) in Reading(results["calibrator"]._repr_html_()).text


def test_a_parameter_that_was_changed_says_its_default():
    made = calib.calibrator("imax", n_bins=20)
    assert "20 (by default 15)" in Reading(made._repr_html_()).text and "not fitted yet" in made._repr_html_()


def test_every_method_shows_itself():
    for name in calib.METHODS:
        assert calib.METHODS[name].title in Reading(calib.calibrator(name)._repr_html_()).text


def test_data_of_every_kind_show_themselves():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(50, 400))
    outputs = calib.top_k.TopK.from_matrix(wide, k=5, labels=rng.integers(0, 400, 50))
    data = calib.Predictions(outputs, rng.integers(0, 400, 50), tuple(map(str, range(400))), kind="topk")
    assert "and 388 more" in data._repr_html_() and "50 rows" in repr(data)
    assert "0 rows" in repr(data.take([])) and data.take([])._repr_html_()
    pairs = from_outputs(rng.random(50), rng.random(50) < 0.5, kind="pairs")
    assert percent(pairs.correct.mean()) in Reading(pairs._repr_html_()).text


def test_one_class_of_a_curve_is_named(results):
    logits, labels = simulate(n=400, n_classes=4)
    curve = calib.reliability_curve(softmax(logits), labels, target=2)
    assert "class 2" in Reading(curve._repr_html_()).text


def test_without_the_extra_for_reports_the_plain_text_is_shown(results, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("calib.reporting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "markupsafe", None)
    assert results["data"]._repr_html_() is None
    assert results["calibrator"]._repr_html_() is None


def test_a_display_shows_itself_as_plotly_s_figure_does(monkeypatch):
    probs = np.random.default_rng(1).random(300)
    display = ReliabilityDisplay.from_predictions(probs > 0.4, probs, name=HOSTILE[1])
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype")
    shown = display._repr_mimebundle_()
    assert shown == display.figure_._repr_mimebundle_()
    assert "&lt;img" in shown["application/vnd.plotly.v1+json"]["layout"]["title"]["text"]
    assert not hasattr(display, "_repr_html_")


def test_the_bins_of_a_curve_are_in_its_table(results):
    curve = results["curve"]
    rows = next(iter(Reading(curve._repr_html_()).tables.values()))[1:]
    assert [row[0] for row in rows] == [f"{count:,}" for count in curve.count]
    assert [row[2].split(" ")[0] for row in rows] == [number(value) for value in curve.accuracy]
