"""Limits, ticks and labels of axes, by what must hold for any data."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logit

from calib.plots.annotations import spread
from calib.plots.axes import (
    LEAST,
    log_axis,
    logit_ticks,
    probability_limits,
    regrid,
    span,
)


def naive_regrid(edges: np.ndarray, counts: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Spread each bin over 20,000 points and count them."""
    points = [np.linspace(a, b, 20_001)[:-1] + (b - a) / 40_000 for a, b in pairwise(edges)]
    return sum(c * np.histogram(p, grid)[0] / 20_000 for c, p in zip(counts, points, strict=True))


def test_regrid_agrees_with_spreading_points(rng: np.random.Generator) -> None:
    edges = np.sort(np.r_[0, rng.random(6), 1])
    counts = rng.integers(0, 100, 7)
    grid = np.linspace(0, 1, 14)
    np.testing.assert_allclose(
        regrid(edges, counts, grid), naive_regrid(edges, counts, grid), atol=0.05
    )


@given(arrays(float, 6, elements=st.floats(0, 1)), arrays(int, 5, elements=st.integers(0, 1000)))
def test_regrid_keeps_the_total_also_of_bins_without_width(
    edges: np.ndarray, counts: np.ndarray
) -> None:
    cells = regrid(np.sort(edges), counts, np.linspace(0, 1, 41))
    assert cells.sum() == pytest.approx(counts.sum(), rel=1e-6, abs=1e-6)


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(probabilities)
def test_an_axis_of_log_odds_holds_all_probabilities_that_have_a_place_there(
    values: np.ndarray,
) -> None:
    low, high = probability_limits(values, "logit")
    assert 0 < low < high < 1
    assert logit(high) - logit(low) > 0.3, "the axis has a length"
    inside = values[(values > LEAST) & (values < 1 - LEAST)]
    assert (inside >= low * (1 - 1e-9)).all() and (1 - inside >= (1 - high) * (1 - 1e-9)).all()
    axis = logit_ticks(logit(low), logit(high))
    assert len(axis["tickvals"]) == len(axis["ticktext"]) >= 1


@given(probabilities)
def test_a_linear_axis_holds_its_probabilities_and_leaves_out_what_has_none(
    values: np.ndarray,
) -> None:
    low, high = probability_limits(values, "linear")
    assert 0 <= low <= values.min() and values.max() <= high <= 1 and low < high
    assert values.max() > 0.3 * high or high == 0.02
    assert values.min() < 0.5 or low >= 0.5


@given(st.floats(-14, 13), st.floats(0.5, 28))
def test_ticks_of_log_odds_do_not_touch_in_a_narrow_window(low: float, length: float) -> None:
    axis = logit_ticks(low, low + length)
    places, letters = np.array(axis["tickvals"]), np.array([len(text) for text in axis["ticktext"]])
    assert np.all(np.diff(places) * 330 / length >= 6.5 * (letters[1:] + letters[:-1]) / 2 + 7.9)
    np.testing.assert_allclose(expit(places), [float(text) for text in axis["ticktext"]], rtol=1e-5)


@given(st.lists(st.floats(-1e6, 1e6), max_size=9), st.lists(st.floats(-1e6, 1e6), max_size=9))
def test_a_span_holds_every_value_and_has_a_length(first: list[float], second: list[float]) -> None:
    low, high = span(first, np.array(second), [np.nan, np.inf])
    assert low < high
    assert all(low < value < high for value in [*first, *second])


@given(st.floats(-4, 3), st.floats(0.4, 7))
def test_there_are_some_ticks_but_not_many_and_all_are_on_the_axis(low, span):
    axis = log_axis(low, low + span)
    ticks = np.array(axis["tickvals"])
    assert 2 <= len(ticks) <= 7
    assert np.all((10**low <= ticks * (1 + 1e-12)) & (ticks <= 10 ** (low + span) * (1 + 1e-12)))
    assert np.all(np.diff(ticks) > 0)
    plain = [re.sub(r"10<sup>(.*)</sup>", r"1e\1", text) for text in axis["ticktext"]]
    read = [float(text.replace("·1e", "e").replace(",", "")) for text in plain]
    np.testing.assert_allclose(read, ticks)
    # A power as in 1.5·10⁻⁴ takes about six tenths of the width of other letters.
    powers = [re.findall("<sup>(.*)</sup>", text) for text in axis["ticktext"]]
    letters = [len(re.sub("<sup>.*", "", text)) for text in axis["ticktext"]]
    widths = [n + 0.6 * len("".join(power)) for n, power in zip(letters, powers, strict=True)]
    assert max(widths) <= 7.5


@pytest.mark.parametrize("most", [400, 1000, 8141, 60_000])
def test_numbers_of_rows_do_not_touch_in_150_pixels(most: int) -> None:
    axis = log_axis(*span(np.log10([100, most])))
    low, high = axis["range"]
    middles = 150 * (np.log10(axis["tickvals"]) - low) / (high - low)
    widths = np.array([6.0 * len(text) for text in axis["ticktext"]])
    assert np.all(np.diff(middles) >= (widths[1:] + widths[:-1]) / 2)


places = st.lists(st.floats(0, 1, allow_nan=False), min_size=1, max_size=12)


@given(places)
def test_labels_keep_their_distance_order_and_room(wanted: list[float]) -> None:
    placed = spread(wanted, 0.05, 0.0, 1.0)
    order = np.argsort(wanted, kind="stable")
    assert np.all(np.diff(placed[order]) >= 0.05 - 1e-9)
    assert placed.min() >= -1e-9
    assert placed.max() <= 1 + 1e-9
