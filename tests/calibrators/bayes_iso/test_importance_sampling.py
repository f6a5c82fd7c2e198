"""Importance sampling of monotone maps: proposals, weights and their effective number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.isotonic import isotonic_regression

from calib.calibrators.bayes_iso.__init__ import (
    log_likelihood,
    pav_bounds,
    sample_maps,
)
from calib.calibrators.isotonic import Tally
from tests.calibrators.bayes_iso.naive import tally_of


def test_likelihood_is_a_product_of_binomials(rng):
    groups = tally_of([0, 3, 1, 5], [2, 0, 4, 1])
    maps = np.sort(rng.random((20, 4)), axis=1)
    orders = binom.logpmf(groups.positives, groups.counts, 0.5) - groups.counts * np.log(
        0.5
    )  # of the labels in a tie
    expected = binom.logpmf(groups.positives, groups.counts, maps) - orders
    np.testing.assert_allclose(log_likelihood(maps, groups), expected.sum(axis=1))


@pytest.mark.parametrize(
    ("m", "means"), [(1, [1 / 2]), (2, [3 / 8, 5 / 8]), (3, [5 / 16, 1 / 2, 11 / 16])]
)
def test_means_in_closed_form(m, means):
    """Of two ranks, either is first: E c_1 = (1/2 + 1/4) / 2; of three, by the same recursion."""
    maps = sample_maps(200_000, (np.zeros(m), np.ones(m)), np.random.default_rng(0))
    np.testing.assert_allclose(maps.mean(axis=0), means, atol=5 * 0.3 / np.sqrt(200_000))


@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 2**32))
def test_maps_rise_between_the_bounds(m, n_maps, seed):
    generator = np.random.default_rng(seed)
    ends = np.sort(generator.random((2, m)), axis=0)
    lower, upper = np.sort(ends[0]), np.sort(ends[1])
    maps = sample_maps(n_maps, (lower, upper), generator)
    assert maps.shape == (n_maps, m)
    assert (np.diff(maps, axis=1) >= 0).all()
    assert (maps >= lower).all()
    assert (maps <= upper).all()


def widened(lower: list[float], upper: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Lower bounds fall to the lowest that follows, upper ones rise to the highest before; both stay in [0, 1]."""
    low = [max(0.0, min(lower[i:])) for i in range(len(lower))]
    high = [min(1.0, max(upper[: i + 1])) for i in range(len(upper))]
    return np.array(low), np.array(high)


@pytest.mark.parametrize("n", [2, 19, 100, 250])
def test_the_codes_windows_one_by_one(n):
    labels = (np.random.default_rng(0).random(n) < np.linspace(0.1, 0.9, n)).astype(float)
    size = max(1, n // 20)
    fit = isotonic_regression(labels)
    lower, upper = [], []
    for i in range(n):
        after, before = labels[i + 1 : i + 1 + size], labels[max(0, i - size) : i]
        upper.append(max(after.mean(), fit[i]) + 1 / np.sqrt(n) if len(after) else 1.0)
        lower.append(min(before.mean(), fit[i]) - 1 / np.sqrt(n) if len(before) else 0.0)
    np.testing.assert_allclose(
        pav_bounds(Tally.of(np.arange(n), labels > 0)), widened(lower, upper), atol=1e-12
    )
