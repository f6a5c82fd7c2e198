"""Reliability diagrams, their gaps and the histograms beneath them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from calib.diagnostics.histograms import confidence_histogram
from calib.diagnostics.reliability import reliability_curve
from calib.evaluation.view import EVENT
from calib.numerics import softmax
from calib.plots.annotations import figure_data
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits
from calib.plots.style import FRAME, method_style

STYLE = method_style("temperature")


def bins_trace(fig):
    return next(trace for trace in fig.data if trace.name == "bins")


@pytest.fixture(scope="module")
def curve(overconfident):
    logits, labels = overconfident
    return reliability_curve(softmax(logits), labels, n_bins=10, binning="equal_mass")


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_dots_lie_at_the_bins_means_with_their_intervals_and_numbers(curve, scale) -> None:
    limits = (0.0, 1.0) if scale == "linear" else (0.01, 0.999)
    fig = reliability_diagram(curve, STYLE, scale, limits=limits)
    trace, place = bins_trace(fig), np.array if scale == "linear" else logit
    np.testing.assert_allclose(trace.x, place(np.clip(curve.confidence, *limits)))
    np.testing.assert_allclose(trace.y, place(np.clip(curve.accuracy, *limits)))
    np.testing.assert_allclose(trace.y + trace.error_y.array, place(np.clip(curve.high, *limits)))
    np.testing.assert_allclose(
        trace.y - trace.error_y.arrayminus, place(np.clip(curve.low, *limits))
    )
    # A selected dot names its bin, and what can be taken are the numbers before they were placed.
    assert [row[0] for row in trace.customdata] == list(range(len(curve.count)))
    table = figure_data(fig).query("trace == 'bins'")
    np.testing.assert_array_equal(table["count"], curve.count)
    for column, values in (
        ("mean confidence", curve.confidence),
        ("accuracy", curve.accuracy),
        ("low", curve.low),
    ):
        np.testing.assert_allclose(table[column], values, rtol=1e-5)
    assert fig.layout.xaxis.range == fig.layout.yaxis.range
    assert fig.layout.yaxis.scaleanchor == "x"


def test_of_an_event_the_histogram_has_its_rows_above_and_the_others_below(rng) -> None:
    p = rng.beta(1, 12, 3000)
    happened = rng.random(3000) < p
    view = replace(EVENT, event_name="<i>default")
    curve = reliability_curve(p, happened, n_bins=10, binning="equal_mass")
    limits = common_limits([curve], view=view)
    assert curve.confidence.max() <= limits[1] < 1, "the axis ends where the bins do"
    assert common_limits([curve]) == (0, 1)
    fig = reliability_diagram(
        curve, STYLE, limits=limits, histogram=confidence_histogram(p, happened), view=view
    )
    bars = {trace.name: trace for trace in fig.data if trace.type == "bar"}
    assert min(bars[view.right].y) >= 0 >= max(bars[view.wrong].y)
    counted = figure_data(fig).groupby("trace")["count"].sum()
    assert counted[view.right] == pytest.approx(happened.sum())
    assert counted[view.wrong] == pytest.approx((~happened).sum())
    assert "&lt;i&gt;default" in fig.layout.xaxis.title.text, "a name from outside is text"
    dots = figure_data(fig).query("trace == 'bins'")
    np.testing.assert_allclose(dots["mean predicted risk"], curve.confidence, rtol=1e-5)
    np.testing.assert_allclose(dots["observed rate"], curve.accuracy, rtol=1e-5)


@pytest.mark.parametrize("height", [380, 440, 580])
def test_names_of_rows_and_means_lie_beside_the_bars(rng, height: int) -> None:
    risk = rng.beta(1, 60, 4000)
    happened = rng.random(4000) < risk
    histogram, curve = confidence_histogram(risk, happened), reliability_curve(risk, happened)
    fig = reliability_diagram(curve, STYLE, histogram=histogram, height=height, view=EVENT)
    low, high = fig.layout.yaxis2.range
    bottom, top = fig.layout.yaxis2.domain
    pixels = (top - bottom) * (height - FRAME) / (high - low)
    ends = [max(trace.y) for trace in fig.data if trace.name == EVENT.right]
    ends += [-min(trace.y) for trace in fig.data if trace.name == EVENT.wrong]
    assert ends == [1, 1] and min(high - 1, -1 - low) * pixels >= 14  # a line of 11 pixels' letters
    means = [trace for trace in fig.data if trace.name in (EVENT.mean_said, EVENT.outcome)]
    assert len(means) == 2 and all(max(np.abs(trace.y)) < 1.1 for trace in means)
    assert "0" not in fig.layout.yaxis2.ticktext, "it would touch the others"


def test_one_confidence_has_one_bar() -> None:
    said, correct = np.array([0.875] * 6 + [0.97] * 4), np.arange(10) % 2 == 0
    histogram, curve = confidence_histogram(said, correct), reliability_curve(said, correct)
    fig = reliability_diagram(curve, STYLE, histogram=histogram)
    (bars,) = [trace for trace in fig.data if trace.type == "bar"]
    np.testing.assert_allclose(np.sort(bars.y)[-2:], [4 / 6, 1])
    assert (np.asarray(bars.y) > 1e-9).sum() == 2
