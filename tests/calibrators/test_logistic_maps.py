"""Logistic regression of one score: Platt scaling, beta calibration and scaling-binning."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit, xlog1py, xlogy
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import calib
from calib.calibrators.beta import BetaCalibration
from calib.calibrators.logistic import ENOUGH, EVERY, fit_logistic, separable
from calib.calibrators.platt import PlattScaling
from calib.calibrators.scaling_binning import ScalingBinning
from tests.calibrators.conftest import as_logits, binary, learned


def cross_entropy(targets, probs):
    return -np.sum(xlogy(targets, probs) + xlog1py(1 - targets, -probs))


# -- regression ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong_start", [False, True])
def test_regression_with_weights_is_scikit_learns(wrong_start):
    """Also of so many rows that the search starts where it ends on a part of them, and where that is the wrong end."""
    log_odds, positives = binary(6000 if wrong_start else 500, digits=9)
    weights = np.random.default_rng(0).uniform(0.5, 3, len(positives))
    if wrong_start:
        positives[::EVERY] = log_odds[::EVERY] < 0
        assert ENOUGH < positives[::EVERY].sum() < len(positives[::EVERY]) - ENOUGH
    slopes, intercept = fit_logistic(log_odds[None], positives.astype(float), weights)
    reference = LogisticRegression(C=np.inf, tol=1e-12).fit(
        log_odds[:, None], positives, sample_weight=weights
    )
    assert slopes[0] == pytest.approx(reference.coef_[0, 0], rel=1e-6)
    assert intercept == pytest.approx(reference.intercept_[0], rel=1e-6)


# -- Platt ---------------------------------------------------------------------------------------------


def test_platt_on_the_score():
    log_odds, positives = binary(500, digits=9)
    score = expit(log_odds)[:, None]
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(score, positives)
    fitted = PlattScaling(input="score").fit(as_logits(log_odds), positives)
    np.testing.assert_allclose(
        fitted.predict_proba(as_logits(log_odds)), reference.predict_proba(score), atol=1e-5
    )


@pytest.mark.filterwarnings("ignore:Since FrozenEstimator")
@pytest.mark.parametrize("weighted", [False, True])
def test_platts_correction_is_scikit_learns_sigmoid(weighted):
    """Of a classifier whose decision function is the score."""
    log_odds, positives = binary(300, digits=9)
    weights = np.random.default_rng(1).uniform(0.5, 4, 300) if weighted else None
    ours = PlattScaling(platt_correction=True).fit(as_logits(log_odds), positives, weights=weights)
    base = FrozenEstimator(
        LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds[:, None], positives)
    )
    score = base.decision_function(log_odds[:, None])
    theirs = CalibratedClassifierCV(base).fit(log_odds[:, None], positives, sample_weight=weights)
    of_score = PlattScaling(platt_correction=True).fit(as_logits(score), positives, weights=weights)
    expected = theirs.predict_proba(log_odds[:, None])
    np.testing.assert_allclose(of_score.predict_proba(as_logits(score)), expected, atol=1e-6)
    np.testing.assert_allclose(
        ours.predict_proba(as_logits(log_odds)), expected, atol=1e-6
    )  # of any line of the score


@pytest.mark.parametrize("far", [1.0, 1e6, 1e99])
@pytest.mark.parametrize("name", ["platt", "beta", "quadratic"])
def test_separable_scores_have_platts_targets_and_a_note(name, far):
    """Likelihood alone would end at 1e-29."""
    log_odds = far * np.linspace(-1, 1, 30)
    labels = (log_odds > 0).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = calib.calibrator(name).fit(as_logits(log_odds), labels)
        probs = fitted.predict_proba(as_logits(log_odds))[:, 1]
    assert probs.min() == pytest.approx(0, abs=0.1)
    assert (
        0.005 < cross_entropy(labels, probs) / 30 < 0.2
    )  # Platt's targets themselves have 1 / 17 on either side
    assert (np.diff(probs) >= 0).all()
    assert "separable" in fitted.notes()[-1]
    labels[14] = 1  # still separable, at another score
    assert "separable" in calib.calibrator(name).fit(as_logits(log_odds), labels).notes()[-1]
    labels[[14, 20]] = 0
    assert calib.calibrator(name).fit(as_logits(log_odds), labels).notes() == []


def test_separable_means_that_no_negative_is_above_a_positive():
    for scores, positives, expected in (
        ([0, 1, 2, 3], [0, 0, 1, 1], True),
        ([0, 1, 1, 3], [0, 0, 1, 1], True),  # at the same score still an infinite slope
        ([0, 2, 1, 3], [0, 0, 1, 1], False),
        ([3, 2, 1, 0], [0, 0, 1, 1], False),  # the wrong way round: no rising map gains by it
        ([1, 1, 1, 1], [0, 0, 1, 1], False),
        ([0, 1, 2, 3], [1, 1, 1, 1], False),
    ):
        assert separable(np.array(scores, float), np.array(positives, bool)) == expected


# -- beta ----------------------------------------------------------------------------------------------


def beta_map(weights, p):
    a, b, c = weights
    return expit(a * np.log(p) - b * np.log1p(-p) + c)


def bounded_reference(log_odds, positives):
    """The same loss by a bounded optimiser that knows nothing of active sets."""
    p = expit(log_odds)
    return minimize(
        lambda w: cross_entropy(positives.astype(float), beta_map(w, p)),
        [1.0, 1.0, 0.0],
        method="L-BFGS-B",
        bounds=[(0, None), (0, None), (None, None)],
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000},
    )


@pytest.mark.parametrize("seed", range(4))
def test_beta_is_the_best_map_with_coefficients_of_zero_or_more(seed):
    log_odds, positives = binary(300, seed, digits=9)
    if seed % 2:
        # Negatives far out on one side pull one coefficient below zero.
        log_odds = np.concatenate([log_odds, np.full(40, 8.0 if seed == 1 else -8.0)])
        positives = np.concatenate([positives, np.full(40, seed != 1)])
    (found,) = BetaCalibration().fit(as_logits(log_odds), positives).maps_
    assert found.a >= 0
    assert found.b >= 0
    if seed % 2:
        assert 0 in (found.a, found.b)
    reached = cross_entropy(
        positives.astype(float), beta_map((found.a, found.b, found.c), expit(log_odds))
    )
    assert reached == pytest.approx(bounded_reference(log_odds, positives).fun, rel=1e-5)


def naive(log_odds, labels, test, n_bins):
    """scikit-learn's curve, and for each test score the mean curve of the rows between the same two edges.

    An edge is at the golden section of the two probabilities beside it.
    """
    model = LogisticRegression(C=1e10, tol=1e-10).fit(log_odds[:, None], labels)
    curve = model.predict_proba(log_odds[:, None])[:, 1]
    parts = np.array_split(np.argsort(log_odds), n_bins)
    beside = [(log_odds[low].max(), log_odds[high].min()) for low, high in pairwise(parts)]
    upper = (np.sqrt(5) - 1) / 2
    edges = [-np.inf] + [
        logit(np.average(expit(pair), weights=[1 - upper, upper])) for pair in beside
    ]
    means = [curve[part].mean() for part in parts]
    return np.array([means[max(b for b in range(n_bins) if edges[b] <= score)] for score in test])


@pytest.mark.parametrize("n_bins", [1, 4, 10, 40])
def test_bins_one_by_one(n_bins):
    log_odds, labels = binary(200, digits=9)
    test = np.concatenate([np.linspace(-12, 12, 301), log_odds])
    probs = learned(ScalingBinning(n_bins=n_bins), log_odds, labels, test)
    np.testing.assert_allclose(probs, naive(log_odds, labels, test, n_bins), atol=1e-5)
