from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from calib.calibrators.gpcalib import GPCalib
from calib.diagnostics.latent_baseline import rival_curve
from calib.diagnostics.truth import Truth
from calib.numerics import log_softmax
from tests.conftest import simulate


def log_odds(probs):
    return np.log(probs) - np.log1p(-probs)


@pytest.fixture(scope="module", params=["logits", "probs"])
def binary(request):
    """Log-probabilities of two classes, where one class against one rival is all there is."""
    logits, labels = simulate(800, 2)
    logits = log_softmax(logits)
    return GPCalib(inputs=request.param, prediction="mean").fit(logits, labels), logits, labels


def test_for_two_classes_it_is_what_the_calibrator_predicts(binary):
    calibrator, logits, labels = binary
    curve = rival_curve(calibrator, logits, labels)
    rows = np.log(np.stack([1 - curve.probs, curve.probs], axis=1))
    np.testing.assert_allclose(curve.mean, calibrator.predict_proba(rows)[:, 1], atol=1e-9)


def test_the_band_is_the_spread_of_the_drawn_functions(binary):
    calibrator, logits, labels = binary
    curve = rival_curve(calibrator, logits, labels)
    rows = np.log(np.stack([1 - curve.probs, curve.probs], axis=1))
    inputs, prior = calibrator.kernel_inputs(rows)
    grid = calibrator.grid()
    drawn = [prior + grid.interpolate(draw, inputs) for draw in calibrator.shift_draws_]
    sd = np.std([latents[:, 1] - latents[:, 0] for latents in drawn], axis=0)
    (low2, high2), (low1, high1) = (tuple(map(log_odds, band)) for band in curve.bands)
    for low, high, width in ((low2, high2, 2), (low1, high1, 1)):
        np.testing.assert_allclose(high - low, 2 * width * sd, rtol=1e-6, atol=1e-9)


def test_log_odds_beside_a_constant_zero_are_a_pair_of_their_own():
    logits, labels = simulate(800, 2)
    logits = np.stack([np.zeros(800), logits[:, 1] - logits[:, 0]], axis=1)
    calibrator = GPCalib(prediction="mean").fit(logits, labels)
    curve = rival_curve(calibrator, logits, labels)
    rows = np.stack([np.zeros_like(curve.probs), log_odds(curve.probs)], axis=1)
    np.testing.assert_allclose(curve.mean, calibrator.predict_proba(rows)[:, 1], atol=1e-9)


def test_references_are_known_curves(data, calibrator):
    curve = rival_curve(calibrator, *data, temperature=3.0, truth=Truth(latent=lambda logits: logits / 2.0))
    np.testing.assert_allclose(curve.prior, curve.probs)
    np.testing.assert_allclose(curve.temperature, expit(log_odds(curve.probs) / 3.0))
    np.testing.assert_allclose(curve.truth, expit(log_odds(curve.probs) / 2.0))


def test_a_true_map_is_drawn_as_it_is(binary):
    curve = rival_curve(*binary, truth=Truth(map=np.square))
    np.testing.assert_allclose(curve.truth, curve.probs**2)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_counts_bands_and_order(data, calibrator, scale):
    logits, labels = data
    curve = rival_curve(calibrator, logits, labels, scale=scale)
    assert curve.density_label.sum() == len(labels)
    assert curve.density_other.sum() == logits.size - len(labels)
    (low2, high2), (low1, high1) = curve.bands
    apart = np.abs(curve.probs - 0.5) > 0.01  # one against an equal rival keeps 1/2 under every function
    assert ((low2 > 0) & (low2 < low1) & (low1 < curve.mean) & (curve.mean < high1) & (high1 < high2))[apart].all()
    assert len(curve.inducing.inputs) + curve.inducing.outside == len(calibrator.inducing_inputs_)


def test_inducing_points_lie_on_the_curve(data, calibrator):
    curve = rival_curve(calibrator, *data)
    points = curve.inducing
    assert len(points.inputs)
    np.testing.assert_allclose(points.mean, np.interp(points.inputs, curve.probs, curve.mean), atol=2e-3)
