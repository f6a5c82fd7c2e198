from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.bayes_iso.prior import sample_maps
from tests.calibrators.bayes_iso.naive import sampled_map


def unbounded(m: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(m), np.ones(m)


@pytest.mark.parametrize(("m", "means"), [(1, [1 / 2]), (2, [3 / 8, 5 / 8]), (3, [5 / 16, 1 / 2, 11 / 16])])
def test_means_in_closed_form(m, means):
    """Of two ranks, either is first: E c_1 = (1/2 + 1/4) / 2; of three, by the same recursion."""
    maps = sample_maps(200_000, unbounded(m), np.random.default_rng(0))
    np.testing.assert_allclose(maps.mean(axis=0), means, atol=5 * 0.3 / np.sqrt(200_000))


def test_many_ranks_as_the_recursion_has_them(rng):
    lower = np.linspace(0, 0.5, 30) ** 2
    upper = np.minimum(lower + np.linspace(0.2, 0.7, 30), 1)
    naive = np.array([sampled_map(list(lower), list(upper), rng) for _ in range(4000)])
    maps = sample_maps(40_000, (lower, upper), rng)
    error = np.sqrt(naive.var(axis=0) / 4000)
    assert (np.abs(maps.mean(axis=0) - naive.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(maps.std(axis=0), naive.std(axis=0), rtol=0.08)
    np.testing.assert_allclose(np.corrcoef(maps.T), np.corrcoef(naive.T), atol=0.09)


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
