from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import logit

from calib.diagnostics.consistency import binned_consistency, corp_consistency, smooth_consistency
from calib.diagnostics.corp import corp_curve
from calib.diagnostics.histogram import confidence_histogram
from calib.diagnostics.reliability import reliability_curve
from calib.diagnostics.smooth_reliability import smooth_curve
from calib.numerics import softmax
from calib.plots.data import figure_data
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_lines import corp_diagram, smooth_diagram
from calib.plots.style import alt_text, method_style

STYLE = method_style("temperature")
DEGENERATE = [
    (np.array([1.0]), np.array([True])),
    (np.array([0.0]), np.array([False])),
    (np.full(20, 0.8), np.zeros(20, bool)),
    (np.ones(50), np.arange(50) % 2 == 0),
    (np.array([1e-30, 1 - 1e-16]), np.array([True, False])),
]


def named(fig, name):
    return next(trace for trace in fig.data if trace.name == name)


@pytest.fixture(scope="module")
def pair(overconfident):
    logits, labels = overconfident
    probs = softmax(logits)
    return probs.max(axis=1), probs.argmax(axis=1) == labels


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_lines_lie_where_the_curves_are_and_carry_their_numbers(pair, scale) -> None:
    curve, smooth, steps = reliability_curve(*pair), smooth_curve(*pair), corp_curve(*pair)
    limits = (0.01, 0.999)
    for fig, name, line in (
        (smooth_diagram(smooth, curve, STYLE, scale, limits=limits), "smooth", smooth),
        (corp_diagram(steps, curve, STYLE, scale, limits=limits), "isotonic", steps),
    ):
        place = (lambda values: values) if scale == "linear" else logit
        np.testing.assert_allclose(named(fig, name).x, place(np.clip(line.confidence, *limits)))
        np.testing.assert_allclose(named(fig, name).y, place(np.clip(line.accuracy, *limits)))
        table = figure_data(fig).query(f"trace == '{name}'")
        np.testing.assert_allclose(table["confidence"], line.confidence, rtol=1e-5)
        np.testing.assert_allclose(table["accuracy"], line.accuracy, rtol=1e-5)


def test_they_have_the_axes_and_the_histogram_of_the_binned_diagram(pair) -> None:
    curve, histogram = reliability_curve(*pair), confidence_histogram(*pair)
    bins = reliability_diagram(curve, STYLE, histogram=histogram)
    for fig in (
        smooth_diagram(smooth_curve(*pair), curve, STYLE, histogram=histogram),
        corp_diagram(corp_curve(*pair), curve, STYLE, histogram=histogram),
    ):
        assert fig.layout.xaxis == bins.layout.xaxis
        assert fig.layout.yaxis == bins.layout.yaxis
        np.testing.assert_array_equal(named(fig, "confidences").y, named(bins, "confidences").y)
        assert 20 < len(alt_text(fig)) < 400


def test_the_band_lies_behind_and_its_numbers_can_be_taken(pair) -> None:
    curve, smooth, steps = reliability_curve(*pair), smooth_curve(*pair), corp_curve(*pair)
    bands = binned_consistency(curve, pair[0]), smooth_consistency(smooth, pair[0]), corp_consistency(pair[0])
    figures = (
        reliability_diagram(curve, STYLE, band=bands[0]),
        smooth_diagram(smooth, curve, STYLE, band=bands[1]),
        corp_diagram(steps, curve, STYLE, band=bands[2]),
    )
    for fig, band, line in zip(figures, bands, ("bins", "smooth", "isotonic"), strict=True):
        names = [trace.name for trace in fig.data]
        assert names.index("consistency band") < names.index(line)
        table = figure_data(fig).query("trace == 'consistency band'")
        np.testing.assert_allclose(table["high"], band.high[np.isfinite(band.high)], rtol=1e-5)


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize(("confidence", "correct"), DEGENERATE)
def test_degenerate_data_are_drawn(confidence, correct, scale) -> None:
    curve, smooth = reliability_curve(confidence, correct), smooth_curve(confidence, correct)
    steps = corp_curve(confidence, correct)
    first = smooth_diagram(smooth, curve, STYLE, scale, band=smooth_consistency(smooth, confidence))
    second = corp_diagram(steps, curve, STYLE, scale, band=corp_consistency(confidence))
    assert np.isfinite(named(second, "isotonic").y).all()
    assert np.isfinite(named(first, "smooth").y).any()


def test_many_rows_stay_small_figures(rng) -> None:
    confidence = rng.random(50_000)
    correct = rng.random(50_000) < confidence
    curve, smooth = reliability_curve(confidence, correct), smooth_curve(confidence, correct)
    for fig in (
        smooth_diagram(smooth, curve, STYLE, "logit", band=smooth_consistency(smooth, confidence)),
        corp_diagram(corp_curve(confidence, correct), curve, STYLE, "logit", band=corp_consistency(confidence)),
    ):
        assert len(fig.to_json()) < 100_000
        json.loads(fig.to_json())
