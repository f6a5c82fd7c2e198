"""Parts of a layout, against plotly's own ways to set them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logit

from calib.plots.annotations import overlay_styles, short_names, spread
from calib.plots.axes import (
    LEAST,
    crowded,
    from_scale,
    log_axis,
    logit_ticks,
    on_scale,
    probability_axis,
    probability_limits,
    regrid,
    span,
)
from calib.plots.style import contrast, method_style, set_layout, set_x, set_y


def naive_regrid(edges: np.ndarray, counts: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Spread each bin over 20,000 points and count them."""
    points = [np.linspace(a, b, 20_001)[:-1] + (b - a) / 40_000 for a, b in pairwise(edges)]
    return sum(c * np.histogram(p, grid)[0] / 20_000 for c, p in zip(counts, points, strict=True))


def test_regrid_agrees_with_spreading_points(rng: np.random.Generator) -> None:
    edges = np.sort(np.r_[0, rng.random(6), 1])
    counts = rng.integers(0, 100, 7)
    grid = np.linspace(0, 1, 14)
    np.testing.assert_allclose(regrid(edges, counts, grid), naive_regrid(edges, counts, grid), atol=0.05)


@given(arrays(float, 6, elements=st.floats(0, 1)), arrays(int, 5, elements=st.integers(0, 1000)))
def test_regrid_keeps_the_total_also_of_bins_without_width(edges: np.ndarray, counts: np.ndarray) -> None:
    cells = regrid(np.sort(edges), counts, np.linspace(0, 1, 41))
    assert cells.sum() == pytest.approx(counts.sum(), rel=1e-6, abs=1e-6)


def test_logit_scale_is_the_logit_and_clips() -> None:
    limits = (0.1, 0.99)
    np.testing.assert_allclose(on_scale(np.array([0.1, 0.5, 0.99]), "logit", limits), logit([0.1, 0.5, 0.99]))
    np.testing.assert_allclose(on_scale(np.array([0.0, 1.0]), "logit", limits), logit(limits))
    np.testing.assert_allclose(from_scale(np.array([-3.0, 2.0]), "logit"), expit([-3.0, 2.0]))


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(probabilities)
def test_an_axis_of_log_odds_holds_all_probabilities_that_have_a_place_there(values: np.ndarray) -> None:
    low, high = probability_limits(values, "logit")
    assert 0 < low < high < 1
    inside = values[(values > LEAST) & (values < 1 - LEAST)]
    assert (inside >= low * (1 - 1e-9)).all() and (1 - inside >= (1 - high) * (1 - 1e-9)).all()
    axis = logit_ticks(logit(low), logit(high))
    assert len(axis["tickvals"]) == len(axis["ticktext"]) >= 1


@given(probabilities)
def test_the_linear_axis_of_a_rare_event_ends_where_its_probabilities_do(values: np.ndarray) -> None:
    low, high = probability_limits(values, "linear", rare=True)
    assert low == 0 and values.max() <= high <= 1
    assert values.max() > 0.3 * high or high == 0.02
    assert probability_limits(values, "linear") == (0, 1)


@pytest.mark.parametrize(
    ("value", "ends"),
    [(0.5, (0.2, 0.8)), (0.95, (0.9, 0.98)), (0.034, (0.02, 0.05)), (0.0, (0.1, 0.9)), (0.7, (0.5, 0.8))],
)
def test_ends_of_log_odds_are_round_numbers(value: float, ends: tuple[float, float]) -> None:
    assert probability_limits(np.array([value]), "logit") == pytest.approx(ends)


@given(st.floats(-14, 13), st.floats(0.5, 28))
def test_ticks_of_log_odds_do_not_touch_in_a_narrow_window(low: float, length: float) -> None:
    axis = logit_ticks(low, low + length)
    places, letters = np.array(axis["tickvals"]), np.array([len(text) for text in axis["ticktext"]])
    assert np.all(np.diff(places) * 330 / length >= 6.5 * (letters[1:] + letters[:-1]) / 2 + 7.9)
    np.testing.assert_allclose(expit(places), [float(text) for text in axis["ticktext"]], rtol=1e-5)


def test_crowded_probabilities_lie_near_0_or_1() -> None:
    assert crowded([0.01, 0.95, 0.5]) and not crowded([0.01, 0.5, 0.5])
    assert crowded([0.01, 0.5], [3, 1]) and not crowded([0.01, 0.5], [1, 3])


@given(st.lists(st.floats(-1e6, 1e6), max_size=9), st.lists(st.floats(-1e6, 1e6), max_size=9))
def test_a_span_holds_every_value_and_has_a_length(first: list[float], second: list[float]) -> None:
    low, high = span(first, np.array(second), [np.nan, np.inf])
    assert low < high
    assert all(low < value < high for value in [*first, *second])


@pytest.mark.parametrize(
    ("limits", "ticks"),
    [
        ((0.2, 0.9995), "0.1 0.5 0.9 0.99 0.999"),
        ((0.01, 0.99), "0.01 0.1 0.5 0.9 0.99"),
        ((1e-6, 1e-4), "0.000001 0.00001 0.0001"),
    ],
)
def test_logit_axis_shows_the_ticks_between_its_ends(limits: tuple[float, float], ticks: str) -> None:
    axis = probability_axis("logit", limits, 0.1)
    assert axis["ticktext"] == ticks.split()
    np.testing.assert_allclose(expit(axis["tickvals"]), [float(tick) for tick in ticks.split()])
    low, high = logit(limits)
    np.testing.assert_allclose(axis["range"], [low - 0.1 * (high - low), high + 0.1 * (high - low)])


