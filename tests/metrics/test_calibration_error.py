"""Calibration errors against loops, closed forms, and properties that hold for any data.

Class-wise calibration error, with and without the threshold.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calib import metrics
from calib.errors import CalibrationError
from tests.metrics.conftest import binnings, pair, rows

NORMS = st.sampled_from([1, 1.5, 2, np.inf])


def ece_by_loop(confidence, correct, n_bins, norm):
    gaps, shares = [], []
    for b in range(n_bins):
        inside = [
            i
            for i, c in enumerate(confidence)
            if b / n_bins <= c < (b + 1) / n_bins or (c == 1 and b == n_bins - 1)
        ]
        if inside:
            gaps.append(
                abs(
                    np.mean([confidence[i] for i in inside]) - np.mean([correct[i] for i in inside])
                )
            )
            shares.append(len(inside) / len(confidence))
    if norm == np.inf:
        return max(gaps)
    return sum(w * g**norm for w, g in zip(shares, gaps, strict=True)) ** (1 / norm)


@given(
    rows, st.sampled_from([1, 2, 4, 8, 16]), NORMS
)  # powers of 2, so that the edges are exact in the loop too
def test_ece_is_the_weighted_norm_of_the_gaps_of_the_bins(rows, n_bins, norm):
    confidence, correct = pair(rows)
    expected = ece_by_loop(confidence, correct, n_bins, norm)
    assert metrics.ece(confidence, correct, n_bins, norm) == pytest.approx(expected, abs=1e-12)


@given(rows, st.integers(1, 20), NORMS, binnings)
def test_ece_lies_between_0_and_1_and_ignores_the_order_of_rows(rows, n_bins, norm, binning):
    confidence, correct = pair(rows)
    value = metrics.ece(confidence, correct, n_bins, norm, binning)
    assert 0.0 <= value <= 1.0 + 1e-12
    back = metrics.ece(confidence[::-1], correct[::-1], n_bins, norm, binning)
    assert back == pytest.approx(value, abs=1e-12)


def smooth_error_by_quadrature(confidence, correct, width):
    grid = (np.arange(2000) + 0.5) / 2000
    images = (confidence, -confidence, 2.0 - confidence, confidence - 2.0, confidence + 2.0)
    kernel = sum(norm.pdf(grid[:, None], image, width) for image in images)
    return np.abs(kernel @ (correct - confidence) / len(confidence)).mean()


@pytest.mark.parametrize("power", [1.0, 2.0, 6.0])
def test_smooth_ece_is_the_fixed_point_of_the_definition(rng, power):
    confidence = rng.uniform(0.05, 0.95, 400)
    correct = rng.random(400) < confidence**power
    value = metrics.smooth_ece(confidence, correct)
    assert smooth_error_by_quadrature(confidence, correct, value) == pytest.approx(value, abs=2e-4)


@pytest.mark.parametrize(("confidence", "error"), [(0.9, 0.3), (1.0, 0.4), (0.0, 0.6)])
def test_residuals_of_one_sign_are_their_own_smooth_error(confidence, error):
    correct = np.arange(100) < 60
    assert metrics.smooth_ece(np.full(100, confidence), correct) == pytest.approx(error, abs=1e-9)
    assert metrics.smooth_ece(np.ones(3), np.full(3, False)) == pytest.approx(1.0)


def debiased_by_loop(confidence, correct, n_bins):
    total = 0.0
    for b in range(n_bins):
        rows = [i for i, c in enumerate(confidence) if min(int(c * n_bins), n_bins - 1) == b]
        if len(rows) > 1:
            accuracy = np.mean([correct[i] for i in rows])
            noise = np.var([float(correct[i]) for i in rows], ddof=1) / len(rows)
            total += (
                len(rows)
                / len(confidence)
                * ((np.mean([confidence[i] for i in rows]) - accuracy) ** 2 - noise)
            )
    return max(total, 0.0) ** 0.5


@given(rows, st.sampled_from([1, 2, 4, 8]))
def test_the_debiased_error_subtracts_the_variance_of_each_accuracy(rows, n_bins):
    confidence, correct = pair(rows)
    found = metrics.debiased_ece(confidence, correct, n_bins, "equal_width")
    assert found == pytest.approx(debiased_by_loop(confidence, correct, n_bins), abs=1e-8)


def test_the_debiased_error_of_few_rows_is_that_of_many(rng):
    squares = []
    for _ in range(300):
        confidence = rng.choice([0.5, 0.7, 0.9], 90)
        correct = rng.random(90) < confidence - 0.2
        squares.append(metrics.debiased_ece(confidence, correct, 3) ** 2)
    assert np.mean(squares) == pytest.approx(
        0.04, abs=0.004
    )  # with its noise the squared error would be 0.046


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


@pytest.mark.parametrize(
    ("threshold", "above"), [(None, -1.0), (0.0, 0.0), ("1/K", 0.25), (0.6, 0.6)]
)
def test_classwise_ece_is_the_mean_over_classes(sample, threshold, above):
    probs, labels = sample
    expected = classwise_by_loop(probs, labels, 16, above, "kept")
    assert metrics.classwise_ece(probs, labels, 16, threshold) == pytest.approx(expected, abs=1e-12)
    weights = 1 + np.arange(len(labels)) % 3
    repeated = metrics.classwise_ece(
        np.repeat(probs, weights, axis=0), np.repeat(labels, weights), 16, threshold
    )
    assert metrics.classwise_ece(probs, labels, 16, threshold, weights=weights) == pytest.approx(
        repeated, abs=1e-12
    )


@pytest.mark.parametrize("threshold", [None, 0.3])
@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("n_bins", [1, 6])
@pytest.mark.parametrize("binning", sorted(metrics.BINNINGS))
def test_the_error_of_a_class_is_the_ece_of_its_probability(
    sample, threshold, norm, n_bins, binning
):
    probs, labels = (each[:200] for each in sample)
    weights = (np.arange(200) % 4) / 7
    expected = []
    for k in range(4):
        kept = probs[:, k] > (threshold or -1.0)
        of_class = probs[kept, k], labels[kept] == k
        expected.append(
            metrics.ece(*of_class, n_bins, norm, binning, weights[kept]) if kept.any() else 0.0
        )
    found = metrics.classwise_ece(probs, labels, n_bins, threshold, binning, norm, weights)
    assert found == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("threshold", ["2/K", -0.1, 1.0, np.array([0.1, 0.2])])
def test_wrong_thresholds_are_refused(sample, threshold):
    with pytest.raises(CalibrationError, match="threshold"):
        metrics.classwise_ece(*sample, threshold=threshold)
