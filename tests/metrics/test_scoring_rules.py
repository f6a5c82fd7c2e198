"""NLL and Brier score against loops, scikit-learn and closed forms.

Accuracy and top-k accuracy, ties above all.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calib import metrics
from calib.errors import CalibrationError


def test_nll_is_the_log_loss_of_scikit_learn(sample):
    probs, labels = sample
    assert metrics.nll(probs, labels) == pytest.approx(
        sklearn.metrics.log_loss(labels, probs), rel=1e-12
    )


def test_brier_is_the_squared_distance_from_the_one_hot_label(sample):
    probs, labels = sample
    total = 0.0
    for row, label in zip(probs, labels, strict=True):
        total += sum((p - (k == label)) ** 2 for k, p in enumerate(row))
    assert metrics.brier(probs, labels) == pytest.approx(total / len(labels), rel=1e-12)


def test_float32_probabilities_are_scored_in_double_precision(sample):
    probs, labels = sample
    single = probs.astype(np.float32)
    assert metrics.brier(single, labels) == pytest.approx(
        metrics.brier(single.astype(float), labels), rel=1e-12
    )
    assert metrics.nll(single, labels) == pytest.approx(
        metrics.nll(single.astype(float), labels), rel=1e-12
    )


def top_k_by_sorting(probs, labels, k, ranking):
    right = 0
    for p, label, keys in zip(probs, labels, ranking, strict=True):
        order = sorted(range(len(p)), key=lambda j: (-p[j], -keys[j], j))
        right += label in order[:k]
    return right / len(labels)


# Few distinct values, so that ties are common; equal values stay equal when a row is divided by its sum.
tied = hnp.arrays(np.float64, (12, 6), elements=st.sampled_from([0.0, 0.1, 0.2, 0.5])).map(
    lambda values: (values + 0.01) / (values + 0.01).sum(axis=1, keepdims=True)
)


@given(tied, tied, hnp.arrays(np.int64, 12, elements=st.integers(0, 5)), st.integers(1, 7))
def test_top_k_is_that_of_sorting_with_the_ranking_as_second_key(probs, ranking, labels, k):
    assert metrics.top_k_accuracy(probs, labels, k=k, ranking=ranking) == top_k_by_sorting(
        probs, labels, k, ranking
    )
    assert metrics.top_k_accuracy(probs, labels, k=k) == top_k_by_sorting(probs, labels, k, probs)


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_k_must_be_a_positive_whole_number(k):
    with pytest.raises(CalibrationError, match="k="):
        metrics.top_k_accuracy(np.eye(3), np.arange(3), k=k)


@pytest.mark.parametrize("digits", [1, 3, 12])
def test_the_ranking_of_an_event_is_that_of_scikit_learn(rng, digits):
    risk = np.round(rng.beta(1, 5, 400), digits)
    event, weights = (rng.random(400) < risk + 0.05).astype(int), rng.integers(1, 4, 400)
    both = np.stack([1 - risk, risk], axis=1)
    for ours, theirs in (
        (metrics.auroc, sklearn.metrics.roc_auc_score),
        (metrics.average_precision, sklearn.metrics.average_precision_score),
    ):
        assert (
            ours(risk, event) == ours(both, event) == pytest.approx(theirs(event, risk), rel=1e-12)
        )
        assert ours(risk, event, weights) == pytest.approx(
            theirs(event, risk, sample_weight=weights), rel=1e-12
        )
        assert np.isnan(ours(risk, np.zeros(400, int)))
