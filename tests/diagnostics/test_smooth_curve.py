"""Kernel reliability curves against direct sums, and what makes their picture agree with the number."""

import numpy as np
import pytest
from scipy.stats import norm

from calib import metrics
from calib.diagnostics.smooth_reliability import N_CELLS, reflected_kernel, smooth_curve
from calib.evaluation import evaluate, score_intervals
from calib.numerics import softmax


def naive_accuracy(points, confidence, correct, width):
    values = []
    for t in points:
        weight = sum(norm.pdf(t, image, width) for m in (-2, 0, 2) for image in (confidence + m, m - confidence))
        values.append(t + weight @ (correct - confidence) / weight.sum())
    return np.array(values)


def test_curve_is_the_weighted_mean_of_what_confidence_misses(rng):
    confidence = rng.uniform(0.4, 1.0, 600)
    correct = rng.random(600) < confidence**2
    curve = smooth_curve(confidence, correct)
    known = np.isfinite(curve.accuracy)
    assert known.mean() > 0.9
    expected = np.clip(naive_accuracy(curve.confidence, confidence, correct, curve.width), 0.0, 1.0)
    np.testing.assert_allclose(curve.accuracy[known], expected[known], atol=2e-3)
    assert ((curve.low <= curve.accuracy) & (curve.accuracy <= curve.high))[known].all()
    assert curve.error.value == curve.width == metrics.smooth_ece(confidence, correct)


def test_mean_distance_to_the_diagonal_over_the_smoothed_confidences_is_the_smooth_ece(rng):
    confidence = rng.beta(5, 2, 2000)
    correct = rng.random(2000) < confidence**2
    width = metrics.smooth_ece(confidence, correct)
    grid = (np.arange(N_CELLS) + 0.5) / N_CELLS
    cell = np.minimum((confidence * N_CELLS).astype(int), N_CELLS - 1)
    kernel = reflected_kernel(grid, width)
    np.testing.assert_allclose(kernel.mean(axis=0), 1.0, atol=1e-6)  # mirrors keep all mass in [0, 1]
    mass = kernel @ np.bincount(cell, minlength=N_CELLS) / 2000
    distance = kernel @ np.bincount(cell, correct - confidence, minlength=N_CELLS) / 2000 / mass
    assert (mass * np.abs(distance)).mean() == pytest.approx(width, abs=1e-5)


def test_band_holds_the_diagonal_of_calibrated_confidences(rng):
    inside = []
    for _ in range(20):
        confidence = rng.beta(5, 2, 3000)
        curve = smooth_curve(confidence, rng.random(3000) < confidence)
        known = np.isfinite(curve.accuracy)
        middle = known & (curve.confidence > 0.3) & (curve.confidence < 0.95)
        inside.append(((curve.low <= curve.confidence) & (curve.confidence <= curve.high))[middle].mean())
    assert 0.85 <= np.mean(inside) <= 1.0


def test_interval_of_the_error_is_that_of_the_shared_scores(overconfident):
    logits, labels = overconfident
    evaluation = evaluate(softmax(logits), labels)
    curve = smooth_curve(*evaluation.pair)
    expected = score_intervals(evaluation)["smooth ECE"]
    np.testing.assert_allclose(curve.error, expected, rtol=1e-9)
    assert expected.low > 0.0  # overconfident on average, beyond chance


@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_constant_confidences_are_drawn(n, value):
    curve = smooth_curve(np.full(n, value), np.arange(n) % 2 == 0)
    np.testing.assert_array_equal(curve.confidence, [value])
    assert curve.accuracy[0] == pytest.approx(np.mean(np.arange(n) % 2 == 0), abs=1e-3)


def test_nothing_is_claimed_where_there_are_no_rows(rng):
    confidence = np.r_[rng.uniform(0.1, 0.2, 500), rng.uniform(0.9, 1.0, 500)]
    curve = smooth_curve(confidence, rng.random(1000) < confidence)
    between = (curve.confidence > 0.4) & (curve.confidence < 0.7)
    assert between.any() and np.isnan(curve.accuracy[between]).all() and np.isnan(curve.low[between]).all()
    assert len(curve.confidence) <= 202
