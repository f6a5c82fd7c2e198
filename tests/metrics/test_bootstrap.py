"""Wilson's interval, the shared resamples, and intervals from reflected draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from calib.metrics.bootstrap import (
    MAX_GROUPS,
    Interval,
    folded,
    groups_of_units,
    interval_of_draws,
    not_below,
    reflect,
    wilson_interval,
)


@given(st.integers(1, 500), st.floats(0, 1), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_wilson_is_that_of_scipy(n, share, level):
    right = round(share * n)
    expected = binomtest(right, n).proportion_ci(level, method="wilson")
    low, high = wilson_interval(right, n, level)
    assert low == pytest.approx(expected.low, abs=1e-9)
    assert high == pytest.approx(expected.high, abs=1e-9)
    assert 0.0 <= low <= right / n <= high <= 1.0


def test_resampled_sums_are_sums_over_drawn_rows(rng):
    values, index, groups = rng.normal(size=50), rng.integers(0, 7, 50), groups_of_units(50)
    counts = groups.resampled(np.eye(50), 100)  # how often each row was drawn
    np.testing.assert_array_equal(counts.sum(axis=1), 50)
    by_index = groups.resampled(groups.sums_by(index, 7, values), 100)
    for times, found in zip(counts, by_index, strict=True):
        np.testing.assert_allclose(
            found, np.bincount(index, times * values, minlength=7), atol=1e-12
        )


def test_groups_of_many_rows_give_the_standard_error_of_the_mean():
    n = 10 * MAX_GROUPS + 7
    values = np.sort(
        np.random.default_rng(0).normal(size=n)
    )  # sorted: groups must not be runs of rows
    groups = groups_of_units(n)
    total, rows = groups.resampled(
        np.stack([groups.sums(values), groups.sums(None)], axis=1), 2000
    ).T
    assert (total / rows).std() == pytest.approx(values.std() / np.sqrt(n), rel=0.08)
    assert np.ptp(np.bincount(groups.group)) <= 1


def test_reflection_moves_values_to_the_other_side_of_the_estimate():
    # Squares: 2 * 1 - 1.21 = .79; where the square would be negative the norm is 0.
    np.testing.assert_allclose(reflect(1.0, np.array([1.1, 2.0])), [np.sqrt(0.79), 0.0])


def test_interval_holds_the_estimate_and_stays_in_range():
    draws = np.linspace(0.1, 0.2, 101)
    assert interval_of_draws(0.15, draws) == pytest.approx((0.15, 0.1025, 0.1975))
    assert interval_of_draws(0.3, draws)[2] == 0.3
    assert interval_of_draws(0.0, draws - 0.12, low=0.0)[1] == 0.0
    assert interval_of_draws(0.15, np.append(draws, np.nan)) == pytest.approx(
        (0.15, 0.1025, 0.1975)
    )
    assert np.isnan(interval_of_draws(float("nan"), draws)).all()
    assert np.isnan(interval_of_draws(0.5, np.full(3, np.nan))).all()
    assert isinstance(interval_of_draws(0.15, draws), Interval)


@pytest.mark.parametrize(
    ("signed", "expected"),
    [((0.2, 0.1, 0.3), (0.1, 0.3)), ((-0.2, -0.3, -0.1), (0.1, 0.3)), ((0.1, -0.2, 0.3), (0, 0.3))],
)
def test_a_size_may_be_what_the_signed_quantity_may_be(signed, expected):
    value, low, high = folded(abs(signed[0]), Interval(*signed))
    assert (value, low, high) == (abs(signed[0]), *expected)


def test_a_truth_above_another_may_not_be_below_it():
    assert not_below(Interval(0.3, 0.0, 0.35), Interval(0.2, 0.1, 0.4)) == (0.3, 0.1, 0.4)
    assert not_below(Interval(0.3, 0.2, 0.5), Interval(0.2, 0.1, 0.4)) == (0.3, 0.2, 0.5)
    # Rounding of the other's value must not push the lower end over the value.
    assert not_below(Interval(0.3, 0.0, 0.3), Interval(0.3, 0.3 + 1e-12, 0.3)).low == 0.3
