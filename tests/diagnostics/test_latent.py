"""The latent function of GPcalib as a curve, what it changes, and its two-class probability."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from scipy.special import expit

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.diagnostics.latent import Truth, latent_curve
from calib.diagnostics.latent_effect import changes, departure, effect_curve
from calib.diagnostics.latent_pairwise import pairwise_curve
from calib.errors import CalibrationError
from calib.numerics import log_softmax, softmax
from tests.conftest import simulate
from tests.diagnostics.test_latent_effect import straight


@pytest.mark.long
def test_every_curve_agrees_on_average_over_the_data(data, fitted):
    truth = Truth(latent=lambda logits: logits / 2.0 + 7.0)
    curve = latent_curve(fitted["logits"], *data, temperature=2.0, truth=truth)
    for values in (curve.mean, curve.temperature, curve.truth):
        away = np.interp(data[0], curve.inputs, values - curve.prior)
        assert away.mean() == pytest.approx(0.0, abs=0.01)


def test_a_truth_that_is_a_temperature_is_the_line_of_that_temperature(data, fitted):
    curve = latent_curve(fitted["logits"], *data, temperature=2.0, truth=Truth(latent=lambda logits: logits / 2.0))
    np.testing.assert_allclose(curve.truth, curve.temperature, atol=1e-9)


def test_the_curve_is_the_function_that_predicts(data, fitted):
    logits, labels = data
    calibrator = copy(fitted["logits"]).set_params(prediction="mean")
    curve = latent_curve(calibrator, logits, labels, n_points=4000)
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
    assert curve.inputs[-1] == pytest.approx(100 * logits.max())
    assert np.polyfit(curve.inputs, curve.temperature, 1)[0] == pytest.approx(1 / 200.0)
    assert curve.prior_name == f"prior z / {calibrator.scale_:g}"


def test_logits_that_take_part_in_no_probability_are_left_out(data):
    logits = data[0].copy()
    rows = np.flatnonzero(data[1] != 0)[:700]
    logits[rows, 0] = -900.0
    calibrator = GPCalib(max_iter=2).fit(logits, data[1])
    curve = latent_curve(calibrator, logits, data[1])
    assert curve.inputs[0] == pytest.approx(logits.max() - 50.0 * calibrator.scale_)
    assert curve.density_other.sum() == logits.size - len(logits) - 700


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


def test_departure_counts_the_rows_outside_the_band():
    curve = effect_curve(straight(np.repeat([0.3, 0.6, 0.9], [10, 20, 70])))
    other = curve.after.copy()
    assert departure(curve, other).share == 0.0
    other[1] = 0.9
    found = departure(curve, other)
    assert found.share == pytest.approx(0.2)
    assert (found.before, found.difference) == pytest.approx((0.6, 0.6))


def log_odds(probs):
    return np.log(probs) - np.log1p(-probs)


@pytest.fixture(scope="module", params=["logits", "probs"])
def binary(request):
    """Log-probabilities of two classes, where there are two classes only."""
    logits, labels = simulate(800, 2)
    logits = log_softmax(logits)
    calibrator = GPCalib(inputs=request.param, prediction="mean", max_iter=20)
    return calibrator.fit(logits[:300], labels[:300]), logits, labels


def test_for_two_classes_it_is_what_the_calibrator_predicts(binary):
    calibrator, logits, labels = binary
    curve = pairwise_curve(calibrator, logits, labels)
    rows = np.log(np.stack([1 - curve.probs, curve.probs], axis=1))
    np.testing.assert_allclose(curve.mean, calibrator.predict_proba(rows)[:, 1], atol=1e-9)


def test_the_band_is_the_spread_of_the_drawn_functions(binary):
    calibrator, logits, labels = binary
    curve = pairwise_curve(calibrator, logits, labels)
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
    calibrator = GPCalib(prediction="mean", max_iter=20).fit(logits[:300], labels[:300])
    curve = pairwise_curve(calibrator, logits, labels)
    rows = np.stack([np.zeros_like(curve.probs), log_odds(curve.probs)], axis=1)
    np.testing.assert_allclose(curve.mean, calibrator.predict_proba(rows)[:, 1], atol=1e-9)


def test_references_are_known_curves(data, calibrator):
    curve = pairwise_curve(calibrator, *data, temperature=3.0, truth=Truth(latent=lambda logits: logits / 2.0))
    np.testing.assert_allclose(curve.prior, curve.probs)
    np.testing.assert_allclose(curve.temperature, expit(log_odds(curve.probs) / 3.0))
    np.testing.assert_allclose(curve.truth, expit(log_odds(curve.probs) / 2.0))


def test_a_true_map_is_drawn_as_it_is(binary):
    curve = pairwise_curve(*binary, truth=Truth(map=np.square))
    np.testing.assert_allclose(curve.truth, curve.probs**2)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_counts_bands_and_order(data, calibrator, scale):
    logits, labels = data
    curve = pairwise_curve(calibrator, logits, labels, scale=scale)
    assert curve.density_label.sum() == len(labels)
    assert curve.density_other.sum() == logits.size - len(labels)
    (low2, high2), (low1, high1) = curve.bands
    apart = np.abs(curve.probs - 0.5) > 0.01  # two equal classes keep 1/2 under every function
    assert ((low2 > 0) & (low2 < low1) & (low1 < curve.mean) & (curve.mean < high1) & (high1 < high2))[apart].all()
    assert len(curve.inducing.inputs) + curve.inducing.outside == len(calibrator.inducing_inputs_)


def test_inducing_points_lie_on_the_curve(data, calibrator):
    curve = pairwise_curve(calibrator, *data)
    points = curve.inducing
    assert len(points.inputs)
    np.testing.assert_allclose(points.mean, np.interp(points.inputs, curve.probs, curve.mean), atol=2e-3)
