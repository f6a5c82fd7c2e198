"""Figures show the numbers that they were given, where their axes say."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from calib.auditing.findings import GroupFinding
from calib.diagnostics.binning import binning_picture
from calib.diagnostics.calibration_maps import balanced_edges, class_pairs
from calib.diagnostics.gaps import by_band
from calib.diagnostics.histograms import frequencies, threshold_counts
from calib.diagnostics.over_under import over_under_confidence
from calib.diagnostics.sequential_tests import batches_of, sequential_tests
from calib.evaluation.view import EVENT, TOP_LABEL
from calib.metrics import risk_model
from calib.metrics.bootstrap import Interval
from calib.numerics import sigmoid
from calib.plots import alt_text, figure_data
from calib.plots.axes import from_scale
from calib.plots.binning import bins_over_densities
from calib.plots.decisions import dragged_to, threshold_chart
from calib.plots.groups import forest, is_too_low
from calib.plots.latent import latent_function
from calib.plots.maps import MapLine, MapPicture, calibration_maps
from calib.plots.monitoring import e_value_chart
from calib.plots.over_under import band_chart, ratio_to_odds
from calib.plots.risk_model import risk_limits, risk_model_diagram, risk_scale
from calib.plots.style import GUIDE, method_style
from tests.conftest import simulate
from tests.diagnostics.conftest import evaluation
from tests.plots.conftest import traces
from tests.plots.zoo import halved, map_picture, rails_of

pytestmark = pytest.mark.usefixtures("few_simulations")

RAW, STYLE = method_style("identity"), method_style("isotonic")
GRID = np.linspace(-4, 4, 81)


def test_bins_have_their_edges_and_their_pairs() -> None:
    given = {"R&D <b>": (np.array([-1.0, 2.0]), np.array([0.1, 0.4, 0.9]))}
    picture = binning_picture(*simulate(500, 6), n_bins=8, fitted_bins=given)
    rails = rails_of(picture, "R&D <b>")
    fig = bins_over_densities(picture.density, rails)
    table = figure_data(fig)
    for name, bins, _ in rails:
        (bar,) = [trace for trace in traces(fig, name) if trace.type == "bar"]
        np.testing.assert_allclose(np.array(bar.base[1:], float), bins.edges)
        np.testing.assert_allclose(np.add(np.array(bar.base, float), bar.x)[:-1], bins.edges)
        assert (bar.base[0], bar.base[-1] + bar.x[-1]) == pytest.approx(fig.layout.xaxis.range)
        rows = table[table["trace"] == name]
        assert rows["pairs"].tolist() == bins.count.tolist()
        assert rows["share"].sum() == pytest.approx(1, abs=1e-5)
        np.testing.assert_allclose(
            rows["representative"].astype(float), bins.representatives, rtol=1e-5
        )


def test_the_ratio_is_drawn_where_it_was_given_beside_the_odds(rng) -> None:
    confidence = rng.beta(8, 2, 2000)
    correct = rng.random(2000) < confidence
    known = over_under_confidence(
        [evaluation(confidence**0.25, correct), evaluation(confidence, correct)]
    )
    fig = ratio_to_odds(list(zip(("raw", "<i>"), known, (RAW, STYLE), strict=True)))
    table = figure_data(fig).set_index("trace")
    for place, (name, result) in enumerate(zip(("raw", "<i>"), known, strict=True)):
        assert table.loc[name, ["value", "low", "high"]].tolist() == pytest.approx(
            list(result.ratio), rel=1e-5
        )
        (dot,) = [trace for trace in traces(fig, name) if trace.customdata is not None]
        assert dot.x[0] == result.ratio.value
        assert dot.x[0] + dot.error_x.array[0] == pytest.approx(result.ratio.high)
        assert place < dot.y[0] < place + 0.5
        odds = correct.sum() / (~correct).sum()
        assert table.loc[f"{name}, odds", "odds"] == pytest.approx(odds, rel=1e-5)


def test_every_group_is_drawn_at_its_gap_and_those_that_are_off_are_coloured() -> None:
    named = ("<b>low", -0.084, "problem"), ("fine", 0.01, "fine"), ("high", 0.03, "problem")
    groups = [
        GroupFinding(
            name, 753, 0.14, 0.056, Interval(gap, gap - 0.02, gap + 0.02), severity, ("sex",), 42
        )
        for name, gap, severity in named
    ]
    event = forest(groups, 32, EVENT, overall=-0.017)
    confidence = forest(groups, 32, TOP_LABEL)
    for place, (name, gap, _) in enumerate(named):
        (mark,) = traces(event, name)
        assert mark.x[0] == pytest.approx(100 * gap)
        assert mark.x[0] + mark.error_x.array[0] == pytest.approx(100 * gap + 2)
        assert place < mark.y[0] < place + 0.5
    colors = [
        traces(fig, name)[0].marker.color for fig in (event, confidence) for name, *_ in named
    ]
    assert (
        colors[0] == colors[3] != colors[2] == colors[5]
    )  # above zero: too high, or overconfident
    assert colors[1] == colors[4] == GUIDE
    texts = [text.text for text in event.layout.annotations]
    assert texts.count("753") == texts.count("42") == 3
    assert "joint over 32 groups" in event.layout.xaxis.title.text
    (dotted,) = [trace for trace in event.data if trace.line.dash == "dot"]
    np.testing.assert_allclose(dotted.x, -1.7)


@pytest.mark.parametrize(("gap", "low"), [(0.09, False), (0.01, True), (-0.01, True)])
def test_a_group_has_the_colour_of_its_side_of_the_gap_of_all_rows(gap: float, low: bool) -> None:
    group = GroupFinding("a", 753, 0.1, 0.2, Interval(gap, gap - 0.1, gap + 0.1), "problem")
    too_low = traces(forest([replace(group, gap=Interval(-0.5, -0.6, -0.4))], 2, EVENT), "a")
    (mark,) = traces(forest([group], 2, EVENT, overall=0.05), "a")
    assert (mark.marker.color == too_low[0].marker.color) == low
    (answers,) = traces(forest([group], 2, TOP_LABEL, overall=0.05), "a")
    assert answers.marker.color == mark.marker.color
    assert is_too_low(group, 0.05) == low


def test_the_headings_of_the_columns_of_groups_stand_beneath_the_tool_bar() -> None:
    group = GroupFinding("a", 753, 0.14, 0.056, Interval(-0.1, -0.2, 0.0), "fine", ("sex",), 42)
    for n in (1, 18):
        layout = forest([group] * n, 32, EVENT).layout
        (heading,) = [text for text in layout.annotations if text.text and "events" in text.text]
        first, _ = sorted(layout.yaxis.range)
        rows = abs(layout.yaxis.range[1] - layout.yaxis.range[0])
        plot = layout.height - layout.margin.t - layout.margin.b
        above = heading.yshift - plot * (heading.y - first) / rows  # of the plot
        top = layout.margin.t - above - 0.65 * heading.font.size
        assert top >= 24  # plotly's buttons


def test_both_lines_of_the_title_of_groups_stand_beneath_the_tick_labels() -> None:
    group = GroupFinding("a", 753, 0.14, 0.056, Interval(-0.1, -0.2, 0.0), "fine", ("sex",), 42)
    fig = forest([group], 32, EVENT)
    axis, line = fig.layout.xaxis, 1.3  # heights of lines in font sizes
    assert axis.title.standoff > 0
    beneath = axis.ticklen + line * 12 + axis.title.standoff + 2 * line * 14
    assert beneath <= fig.layout.margin.b


def test_the_dots_of_a_method_add_up_to_its_gap_and_empty_bands_are_left_out(rng) -> None:
    confidence = 0.5 + rng.random(500) / 2
    correct = rng.random(500) < confidence**3
    before, after = (
        by_band(evaluation(c, correct)) for c in (confidence, np.maximum(confidence**2, 0.5))
    )
    fig = band_chart([("raw", before, RAW), ("<b>", after, STYLE)])
    table = figure_data(fig)
    adds = table.groupby("trace")["adds"].sum()
    assert adds["raw"] == pytest.approx(confidence.mean() - correct.mean(), rel=1e-4)
    assert adds["<b>"] == pytest.approx(
        np.maximum(confidence**2, 0.5).mean() - correct.mean(), rel=1e-4
    )
    assert table["band"].unique().tolist() == [
        "0.5 to 0.7",
        "0.7 to 0.9",
        "0.9 to 0.99",
        "0.99 to 1",
    ]
    drawn = np.concatenate([dots.x for dots in fig.data if dots.name])
    np.testing.assert_allclose(100 * table["adds"], drawn, rtol=1e-3)
    assert "in points" in fig.layout.xaxis.title.text


@pytest.fixture(scope="module")
def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of class 1 and whether it is the label."""
    return class_pairs(*simulate(300, 2))


