"""Success by separation against counting, with infinite and equal values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.diagnostics.separation import Sides, separation_histogram, success_rates, within_finite
from calib.metrics.bootstrap import wilson_interval

VALUES = st.one_of(st.floats(-3, 3, width=32), st.sampled_from([0.0, 1.0, -1.0, np.inf, -np.inf]))


@st.composite
def rows(draw) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(1, 60))
    return draw(arrays(float, n, elements=VALUES)), draw(arrays(bool, n))


@given(rows(), st.integers(1, 12))
def test_bins_hold_every_row_once_and_equal_values_together(given_rows, n_bins) -> None:
    separation, right = given_rows
    rates = success_rates(separation, right, n_bins)
    finite = within_finite(separation)
    assert len(rates.rows) <= n_bins
    assert np.all(rates.rows > 0)
    assert np.all(rates.least[1:] > rates.largest[:-1])
    for b in range(len(rates.rows)):
        inside = (finite >= rates.least[b]) & (finite <= rates.largest[b])
        assert rates.rows[b] == inside.sum()
        assert rates.right[b] == right[inside].sum()
        assert rates.separation[b] == pytest.approx(finite[inside].mean(), abs=1e-9)
        low, high = wilson_interval(right[inside].sum(), inside.sum())
        assert (rates.low[b], rates.high[b]) == (low, high)
    assert rates.rows.sum() == len(separation)


def test_bins_of_distinct_values_are_of_equal_size(rng) -> None:
    rates = success_rates(rng.normal(size=100), np.ones(100, dtype=bool), 10)
    assert rates.rows.tolist() == [10] * 10
    assert rates.rate.tolist() == [1.0] * 10


@given(rows())
def test_sides_are_what_counting_finds(given_rows) -> None:
    separation, right = given_rows
    sides = Sides.of(separation, right)
    assert sides.everyone.rows == len(right)
    assert sides.safe.rows == sum(value > 0 for value in separation)
    assert sides.safe.rows + sides.dangerous.rows == len(right)
    assert sides.dangerous.right == sum(bool(r) for value, r in zip(separation, right, strict=True) if not value > 0)
    assert sides.inside.rows == sum(value >= sides.threshold for value in separation)
    assert sides.inside.rows >= len(right) / 2
    assert sides.threshold in separation
    for share in (sides.everyone, sides.safe, sides.dangerous, sides.inside):
        if share.rows:
            assert share.rate.low <= share.rate.value == share.right / share.rows <= share.rate.high
        else:
            assert np.isnan(share.rate.value)


@given(rows())
def test_histograms_keep_safe_and_dangerous_rows_apart(given_rows) -> None:
    separation, right = given_rows
    histogram = separation_histogram(separation, right)
    edges = histogram.edges
    assert histogram.right.sum() == right.sum()
    assert histogram.wrong.sum() == (~right).sum()
    assert len(edges) <= 43
    finite = within_finite(separation)
    assert edges[0] <= finite.min() and finite.max() <= edges[-1]
    both = histogram.right + histogram.wrong
    assert both[edges[1:] <= 0].sum() == np.count_nonzero(finite < 0)


@pytest.mark.parametrize("value", [0.0, -2.0, 1e-30, 1e18])
def test_values_that_differ_by_rounding_alone_have_few_bins(value) -> None:
    histogram = separation_histogram(np.array([value, np.nextafter(value, 1e20)]), np.array([True, False]))
    assert len(histogram.edges) <= 3
    assert histogram.right.sum() == histogram.wrong.sum() == 1


def test_infinite_values_take_the_ends() -> None:
    np.testing.assert_array_equal(within_finite(np.array([np.inf, 2.0, -1.0, -np.inf])), [2, 2, -1, -1])
    np.testing.assert_array_equal(within_finite(np.array([np.inf, -np.inf])), [1, -1])
