"""The path of nearly-isotonic regression against a solver that knows nothing of blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression, lsq_linear

from calib.calibrators.near_isotonic import near_isotonic_path


def naive(values: np.ndarray, weights: np.ndarray, penalty: float) -> np.ndarray:
    """The dual: every fall between neighbours has a multiplier in [0, penalty], and the residuals are their sums."""
    falls = np.diag(np.ones(len(values)))[:-1] - np.eye(len(values))[1:]
    root = np.sqrt(weights)
    multipliers = lsq_linear((falls / root).T, root * values, bounds=(0, penalty), method="bvls", tol=1e-14).x
    return values - falls.T @ multipliers / weights


def problem(kind: str, seed: int, m: int = 25) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    if kind == "labels":
        return (generator.random(m) < np.linspace(0.2, 0.8, m)).astype(float), np.ones(m)
    if kind == "frequencies":
        counts = generator.integers(1, 6, m)
        return generator.binomial(counts, np.linspace(0.2, 0.8, m)) / counts, counts.astype(float)
    return generator.normal(size=m), generator.uniform(0.5, 3, m)


@pytest.mark.parametrize("kind", ["labels", "frequencies", "numbers"])
@pytest.mark.parametrize("seed", range(3))
def test_every_penalty_has_its_minimiser(kind, seed):
    values, weights = problem(kind, seed)
    path = near_isotonic_path(values, weights)
    for penalty in (0.0, 0.05, 0.3, 1.0, 2.5, 20.0, *path.penalties[1:]):
        np.testing.assert_allclose(path.solution(penalty), naive(values, weights, max(penalty, 1e-300)), atol=1e-9)


@pytest.mark.parametrize("kind", ["labels", "frequencies", "numbers"])
def test_the_path_ends_with_the_isotonic_fit(kind):
    values, weights = problem(kind, 7, 300)
    path = near_isotonic_path(values, weights)
    isotonic = isotonic_regression(values, weights=weights).x
    np.testing.assert_allclose(path.solution(np.inf), isotonic, atol=1e-12)
    starts, steps = path.blocks(len(path.penalties) - 1)
    np.testing.assert_allclose(steps, isotonic[starts])


@pytest.mark.parametrize("kind", ["labels", "frequencies", "numbers"])
def test_blocks_are_the_distinct_values_and_only_merge(kind):
    values, weights = problem(kind, 3, 60)
    path = near_isotonic_path(values, weights)
    before: set[int] | None = None
    for step, penalty in enumerate(path.penalties):
        starts, steps = path.blocks(step)
        np.testing.assert_array_equal(starts, np.flatnonzero(np.diff(path.solution(penalty), prepend=np.inf)))
        assert len(steps) == len(starts)
        assert before is None or set(starts) < before
        before = set(starts)


def test_values_that_rise_are_left_as_they_are():
    values = np.array([0.1, 0.1, 0.4, 0.9])
    path = near_isotonic_path(values, np.ones(4))
    assert len(path.penalties) == 1
    np.testing.assert_array_equal(path.blocks(0)[0], [0, 2, 3])
    np.testing.assert_array_equal(path.solution(5.0), values)


def test_one_fall_in_closed_form():
    """1 above 0, weights 1 and 3: they approach at the rates 1 and 1/3 and meet at 1/4 where the penalty is 3/4."""
    path = near_isotonic_path(np.array([1.0, 0.0]), np.array([1.0, 3.0]))
    np.testing.assert_allclose(path.penalties, [0, 0.75])
    np.testing.assert_allclose(path.solution(0.3), [0.7, 0.1])
    np.testing.assert_allclose(path.solution(0.75), [0.25, 0.25])


@given(st.lists(st.sampled_from([0.0, 1.0, 0.5, 1 / 3]), min_size=1, max_size=30))
def test_ties_in_the_data_and_in_the_penalties(values):
    path = near_isotonic_path(np.array(values), np.ones(len(values)))
    assert (np.diff(path.penalties) > 0).all()
    isotonic = isotonic_regression(np.array(values)).x
    np.testing.assert_allclose(path.solution(np.inf), isotonic, atol=1e-12)
