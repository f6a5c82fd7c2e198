"""Smooth ECE against direct quadrature of its definition."""

import numpy as np
import pytest
from scipy.stats import norm

from calib import metrics
from calib.errors import CalibrationError


def smooth_error_by_quadrature(confidence, correct, width):
    grid = (np.arange(2000) + 0.5) / 2000
    images = (confidence, -confidence, 2.0 - confidence, confidence - 2.0, confidence + 2.0)
    kernel = sum(norm.pdf(grid[:, None], image, width) for image in images)
    return np.abs(kernel @ (correct - confidence) / len(confidence)).mean()


@pytest.mark.parametrize("power", [1.0, 2.0, 6.0])
def test_smooth_ece_is_the_fixed_point_of_the_definition(rng, power):
    confidence = rng.uniform(0.3, 1.0, 400)
    confidence[:60] = 1.0
    correct = rng.random(400) < confidence**power
    value = metrics.smooth_ece(confidence, correct)
    assert smooth_error_by_quadrature(confidence, correct, value) == pytest.approx(value, abs=2e-4)


def test_constant_residual_is_its_own_smooth_error():
    # All at .9 with accuracy .6: however it is smoothed, the residual keeps its sign and so its integral.
    correct = np.arange(100) < 60
    assert metrics.smooth_ece(np.full(100, 0.9), correct) == pytest.approx(0.3, abs=1e-6)


def test_smooth_ece_is_at_least_the_gap_and_0_without_residuals(rng):
    confidence = rng.random(300)
    correct = rng.random(300) < 0.5
    assert metrics.smooth_ece(confidence, correct) >= metrics.confidence_gap(confidence, correct) - 1e-9
    assert metrics.smooth_ece(np.array([1.0, 1.0, 0.0]), np.array([True, True, False])) == 0.0


def test_relplot_convention_agrees_away_from_the_ends_of_the_grid(rng):
    confidence = rng.uniform(0.4, 0.7, 2000)
    correct = rng.random(2000) < confidence - 0.1
    plain = metrics.smooth_ece(confidence, correct)
    assert metrics.smooth_ece(confidence, correct, convention="relplot") == pytest.approx(plain, rel=0.01)
    with pytest.raises(CalibrationError, match="no convention"):
        metrics.smooth_ece(confidence, correct, convention="other")
