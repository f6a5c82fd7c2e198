"""ENIR against its definition, and the nearly-isotonic path against a general solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression, lsq_linear

from calib.calibrators.enir import NearIsotonicEnsemble, NearIsotonicPath, near_isotonic_path
from tests.calibrators.conftest import binary, learned


def fitted_map(
    log_odds: np.ndarray, labels: np.ndarray, test: np.ndarray, **params: bool
) -> np.ndarray:
    return learned(NearIsotonicEnsemble(**params), log_odds, labels, test)


def solution(path: NearIsotonicPath, m: int, penalty: float) -> np.ndarray:
    """The m fitted values at any penalty, from the blocks that exist there."""
    step = int(np.searchsorted(path.penalties, penalty, side="right")) - 1
    there = np.flatnonzero((path.born <= step) & (step < path.died))
    there = there[np.argsort(path.start[there])]
    values = path.intercept[there] + path.slope[there] * min(penalty, path.penalties[-1])
    return np.repeat(values, np.diff(path.start[there], append=m))


def naive_enir(
    scores: np.ndarray,
    labels: np.ndarray,
    test: np.ndarray,
    targets: tuple[float, float] = (0.0, 1.0),
):
    """Naeini and Cooper 2016 with every model of the path but the first, which only repeats the labels."""
    values, soft = np.unique(scores), np.where(labels == 1, targets[1], targets[0])
    counts = np.array([(scores == v).sum() for v in values])
    path = near_isotonic_path(
        np.array([soft[scores == v].mean() for v in values]), counts.astype(float)
    )
    criteria, models = [], []
    for penalty in path.penalties[1:] if len(path.penalties) > 1 else path.penalties:
        model = np.clip(
            solution(path, len(values), penalty), 1 / (len(scores) + 2), 1 - 1 / (len(scores) + 2)
        )
        at = dict(zip(values, model, strict=True))
        likelihood = sum(
            t * np.log(at[s]) + (1 - t) * np.log(1 - at[s])
            for s, t in zip(scores, soft, strict=True)
        )
        blocks = 1 + np.count_nonzero(np.diff(solution(path, len(values), penalty)))
        criteria.append(blocks * np.log(2 * np.pi * len(scores)) - 2 * likelihood)
        models.append(model)
    weights = np.exp(-(np.array(criteria) - min(criteria)) / 2)
    return np.interp(test, values, weights @ np.array(models) / weights.sum())


@pytest.mark.parametrize("digits", [0, 1, 9], ids=["many ties", "ties", "no ties"])
@pytest.mark.parametrize("n", [12, 100, 400])
def test_it_is_the_average_over_all_models_of_the_path(n, digits):
    log_odds, labels = binary(n, seed=n, digits=digits)
    test = np.concatenate([log_odds, np.linspace(-9, 9, 301)])
    np.testing.assert_allclose(
        fitted_map(log_odds, labels, test), naive_enir(log_odds, labels, test), atol=1e-9
    )


def test_platts_correction_softens_the_targets():
    log_odds, labels = binary(120)
    positives = labels.sum()
    targets = (1 / (len(labels) - positives + 2), 1 - 1 / (positives + 2))
    probs = fitted_map(log_odds, labels, log_odds, platt_correction=True)
    np.testing.assert_allclose(probs, naive_enir(log_odds, labels, log_odds, targets), atol=1e-9)
    assert np.abs(probs - fitted_map(log_odds, labels, log_odds)).max() > 1e-3


def naive(values: np.ndarray, weights: np.ndarray, penalty: float) -> np.ndarray:
    """The dual: every fall between neighbours has a multiplier in [0, penalty], and the residuals are their sums."""
    falls = np.diag(np.ones(len(values)))[:-1] - np.eye(len(values))[1:]
    root = np.sqrt(weights)
    multipliers = lsq_linear(
        (falls / root).T, root * values, bounds=(0, penalty), method="bvls", tol=1e-14
    ).x
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
        np.testing.assert_allclose(
            solution(path, len(values), penalty),
            naive(values, weights, max(penalty, 1e-300)),
            atol=1e-9,
        )


@given(st.lists(st.sampled_from([0.0, 1.0, 0.5, 1 / 3]), min_size=1, max_size=30))
def test_ties_in_the_data_and_in_the_penalties(values):
    path = near_isotonic_path(np.array(values), np.ones(len(values)))
    assert (np.diff(path.penalties) > 0).all()
    isotonic = isotonic_regression(np.array(values)).x
    np.testing.assert_allclose(solution(path, len(values), np.inf), isotonic, atol=1e-12)
