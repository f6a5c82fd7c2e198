from __future__ import annotations

import numpy as np
import pytest

from calib.base import CalibrationError
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.latent import confidence_effect, latent_curve
from calib.numerics import softmax
from tests.conftest import simulate


@pytest.fixture(scope="module")
def data():
    return simulate(1500, 4)


@pytest.fixture(scope="module", params=["logits", "probs"])
def calibrator(request, data):
    return GPCalib(inputs=request.param).fit(*data)


def test_every_curve_agrees_on_average_over_the_data(data):
    curve = latent_curve(GPCalib().fit(*data), *data, temperature=2.0)
    centres = (curve.density_edges[:-1] + curve.density_edges[1:]) / 2
    for values in (curve.mean, curve.temperature):
        away = np.interp(centres, curve.inputs, values - curve.identity)
        assert np.average(away, weights=curve.density_label + curve.density_other) == pytest.approx(0.0, abs=0.02)


def test_the_curve_is_the_function_that_predicts(data):
    logits, labels = data
    calibrator = GPCalib(prediction="mean").fit(logits, labels)
    curve = latent_curve(calibrator, logits, labels, n_points=4000)
    by_curve = softmax(np.interp(logits, curve.inputs, curve.mean))
    assert np.abs(by_curve - calibrator.predict_proba(logits)).max() < 1e-4


def test_the_band_covers_the_true_function(data):
    """Labels come from softmax(logits / 2), so the latent function is the line of slope 1/2, up to a shift."""
    logits, labels = data
    curve = latent_curve(GPCalib().fit(logits, labels), logits, labels, temperature=2.0)
    inside = (curve.inputs > np.quantile(logits, 0.05)) & (curve.inputs < np.quantile(logits, 0.95))
    assert (np.abs(curve.mean - curve.temperature) < 3.0 * curve.sd)[inside].mean() > 0.95
    assert np.ptp(curve.mean[inside]) < 0.7 * np.ptp(curve.inputs[inside])


def test_shapes_counts_and_order(data, calibrator):
    logits, labels = data
    curve = latent_curve(calibrator, logits, labels, n_points=123)
    assert curve.inputs.shape == curve.mean.shape == curve.sd.shape == curve.identity.shape == (123,)
    assert curve.temperature is None
    assert (np.diff(curve.inputs) > 0).all()
    assert (np.diff(curve.inducing_inputs) >= 0).all()
    assert curve.inducing_mean.shape == curve.inducing_sd.shape == (10,)
    assert curve.density_label.sum() == len(labels)
    assert curve.density_other.sum() == logits.size - len(labels)
    assert (curve.density_other >= 0).all()
    assert (curve.sd > 0).all()
    assert curve.objective_trace[-1] == calibrator.objective_


def test_badly_scaled_logits_are_shown_as_they_came(data):
    logits, labels = data
    curve = latent_curve(GPCalib(max_iter=20).fit(100 * logits, labels), 100 * logits, labels, temperature=200.0)
    assert curve.inputs[[0, -1]] == pytest.approx([100 * logits.min(), 100 * logits.max()])
    assert np.polyfit(curve.inputs, curve.temperature, 1)[0] == pytest.approx(1 / 200.0)


def test_the_effect_on_a_confidence(data, calibrator):
    logits, _ = data
    effects = confidence_effect(calibrator, logits)
    assert len(effects) == 3
    for level, (before, after, sd) in zip((0.6, 0.9, 0.99), effects, strict=True):
        assert before == pytest.approx(level, abs=0.02)
        assert after < before  # the simulated model is overconfident
        assert 0.0 < sd < 0.2


def test_a_level_without_rows_is_left_out(calibrator):
    assert confidence_effect(calibrator, np.zeros((5, 4)), levels=(0.25, 0.9))[0][0] == 0.25
    assert confidence_effect(calibrator, np.zeros((5, 4)), levels=(0.9,)) == []


def test_only_a_fitted_gpcalib_has_a_latent_function(data):
    for other in (GPCalib(), TemperatureScaling().fit(*data)):
        with pytest.raises(CalibrationError, match="needs a fitted GPCalib"):
            latent_curve(other, *data)
    with pytest.raises(CalibrationError, match="fitted on 4 classes"):
        latent_curve(GPCalib(max_iter=2).fit(*data), data[0][:, :3], data[1])
