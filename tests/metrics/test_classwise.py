"""Class-wise calibration error, with and without the threshold."""

import numpy as np
import pytest

from calib import metrics
from calib.errors import CalibrationError
from calib.numerics import softmax


def classwise_by_loop(probs, labels, n_bins, above, divide_by):
    n, n_classes = probs.shape
    total = 0.0
    for k in range(n_classes):
        kept = probs[:, k] > above
        if not kept.any():
            continue
        values, hits = probs[kept, k], labels[kept] == k
        cell = np.minimum((values * n_bins).astype(int), n_bins - 1)
        for b in set(cell):
            inside = cell == b
            share = inside.sum() / (kept.sum() if divide_by == "kept" else n)
            total += share * abs(values[inside].mean() - hits[inside].mean())
    return total / n_classes


@pytest.fixture
def sample(overconfident):
    logits, labels = overconfident
    return softmax(logits), labels


@pytest.mark.parametrize(("threshold", "above"), [(None, -1.0), ("1/K", 0.25), (0.6, 0.6)])
def test_classwise_ece_is_the_mean_over_classes(sample, threshold, above):
    probs, labels = sample
    expected = classwise_by_loop(probs, labels, 16, above, "kept")
    assert metrics.classwise_ece(probs, labels, 16, threshold) == pytest.approx(expected, abs=1e-12)


def test_shares_are_of_the_count_kept_not_of_all_rows(sample):
    probs, labels = sample
    wrong = classwise_by_loop(probs, labels, 16, 0.25, "all")
    assert metrics.classwise_ece(probs, labels, 16, "1/K") > 1.5 * wrong


def test_many_classes_are_averaged_over_all_of_them(rng):
    probs = softmax(rng.normal(size=(50, 150)))
    labels = rng.integers(0, 150, 50)
    expected = classwise_by_loop(probs, labels, 15, -1.0, "kept")
    assert metrics.classwise_ece(probs, labels) == pytest.approx(expected, abs=1e-12)


def test_nothing_above_the_threshold_is_no_error():
    assert metrics.classwise_ece(np.full((4, 2), 0.5), np.array([0, 0, 1, 1]), threshold=0.9) == 0.0


def test_every_class_of_a_binary_problem_has_the_same_error(sample, rng):
    p = rng.random(300)
    labels = (rng.random(300) < p**2).astype(int)
    probs = np.stack([1 - p, p], axis=1)
    assert metrics.classwise_ece(probs, labels, 16) == pytest.approx(metrics.ece(p, labels == 1, 16), abs=1e-12)


@pytest.mark.parametrize("threshold", ["2/K", -0.1, 1.0])
def test_wrong_thresholds_are_refused(sample, threshold):
    with pytest.raises(CalibrationError, match="threshold"):
        metrics.classwise_ece(*sample, threshold=threshold)