def figure():
    return go.Figure(
        [go.Scatter(x=[1, 2], y=[3, 4])],
        {
            "title": {"text": "before", "font": {"size": 20}},
            "xaxis": {"title": {"text": "x", "standoff": 3}, "range": [0, 1]},
            "annotations": [{"text": "kept", "x": 0, "y": 0}],
        },
    )


@pytest.mark.parametrize(
    "values",
    [
        {"height": 300, "showlegend": False, "meta": {"alt": "a picture"}},
        {"title": {"font": {"color": "red"}}},
        {"margin": {"l": 1}, "margin_r": 40},
        {"yaxis2": {"domain": [0, 0.2], "visible": False}},
        {"xaxis": {"title_text": "new", "tickvals": [1, 2]}, "yaxis": {"range": None}},
    ],
)
def test_layout_is_as_plotly_updates_it(values):
    mine, theirs = figure(), figure()
    set_layout(mine, **values)
    theirs.update_layout(**values)
    assert mine == theirs
    assert mine != figure()


def test_axes_are_as_plotly_updates_them():
    mine, theirs = figure(), figure()
    for values in ({"nticks": 5, "title_standoff": 12}, {"title": {"font": {"size": 9}}, "range": [2, 3]}):
        set_x(mine, **values)
        set_y(mine, **values)
        theirs.update_xaxes(**values)
        theirs.update_yaxes(**values)
    assert mine == theirs
    assert mine.layout.xaxis.title.text == "x"


def test_an_unknown_property_is_refused():
    with pytest.raises(ValueError, match="nonsense"):
        set_x(figure(), nonsense=1)


@given(st.floats(-4, 3), st.floats(0.4, 7))
def test_there_are_some_ticks_but_not_many_and_all_are_on_the_axis(low, span):
    axis = log_axis(low, low + span)
    ticks = np.array(axis["tickvals"])
    assert 2 <= len(ticks) <= 7
    assert np.all((10**low <= ticks * (1 + 1e-12)) & (ticks <= 10 ** (low + span) * (1 + 1e-12)))
    assert np.all(np.diff(ticks) > 0)
    np.testing.assert_allclose([float(text) for text in axis["ticktext"]], ticks)


def test_round_numbers_at_each_span():
    assert log_axis(-3.1, 0.0)["ticktext"] == ["0.001", "0.003", "0.01", "0.03", "0.1", "0.3", "1"]
    assert log_axis(-4.1, -0.5)["ticktext"] == ["0.0001", "0.001", "0.01", "0.1"]
    assert log_axis(-1.0, -0.2)["ticktext"] == ["0.1", "0.2", "0.3", "0.5"]


def test_logarithms_that_are_drawn_as_they_are_keep_their_names():
    typed, drawn = log_axis(-2, 0), log_axis(-2, 0, typed=False)
    assert typed["ticktext"] == drawn["ticktext"]
    assert (typed["type"], drawn["type"]) == ("log", "linear")
    assert drawn["tickvals"] == pytest.approx(np.log10(typed["tickvals"]))


places = st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=12)


@given(places)
def test_labels_keep_their_distance_order_and_room(wanted: list[float]) -> None:
    placed = spread(wanted, 0.05, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(placed[order]) >= 0.05 - 1e-9)
    assert placed.min() >= -1e-9
    assert placed.max() <= 1 + 1e-9


@given(places)
def test_more_labels_than_room_share_it(wanted: list[float]) -> None:
    placed = np.sort(spread(wanted, 0.5, 0.0, 1.0))
    expected = min(0.5, 1.0 / max(1, len(wanted) - 1))
    assert np.all(np.diff(placed) >= expected - 1e-9)


def test_labels_far_apart_do_not_move() -> None:
    np.testing.assert_allclose(spread([0.9, 0.1, 0.5], 0.05, 0, 1), [0.9, 0.1, 0.5])


def test_two_labels_in_one_place_move_equally() -> None:
    np.testing.assert_allclose(spread([0.5, 0.5], 0.1, 0, 1), [0.45, 0.55])


def test_fits_in_one_picture_differ_in_dash_and_read_on_both_backgrounds() -> None:
    styles = overlay_styles([method_style("gpcalib", index) for index in range(4)])
    assert styles[0] == method_style("gpcalib")
    assert len({style.dash for style in styles}) == 4
    assert "dash" not in {style.dash for style in styles}  # temperature scaling's
    assert len({style.color for style in styles}) == 3
    for style in styles:
        assert contrast(style.color, "#ffffff") >= 3.0
        assert contrast(style.color, "#0e1117") >= 3.0


@pytest.mark.parametrize(
    ("variants", "short"),
    [
        (["", "inputs=probs"], ["GPcalib", "inputs=probs"]),
        (["inputs=probs, monotone=True"], ["inputs=probs +1"]),
        (["inputs=probs, monotone=True", "inputs=probs, seed 3"], ["monotone=True", "seed 3"]),
        (["max_iter=9", "inputs=probs, max_iter=9"], ["GPcalib", "inputs=probs"]),
        (["", "seed 3, max_iter=9", "seed 3, max_iter=8"], ["GPcalib", "seed 3 +1", "seed 3 +1 #2"]),
        (["interpolation_order=3, n_draws=2"], ["interpolatio… +1"]),
    ],
)
def test_short_names(variants, short) -> None:
    assert short_names("GPcalib", variants) == short


@given(st.lists(st.text(max_size=30), max_size=8))
def test_short_names_are_short_and_differ(variants) -> None:
    short = short_names("GPcalib", variants)
    assert len(set(short)) == len(short)
    assert all(len(name) <= 19 for name in short)
