"""The latent function of GPcalib as a curve, and what it changes."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.diagnostics.latent import Truth, changes, latent_curve
from calib.errors import CalibrationError
from calib.numerics import softmax
from tests.diagnostics.test_latent_effect import straight


def test_every_curve_agrees_on_average_where_logits_decide(data, fitted):
    """Over all logits, most of which decide nothing, lines that are equal up to a shift would lie apart."""
    truth = Truth(latent=lambda logits: logits / 2.0 + 7.0)
    curve = latent_curve(fitted["logits"], *data, temperature=2.0, truth=truth)
    probs = softmax(data[0])
    for values in (curve.mean, curve.temperature, curve.truth):
        away = np.interp(data[0], curve.inputs, values - curve.prior)
        assert np.average(away, weights=probs * (1 - probs)) == pytest.approx(0.0, abs=0.01)
    away = np.abs(curve.temperature - curve.mean) > 2 * curve.sd
    there = np.interp(data[0], curve.inputs, away) > 0.5
    assert curve.temperature_outside == pytest.approx(np.average(there, weights=probs * (1 - probs)), abs=1e-6)
    assert curve.temperature_outside < 0.05  # the labels come from softmax(logits / 2)
    wrong = latent_curve(fitted["logits"], *data, temperature=0.5)
    assert wrong.temperature_outside > 0.5


def test_a_truth_that_is_a_temperature_is_the_line_of_that_temperature(data, fitted):
    curve = latent_curve(fitted["logits"], *data, temperature=2.0, truth=Truth(latent=lambda logits: logits / 2.0))
    np.testing.assert_allclose(curve.truth, curve.temperature, atol=1e-9)


def test_the_curve_is_the_function_that_predicts(data, fitted):
    logits, labels = data
    calibrator = copy(fitted["logits"]).set_params(prediction="mean")
    curve = latent_curve(calibrator, logits, labels, n_points=4000)
    logits = logits[((logits >= curve.inputs[0]) & (logits <= curve.inputs[-1])).all(axis=1)]
    assert len(logits) > 1000
    by_curve = softmax(np.interp(logits, curve.inputs, curve.mean))
    assert np.abs(by_curve - calibrator.predict_proba(logits)).max() < 1e-4


def test_the_band_covers_the_true_function(data, fitted):
    """Labels come from softmax(logits / 2), so the latent function is the line of slope 1/2, up to a shift."""
    logits, labels = data
    curve = latent_curve(fitted["logits"], logits, labels, truth=Truth(latent=lambda logits: logits / 2.0))
    inside = (curve.inputs > np.quantile(logits, 0.05)) & (curve.inputs < np.quantile(logits, 0.95))
    assert (np.abs(curve.mean - curve.truth) < 3.0 * curve.sd)[inside].mean() > 0.95
    assert np.ptp(curve.mean[inside]) < 0.7 * np.ptp(curve.inputs[inside])


def test_shapes_counts_and_order(data, calibrator):
    logits, labels = data
    curve = latent_curve(calibrator, logits, labels, n_points=123)
    assert curve.inputs.shape == curve.mean.shape == curve.sd.shape == curve.prior.shape == (123,)
    assert curve.temperature is None
    assert curve.truth is None
    assert (np.diff(curve.inputs) > 0).all()
    assert curve.density_label.sum() == len(labels)
    assert curve.density_other.sum() == logits.size - len(labels)
    assert (curve.density_other >= 0).all()
    assert (curve.sd > 0).all()
    assert curve.every == 1


def test_inducing_points_lie_on_the_curve_and_in_its_band(data, calibrator):
    curve = latent_curve(calibrator, *data, n_points=4000)
    points = curve.inducing
    assert len(points.inputs) + points.outside == len(calibrator.inducing_inputs_)
    assert (np.diff(points.inputs) >= 0).all()
    np.testing.assert_allclose(points.mean, np.interp(points.inputs, curve.inputs, curve.mean), atol=0.01)
    sd = np.interp(points.inputs, curve.inputs, curve.sd)
    for (low, high), width in zip(points.bands, (2, 1), strict=True):
        np.testing.assert_allclose((points.mean - low) / width, sd, rtol=0.05)
        np.testing.assert_allclose((high - points.mean) / width, sd, rtol=0.05)


def test_the_prior_has_a_name(data, fitted):
    assert latent_curve(fitted["logits"], *data).prior_name == "identity"
    assert latent_curve(fitted["probs"], *data).prior_name == "ln prior"


def test_badly_scaled_logits_are_shown_as_they_came(data):
    logits, labels = data
    calibrator = GPCalib(max_iter=2).fit(100 * logits[:200], labels[:200])
    curve = latent_curve(calibrator, 100 * logits, labels, temperature=200.0)
    assert 0 < curve.inputs[-1] <= 100 * logits.max() * (1 + 1e-12)
    assert np.polyfit(curve.inputs, curve.temperature, 1)[0] == pytest.approx(1 / 200.0)
    assert curve.prior_name == f"prior z / {calibrator.scale_:g}"


def test_logits_that_decide_no_probability_are_beyond_the_picture(data):
    """Lines equal up to a shift lie apart there, and would say otherwise than the sentence that weighs them."""
    logits = data[0].copy()
    rows = np.flatnonzero(data[1] != 0)[:700]
    logits[rows, 0] = -900.0
    calibrator = GPCalib(max_iter=2).fit(logits, data[1])
    curve = latent_curve(calibrator, logits, data[1])
    weights = (probs := softmax(logits)) * (1 - probs)
    beyond = (logits < curve.inputs[0]) | (logits > curve.inputs[-1])
    assert weights[beyond].sum() < 0.01 * weights.sum()
    assert curve.inputs[0] > -50 * calibrator.scale_
    assert curve.density_other.sum() == logits.size - len(logits)
    assert curve.density_other[0] >= 700


def test_many_rows_are_thinned_and_said_to_be(data, fitted):
    # Every third of 20 copies of 1499 rows meets each row, so the thinned copies say what the rows say.
    once = data[0][:1499], data[1][:1499]
    logits, labels = np.tile(once[0], (20, 1)), np.tile(once[1], 20)
    curve = latent_curve(fitted["logits"], logits, labels)
    assert curve.every == 3
    assert curve.density_label.sum() == -(-len(labels) // 3)
    whole = latent_curve(fitted["logits"], *once)
    np.testing.assert_allclose(curve.mean, whole.mean, atol=0.01)


def test_only_a_fitted_gpcalib_has_a_latent_function(data, fitted):
    for other in (GPCalib(), TemperatureScaling().fit(*data)):
        with pytest.raises(CalibrationError, match="needs a fitted GPCalib"):
            latent_curve(other, *data)
    with pytest.raises(CalibrationError, match="fitted on 4 classes"):
        latent_curve(fitted["logits"], data[0][:, :3], np.minimum(data[1], 2))


def test_each_group_has_its_mean_change_and_its_spread():
    effect = straight(np.concatenate([np.full(10, 0.95), np.full(30, 0.7), np.full(10, 0.2)]), slope=0.9)
    found = changes(effect)
    assert [(group.low, group.high, group.count) for group in found] == [(0.9, 1.0, 10), (0.5, 0.9, 30), (0, 0.5, 10)]
    for group, level in zip(found, (0.95, 0.7, 0.2), strict=True):
        assert group.change == pytest.approx(-0.1 * level)
        assert group.sd == pytest.approx((effect.draws.std(axis=1) / effect.before)[0] * level)


def test_few_rows_are_not_spoken_of():
    effect = straight(np.concatenate([np.full(4, 0.95), np.full(5, 0.7)]))
    assert [group.count for group in changes(effect)] == [5]


def test_a_rounded_one_is_above_nine_tenths():
    assert changes(straight(np.full(9, 1.0 + 1e-15)))[0].count == 9


@pytest.mark.parametrize(("slope", "certain"), [(0.5, True), (0.95, False)])
def test_a_change_within_two_standard_deviations_is_not_certain(slope, certain):
    assert changes(straight(np.full(9, 0.8), slope=slope))[0].certain is certain
