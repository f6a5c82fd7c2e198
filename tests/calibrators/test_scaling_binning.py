"""Scaling-binning against a plain loop over bins, its limits and what its bins hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from calib.calibrators.platt import PlattScaling
from calib.calibrators.scaling_binning import ScalingBinning
from calib.numerics import one_vs_rest_log_odds
from tests.conftest import simulate


def binary(n: int = 200, seed: int = 0):
    generator = np.random.default_rng(seed)
    log_odds = 3 * generator.normal(size=n)
    return log_odds, (generator.random(n) < expit(0.6 * log_odds - 0.4)).astype(int)


def as_logits(log_odds):
    return np.stack([np.zeros_like(log_odds), log_odds], axis=1)


def naive(log_odds, labels, test, n_bins):
    """scikit-learn's curve, and for each test score the mean curve of the rows between the same two quantiles."""
    model = LogisticRegression(C=1e10, tol=1e-10).fit(log_odds[:, None], labels)
    curve = model.predict_proba(log_odds[:, None])[:, 1]
    parts = np.array_split(np.argsort(log_odds), n_bins)
    lowest = [-np.inf] + [log_odds[part].min() for part in parts[1:]]
    means = [curve[part].mean() for part in parts]
    return np.array([means[max(b for b in range(n_bins) if lowest[b] <= score)] for score in test])


@pytest.mark.parametrize("n_bins", [1, 4, 10, 40])
def test_bins_one_by_one(n_bins):
    log_odds, labels = binary()
    test = np.concatenate([np.linspace(-12, 12, 301), log_odds])
    probs = ScalingBinning(n_bins=n_bins).fit(as_logits(log_odds), labels).predict_proba(as_logits(test))[:, 1]
    np.testing.assert_allclose(probs, naive(log_odds, labels, test, n_bins), atol=1e-5)


def test_one_bin_says_the_frequency():
    """A logistic curve's mean is the mean of the labels it was fitted to."""
    log_odds, labels = binary()
    probs = ScalingBinning(n_bins=1).fit(as_logits(log_odds), labels).predict_proba(as_logits(log_odds))
    np.testing.assert_allclose(probs[:, 1], labels.mean(), atol=1e-6)


def test_a_bin_for_each_row_is_platts_curve():
    log_odds, labels = binary()
    ours, curve = (
        calibrator.fit(as_logits(log_odds), labels).predict_proba(as_logits(log_odds))
        for calibrator in (ScalingBinning(n_bins=len(labels)), PlattScaling())
    )
    np.testing.assert_allclose(ours, curve, atol=1e-12)


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(0, 2))
def test_bins_hold_something_and_their_values_rise(seed, n_bins, decimals):
    log_odds, labels = binary(60, seed)
    log_odds = np.round(log_odds, decimals)  # with ties
    (state,) = ScalingBinning(n_bins=n_bins).fit(as_logits(log_odds), labels).maps_
    count = np.bincount(np.searchsorted(state["edges"], log_odds, side="right"), minlength=len(state["values"]))
    assert len(count) == len(state["values"]) == len(state["edges"]) + 1 <= n_bins
    assert count.min() > 0
    assert (np.diff(state["values"]) >= 0).all()


def test_classes_that_share_a_map_have_bins_for_each_of_them():
    logits, labels = simulate(300, 5)
    (state,) = ScalingBinning(n_bins=10).fit(logits, labels).maps_
    log_odds = one_vs_rest_log_odds(logits).ravel()
    count = np.bincount(np.searchsorted(state["edges"], log_odds, side="right"))
    np.testing.assert_array_equal(count, 300 / 10)
    own = ScalingBinning(n_bins=10, share_classes=False).fit(logits, labels).maps_
    assert [len(state["values"]) for state in own] == [10] * 5


def test_scores_that_point_the_wrong_way_give_one_value():
    log_odds, labels = binary()
    probs = ScalingBinning().fit(as_logits(-log_odds), labels).predict_proba(as_logits(log_odds))[:, 1]
    np.testing.assert_allclose(probs, labels.mean(), atol=1e-6)


def test_too_few_bins_for_classes_of_their_own_are_pointed_out():
    logits, labels = simulate(300, 5)
    assert "at least 5 bins" in ScalingBinning(n_bins=4, share_classes=False).fit(logits, labels).notes()[-1]
    for enough in (ScalingBinning(n_bins=5, share_classes=False), ScalingBinning(n_bins=4)):
        assert not any("at least" in note for note in enough.fit(logits, labels).notes())
