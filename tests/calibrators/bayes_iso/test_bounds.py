from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from calib.calibrators.bayes_iso.bounds import BOUNDS, paper_bounds, pav_bounds
from calib.calibrators.pooled_scores import Groups, group_ties


def labelled(n: int, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return (generator.random(n) < np.linspace(0.1, 0.9, n)).astype(float)


def ungrouped(labels: np.ndarray) -> Groups:
    return group_ties(np.arange(len(labels)), labels)


def widened(lower: list[float], upper: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Lower bounds fall to the lowest that follows, upper ones rise to the highest before; both stay in [0, 1]."""
    low = [max(0.0, min(lower[i:])) for i in range(len(lower))]
    high = [min(1.0, max(upper[: i + 1])) for i in range(len(upper))]
    return np.array(low), np.array(high)


@pytest.mark.parametrize("n", [10, 100, 250])
def test_the_papers_windows_one_by_one(n):
    labels, size = labelled(n), n // 10
    lower, upper = [], []
    for i in range(n):
        after, before = labels[i : i + size], labels[max(0, i - size + 1) : i + 1]
        upper.append(after.mean() + 1 / np.sqrt(len(after)))
        lower.append(before.mean() - 1 / np.sqrt(len(before)))
    np.testing.assert_allclose(paper_bounds(ungrouped(labels)), widened(lower, upper), atol=1e-12)


@pytest.mark.parametrize("n", [2, 19, 100, 250])
def test_the_codes_windows_one_by_one(n):
    labels, size = labelled(n), max(1, n // 20)
    fit = isotonic_regression(labels)
    lower, upper = [], []
    for i in range(n):
        after, before = labels[i + 1 : i + 1 + size], labels[max(0, i - size) : i]
        upper.append(max(after.mean(), fit[i]) + 1 / np.sqrt(n) if len(after) else 1.0)
        lower.append(min(before.mean(), fit[i]) - 1 / np.sqrt(n) if len(before) else 0.0)
    np.testing.assert_allclose(pav_bounds(ungrouped(labels)), widened(lower, upper), atol=1e-12)


@pytest.mark.parametrize("kind", BOUNDS)
def test_ties_that_hold_one_outcome_change_little(kind):
    """Equal scores of equal labels say the same as neighbouring ones, but for where their windows begin."""
    labels = np.repeat(labelled(100), 4)
    tied = group_ties(np.repeat(np.arange(100), 4), labels)
    untied = [bound[::4] for bound in BOUNDS[kind](ungrouped(labels))]
    for bound, other in zip(BOUNDS[kind](tied), untied, strict=True):
        assert np.abs(bound - other)[1:-1].max() < 0.25
        assert np.abs(bound - other).mean() < 0.05


@pytest.mark.parametrize("kind", BOUNDS)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any), min_size=1, max_size=30))
def test_bounds_rise_and_hold_the_isotonic_fit_between_them(kind, counts):
    negatives, positives = np.array(counts, dtype=float).T
    total = (negatives + positives).astype(int)
    groups = Groups(np.arange(len(counts)), total, positives)
    lower, upper = BOUNDS[kind](groups)
    for bound in (lower, upper):
        assert (np.diff(bound) >= 0).all()
        assert bound.min() >= 0
        assert bound.max() <= 1
    assert (lower <= upper).all()
    if kind == "pav":
        fit = isotonic_regression(positives / total, sample_weight=total)
        assert (lower <= fit + 1e-12).all()
        assert (fit <= upper + 1e-12).all()