@pytest.fixture(scope="module")
def picture(pairs) -> MapPicture:
    return map_picture(
        "R&D <b>x", "rank", GRID, *pairs, frequencies(*pairs, balanced_edges(*pairs, 6))
    )


def test_maps_lie_at_the_ranks_of_their_scores(picture, pairs) -> None:
    fig = calibration_maps(picture, [MapLine("raw", STYLE, expit(GRID / 2))])
    (raw,), (truth,) = traces(fig, "raw"), traces(fig, "truth")
    # Share of the pairs below each log-odds, with half of those at it.
    below, upto = (
        np.searchsorted(np.sort(pairs[0]), GRID, side=side) for side in ("left", "right")
    )
    np.testing.assert_allclose(raw.x, (below + upto) / 600, atol=1 / 300 + 1e-9)
    np.testing.assert_allclose(raw.y, expit(GRID / 2))
    np.testing.assert_allclose(truth.y, expit(GRID))
    assert {"raw", "truth"} <= {re.sub("<[^>]*>", "", note.text) for note in fig.layout.annotations}
    assert "<b>" not in fig.layout.yaxis.title.text


def test_the_change_of_a_map_is_map_minus_raw_in_points(picture) -> None:
    fig = calibration_maps(picture, [MapLine("half", STYLE, expit(GRID / 2))], "change")
    (half,), (dots,) = traces(fig, "half"), traces(fig, "frequency")
    np.testing.assert_allclose(half.y, 100 * (expit(GRID / 2) - expit(GRID)))
    seen = picture.frequencies
    np.testing.assert_allclose(dots.y, 100 * (seen.frequency - expit(seen.score)))
    assert fig.layout.yaxis.range[0] < min(half.y) and max(half.y) < fig.layout.yaxis.range[1]


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_whiskers_are_the_intervals_of_the_frequencies(picture, scale) -> None:
    fig = calibration_maps(picture, [MapLine("raw", STYLE, expit(GRID))], scale)
    (dots,) = traces(fig, "frequency")
    seen = picture.frequencies
    low, high = fig.layout.yaxis.range
    ends = (dots.y - dots.error_y.arrayminus, dots.y, dots.y + dots.error_y.array)
    for end, expected in zip(ends, (seen.low, seen.frequency, seen.high), strict=True):
        if scale == "linear":
            np.testing.assert_allclose(end, expected)
        else:
            inside = (expected > expit(low) * 2) & (expected < 1 - expit(low) * 2)
            np.testing.assert_allclose(np.asarray(end)[inside], logit(expected[inside]))
            assert (np.asarray(end) >= low).all() and (np.asarray(end) <= high).all()


