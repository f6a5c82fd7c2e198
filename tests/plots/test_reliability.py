"""Reliability diagrams: square, with dots at the bins' means, and the rows beneath on one scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from calib.diagnostics.reliability import diagram_parts
from calib.evaluation.view import EVENT, TOP_LABEL
from calib.numerics import softmax
from calib.plots.annotations import figure_data
from calib.plots.reliability import (
    MARGINS,
    SIDE,
    common_limits,
    reliability_diagram,
    usual_scale,
)
from calib.plots.style import FRAME, method_style

STYLE = method_style("temperature")


def traces(fig):
    return {trace.name: trace for trace in fig.data}


@pytest.fixture(scope="module")
def parts(overconfident):
    logits, labels = overconfident
    probs = softmax(logits)
    return diagram_parts(probs.max(axis=1), probs.argmax(axis=1) == labels, n_bins=10)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_dots_lie_at_the_bins_means_with_their_intervals_and_numbers(parts, scale) -> None:
    limits = (0.0, 1.0) if scale == "linear" else (0.01, 0.999)
    fig = reliability_diagram(parts, STYLE, scale=scale, limits=limits)
    dots, curve = traces(fig)["bins"], parts.curve
    place = np.array if scale == "linear" else logit
    np.testing.assert_allclose(dots.x, place(np.clip(curve.confidence, *limits)))
    np.testing.assert_allclose(dots.y, place(np.clip(curve.accuracy, *limits)))
    np.testing.assert_allclose(dots.y + dots.error_y.array, place(np.clip(curve.high, *limits)))
    np.testing.assert_allclose(dots.y - dots.error_y.arrayminus, place(np.clip(curve.low, *limits)))
    assert dots.mode == "markers", "no line joins the dots"
    # A selected dot names its bin, and what can be taken are the numbers before they were placed.
    assert [row[0] for row in dots.customdata] == list(range(len(curve.count)))
    table = figure_data(fig).query("trace == 'bins'")
    np.testing.assert_array_equal(table["count"], curve.count)
    for column, values in (
        ("mean confidence", curve.confidence),
        ("accuracy", curve.accuracy),
        ("low", curve.low),
    ):
        np.testing.assert_allclose(table[column], values, rtol=1e-5)


@pytest.mark.parametrize("side", [252, 336, 495, SIDE])
def test_it_is_square_at_its_width_over_a_histogram_of_90_pixels(parts, side: int) -> None:
    fig = reliability_diagram(parts, STYLE, side=side)
    layout = fig.layout
    pixels = layout.height - FRAME
    across = side - layout.margin.l - layout.margin.r
    assert (layout.yaxis.domain[1] - layout.yaxis.domain[0]) * pixels == pytest.approx(across)
    assert layout.yaxis.scaleanchor == "x" and layout.xaxis.range == layout.yaxis.range
    assert (layout.yaxis2.domain[1] - layout.yaxis2.domain[0]) * pixels >= 90


def test_the_raw_model_stands_behind_on_the_same_axes(parts, rng) -> None:
    confidence = rng.uniform(0.55, 0.99, 500)
    calibrated = diagram_parts(confidence, rng.random(500) < confidence)
    fig = reliability_diagram(calibrated, STYLE, behind=parts)
    order = [trace.name for trace in fig.data]
    assert order.index("raw") < order.index("bins")
    limits = common_limits([parts, calibrated])
    assert tuple(fig.layout.xaxis.range) == limits
    for curve in (parts.curve, calibrated.curve):
        for values in (curve.confidence, curve.accuracy):
            assert limits[0] <= values.min() and values.max() <= limits[1]


def test_a_few_risks_of_a_rare_event_do_not_stretch_the_axes(rng) -> None:
    risk = np.r_[rng.beta(1, 20, 1960), rng.uniform(0.7, 0.95, 40)]
    happened = rng.random(2000) < risk / 2
    low, high = common_limits([diagram_parts(risk, happened)])
    assert low == 0
    assert high <= 0.5, "two percent of the rows lie beyond"
    assert high >= diagram_parts(risk, happened).curve.confidence.max()


@pytest.mark.parametrize("view", [EVENT, TOP_LABEL])
@pytest.mark.parametrize(("predicted", "direction"), [(0.7, "high"), (0.4, "low")])
def test_the_text_of_a_diagram_names_the_direction_of_its_gap(view, predicted, direction) -> None:
    parts = diagram_parts(np.full(100, predicted), np.arange(100) < 50)
    gap = abs(predicted - 0.5)
    assert (
        f", too {direction} by {gap:.3f}, "
        in reliability_diagram(parts, STYLE, view=view).layout.meta["alt"]
    )


def test_scores_of_few_levels_have_a_dot_for_each_and_a_share_of_0_stands_at_its_end(rng) -> None:
    levels = np.array([0.0, 0.1, 0.3, 0.5, 0.8, 1.0])
    risk = np.repeat(levels, [200, 3, 90, 40, 7, 60])
    happened = rng.random(400) < risk
    parts = diagram_parts(risk, happened)
    np.testing.assert_allclose(parts.curve.confidence, levels)
    assert parts.curve.count.tolist() == [200, 3, 90, 40, 7, 60]
    dots = traces(reliability_diagram(parts, STYLE, view=EVENT))["bins"]
    assert (dots.y[0], dots.y[-1]) == (0, 1)
    high = dots.error_y.array[0]
    assert high == pytest.approx(1.96**2 / (200 + 1.96**2), abs=1e-3), "Wilson's upper end at 0"
    assert diagram_parts(risk, happened, n_bins=3).curve.count.size <= 3, "a requested number holds"


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_rows_and_events_have_one_scale_and_none_pile_up_at_an_end(rng, scale) -> None:
    risk = np.r_[rng.beta(2, 40, 3000), np.full(60, 0.0), np.full(4, 0.97)]
    happened = rng.random(3064) < risk
    view = replace(EVENT, event_name="<i>default")
    parts = diagram_parts(risk, happened)
    limits = (0.001, 0.2)
    fig = reliability_diagram(parts, STYLE, scale=scale, limits=limits, view=view)
    inside = (risk > limits[0]) & (risk < limits[1])
    table = figure_data(fig).groupby("trace")["rows"].sum()
    assert table["rows"] == pytest.approx(inside.sum(), abs=3)
    assert table[view.wording.positive_label] == pytest.approx(happened[inside].sum(), abs=3)
    bars = {trace.name: trace for trace in fig.data if trace.type == "bar"}
    for name in ("rows", view.wording.positive_label):
        counts = [row[2] for row in bars[name].customdata]
        np.testing.assert_allclose(np.square(bars[name].y), counts, rtol=1e-4, atol=1e-4)
    ticks = [int(text.replace(",", "")) for text in fig.layout.yaxis2.ticktext]
    np.testing.assert_allclose(np.square(fig.layout.yaxis2.tickvals), ticks)
    written = " ".join(note.text for note in fig.layout.annotations)
    assert f"{(~inside).sum()} beyond the axis" in written and "3,064 rows" in written
    assert "&lt;i&gt;default" in fig.layout.xaxis.title.text, "a name from outside is text"


def test_axes_are_linear_unless_the_event_is_rare(rng) -> None:
    for rate, scale in ((0.005, "logit"), (0.06, "linear"), (0.97, "linear")):
        risk = np.full(4000, rate)
        curve = diagram_parts(risk, np.arange(4000) < 4000 * rate).curve
        assert usual_scale(curve, EVENT) == scale
        assert usual_scale(curve, TOP_LABEL) == "linear"


def test_a_few_rows_far_above_all_dots_do_not_squeeze_the_axes(rng) -> None:
    risk = np.r_[rng.beta(1, 20, 1970), np.linspace(0.3, 0.95, 30)]
    parts = diagram_parts(risk, rng.random(2000) < 0.6 * risk)
    highest = max(parts.curve.confidence.max(), parts.curve.high.max())
    assert highest < 0.3
    low, high = common_limits([parts])
    assert low == 0 and highest <= high <= 0.5


def test_the_isotonic_curve_is_drawn_where_it_lies_on_the_axes(parts) -> None:
    limits = (0.6, 0.95)
    line = traces(reliability_diagram(parts, STYLE, limits=limits))["isotonic"]
    expected = (parts.line.accuracy >= 0.6) & (parts.line.accuracy <= 0.95)
    expected &= (parts.line.confidence >= 0.6) & (parts.line.confidence <= 0.95)
    drawn = np.isfinite(np.array(line.y, dtype=float))
    np.testing.assert_array_equal(drawn, expected)
    np.testing.assert_allclose(np.array(line.y, float)[drawn], parts.line.accuracy[expected])


def test_one_confidence_has_one_bar() -> None:
    confidence, correct = np.array([0.875] * 6 + [0.97] * 4), np.arange(10) % 2 == 0
    parts = diagram_parts(confidence, correct)
    bars = traces(reliability_diagram(parts, STYLE, limits=(0, 1)))["rows"]
    np.testing.assert_allclose(np.sort(np.square(bars.y))[-2:], [4, 6])
    assert (np.asarray(bars.y) > 1e-6).sum() == 2


def test_the_lowest_tick_is_clear_of_the_text_beneath_it_on_a_phone(parts) -> None:
    """On a phone of 420 pixels the page gives the figure a width of 388 and the height that keeps its square."""
    fig = reliability_diagram(parts, STYLE)
    layout = fig.layout
    plot = (layout.height - FRAME) / (SIDE - MARGINS) * (388 - MARGINS)
    gap = plot * (layout.yaxis.domain[0] - layout.yaxis2.domain[1])
    above = [note for note in layout.annotations if note.yref == "y2 domain"]
    assert len(above) == 2
    highest = max(note.yshift + 1.3 * note.font.size for note in above)
    dot = 9 / 2
    assert gap - dot >= highest
    first, second = sorted(note.yshift for note in above)
    assert second - first >= 1.25 * above[0].font.size, "the two lines are apart"
