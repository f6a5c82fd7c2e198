"""Consistency bands hold the curves of calibrated models as often as they say, and not those of others."""

import numpy as np
import pytest
from scipy.stats import binom

from calib.diagnostics.consistency import binned_consistency, corp_consistency, smooth_consistency
from calib.diagnostics.corp import corp_curve
from calib.diagnostics.reliability import reliability_curve
from calib.diagnostics.smooth_reliability import smooth_curve
from calib.metrics.consistency import calibrated_outcomes


def band_and_line(kind, confidence, correct):
    """A band, and the curve at the points of the band."""
    if kind == "binned":
        curve = reliability_curve(confidence, correct, 15, "equal_mass")
        return binned_consistency(curve, confidence), curve.accuracy
    if kind == "smooth":
        smooth = smooth_curve(confidence, correct)
        return smooth_consistency(smooth, confidence), smooth.accuracy
    curve = corp_curve(confidence, correct)
    band = corp_consistency(confidence)
    return band, np.interp(band.confidence, curve.confidence, curve.accuracy)


def share_inside(kind, confidence, correct):
    band, line = band_and_line(kind, confidence, correct)
    assert len(band.confidence) <= 202
    known = np.isfinite(line) & np.isfinite(band.low)
    return ((band.low - 1e-9 <= line) & (line <= band.high + 1e-9))[known].mean()


@pytest.mark.parametrize("kind", ["binned", "smooth", "corp"])
def test_curves_of_calibrated_models_lie_inside_about_as_often_as_the_band_says(kind, rng):
    inside = []
    for _ in range(60):
        confidence = rng.beta(5, 2, 1500)
        inside.append(share_inside(kind, confidence, rng.random(1500) < confidence))
    assert 0.92 <= np.mean(inside) <= 0.985, np.mean(inside)


@pytest.mark.parametrize("kind", ["binned", "smooth", "corp"])
def test_curves_of_overconfident_models_lie_outside(kind, rng):
    confidence = rng.beta(5, 2, 5000)
    assert share_inside(kind, confidence, rng.random(5000) < confidence**2) < 0.4


def test_band_of_tied_confidences_is_the_binomials(rng):
    confidence = np.full(200, 0.8)
    curve = reliability_curve(confidence, rng.random(200) < 0.8, 5)
    band = binned_consistency(curve, confidence)
    np.testing.assert_allclose([band.low[0], band.high[0]], binom(200, 0.8).ppf([0.025, 0.975]) / 200, atol=0.011)


def test_sure_rows_are_always_right():
    count, mean, right = calibrated_outcomes(
        np.r_[np.ones(4), np.zeros(3)], np.r_[np.ones(4, int), np.zeros(3, int)], 7
    )
    np.testing.assert_array_equal(count, [3, 4])
    np.testing.assert_array_equal(mean, [0.0, 1.0])
    np.testing.assert_array_equal(right, np.tile([0, 4], (7, 1)))