def test_latent_curves_and_bands_are_those_given() -> None:
    curve = halved(np.linspace(-12, 0, 50))
    fig = latent_function([("GPcalib", curve, STYLE)], RAW)
    drawn = {
        "identity": curve.prior,
        "temperature": curve.temperature,
        "truth": curve.truth,
        "GPcalib": curve.mean,
    }
    for name, values in drawn.items():
        (line,) = traces(fig, name)
        np.testing.assert_array_equal((line.x, line.y), (curve.inputs, values))
    wide, narrow = fig.data[:2]
    np.testing.assert_allclose(wide.y[:50], curve.mean - 2 * curve.sd)
    np.testing.assert_allclose(narrow.y[50:], (curve.mean + curve.sd)[::-1])
    (points,) = traces(fig, "inducing points of GPcalib")
    np.testing.assert_allclose(points.y, np.interp(curve.inducing, curve.inputs, curve.mean))
    np.testing.assert_allclose(
        points.error_y.array, np.interp(curve.inducing, curve.inputs, curve.sd)
    )


def test_the_e_values_and_the_batch_of_the_alarm_are_shown() -> None:
    generator = np.random.default_rng(2)
    probs = generator.beta(1, 6, 4000)
    came = generator.random(4000) < np.minimum(1.6 * probs, 1.0)
    found = sequential_tests(probs, came, *batches_of(4000, size=100))
    fig = e_value_chart(found, STYLE)
    assert figure_data(fig)["e value"].iloc[len(found) - 1] == pytest.approx(
        np.exp(found.log_e[-1]), rel=1e-4
    )
    assert f"alarm at batch {found.alarm + 1}" in alt_text(fig)
    assert fig.layout.shapes[0].y0 == pytest.approx(20)
    assert fig.layout.yaxis.type == "log"
    assert found.log_e[-1] > 2 * np.log(20), "the line ends far from the limit"
    (limit,) = [note for note in fig.layout.annotations if "alarm" in note.text]
    assert limit.xanchor == "right", "its name does not lie on the line"


