"""NLL and Brier score against loops, scikit-learn and closed forms."""

import numpy as np
import pytest
import sklearn.metrics

from calib import metrics
from calib.errors import CalibrationError
from calib.numerics import softmax


@pytest.fixture
def sample(overconfident):
    logits, labels = overconfident
    return softmax(logits), labels


def test_nll_is_the_log_loss_of_scikit_learn(sample):
    probs, labels = sample
    assert metrics.nll(probs, labels) == pytest.approx(sklearn.metrics.log_loss(labels, probs), rel=1e-12)


def test_brier_is_the_squared_distance_from_the_one_hot_label(sample):
    probs, labels = sample
    total = 0.0
    for row, label in zip(probs, labels, strict=True):
        total += sum((p - (k == label)) ** 2 for k, p in enumerate(row))
    assert metrics.brier(probs, labels) == pytest.approx(total / len(labels), rel=1e-12)


def test_binary_brier_is_twice_that_of_scikit_learn(rng):
    p = rng.random(200)
    labels = (rng.random(200) < p).astype(int)
    half = sklearn.metrics.brier_score_loss(labels, p)
    assert metrics.brier(np.stack([1 - p, p], axis=1), labels) == pytest.approx(2 * half, rel=1e-12)


def test_probability_zero_costs_the_log_of_1e_15_and_is_counted():
    probs, labels = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1, 0])
    assert metrics.nll(probs, labels) == pytest.approx((15 * np.log(10) + np.log(2)) / 2)
    assert metrics.count_clipped(probs, labels) == 1


def test_certain_and_right_scores_zero():
    assert metrics.nll(np.eye(3), np.arange(3)) == 0.0
    assert metrics.brier(np.eye(3), np.arange(3)) == 0.0


def test_float32_probabilities_are_scored_in_double_precision(sample):
    probs, labels = sample
    single = probs.astype(np.float32)
    assert metrics.brier(single, labels) == pytest.approx(metrics.brier(single.astype(float), labels), rel=1e-12)
    assert metrics.nll(single, labels) == pytest.approx(metrics.nll(single.astype(float), labels), rel=1e-12)


@pytest.mark.parametrize(
    ("probs", "labels", "words"),
    [
        (np.ones((3, 1)), np.zeros(3, int), "at least 2 classes"),
        (np.ones((3, 2)) / 2, np.zeros(4, int), r"shape \(3,\)"),
        (np.ones((3, 2)) / 2, np.array([0, 1, 2]), r"0\.\.1"),
        (np.ones((0, 2)), np.zeros(0, int), "no rows"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_in_a_sentence(probs, labels, words):
    with pytest.raises(CalibrationError, match=words):
        metrics.nll(probs, labels)