def curve_of(rate: float):
    """The calibration curve of a risk model of an event with this rate."""
    rng = np.random.default_rng(3)
    risk = sigmoid(np.log(rate / (1 - rate)) + rng.normal(0, 1.2, 3000))
    return risk_model(risk, rng.random(3000) < risk, n_resamples=0).curve


def test_a_rare_event_has_axes_of_log_odds_that_hold_every_risk_and_numbers_are_those_of_the_curve() -> (
    None
):
    rare, usual = curve_of(0.005), curve_of(0.4)
    assert (risk_scale(rare), risk_scale(usual)) == ("logit", "linear")
    low, high = risk_limits([rare], "logit")
    assert low <= rare.risk[0] and rare.risk[-1] <= high
    assert "0.01" in risk_model_diagram(rare, STYLE).layout.xaxis.ticktext
    fig = risk_model_diagram(usual, STYLE)
    assert tuple(fig.layout.xaxis.range) == (0, 1)
    spline = figure_data(fig).query("trace == 'spline'")
    for column, values in (
        ("predicted risk", usual.risk),
        ("low", usual.low),
        ("observed rate", usual.spline),
    ):
        np.testing.assert_allclose(spline[column], values, rtol=1e-5)


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("threshold", [0.0, 0.02, 0.5, 1.0])
def test_bars_are_the_rows_and_those_below_the_threshold_are_pale(rng, scale, threshold) -> None:
    risk = np.r_[rng.beta(1, 5, 300), 0.0, 1.0]
    event = rng.random(302) < risk
    counts = threshold_counts(risk, event, threshold, scale)
    fig = threshold_chart(counts, STYLE, EVENT, "act")
    (line,) = fig.layout.shapes
    marked = threshold_chart(counts, STYLE, EVENT, "act", (0.05, 0.4)).data[-1].x
    assert from_scale(np.array(marked), scale) == pytest.approx([0.05, 0.4])
    assert line.x0 == line.x1 == counts.at and np.isfinite(line.x0)
    assert fig.layout.xaxis.range[0] < line.x0 < fig.layout.xaxis.range[1]
    for bars, rows in zip(fig.data, (event, ~event), strict=True):
        full = np.array([not color.startswith("rgba") for color in bars.marker.color])
        number = np.array([told[-1] for told in bars.customdata], dtype=float)
        assert number.sum() == rows.sum()
        assert number[full].sum() == (risk[rows] >= threshold).sum()
    assert f"act at or above {100 * threshold:.4g} %" in alt_text(fig)
    away = "right" if line.x0 < np.mean(fig.layout.xaxis.range) else "left"
    names = [note.xanchor for note in fig.layout.annotations if "event" in note.text]
    assert names == [away, away], "no name lies on the line"


def test_a_threshold_is_dragged_on_the_axis_of_the_figure() -> None:
    assert dragged_to(float(np.log(0.2 / 0.8)), "logit") == pytest.approx(0.2)
    assert dragged_to(0.3, "linear") == pytest.approx(0.3)
    assert (dragged_to(-40.0, "logit"), dragged_to(1.7, "linear")) == (1e-4, 1 - 1e-4)
