"""The latent function of GPcalib as a curve, and what it makes of the confidence of each row."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest

from calib.calibrators.gpcalib import GPCalib
from calib.diagnostics.latent import (
    ConfidenceEffect,
    changes,
    confidence_effect,
    effect_curve,
    latent_curve,
)
from calib.numerics import softmax
from tests.conftest import simulate


def halved(logits):
    return logits / 2.0 + 7.0


@pytest.mark.long
def test_every_curve_agrees_on_average_where_logits_decide(data, fitted):
    """Over all logits, most of which decide nothing, lines that are equal up to a shift would lie apart."""
    curve = latent_curve(fitted["logits"], *data, temperature=2.0, truth=halved)
    probs = softmax(data[0])
    for values in (curve.mean, curve.temperature, curve.truth):
        away = np.interp(data[0], curve.inputs, values - curve.prior)
        assert np.average(away, weights=probs * (1 - probs)) == pytest.approx(0.0, abs=0.01)
    away = np.abs(curve.temperature - curve.mean) > 2 * curve.sd
    there = np.interp(data[0], curve.inputs, away) > 0.5
    assert curve.temperature_outside == pytest.approx(
        np.average(there, weights=probs * (1 - probs)), abs=1e-6
    )
    assert curve.temperature_outside < 0.05  # the labels come from softmax(logits / 2)
    assert latent_curve(fitted["logits"], *data, temperature=0.5).temperature_outside > 0.5


def test_the_curve_is_the_function_that_predicts(data, fitted):
    logits, labels = data
    calibrator = copy(fitted["logits"]).set_params(prediction="mean")
    curve = latent_curve(calibrator, logits, labels, n_points=4000)
    logits = logits[((logits >= curve.inputs[0]) & (logits <= curve.inputs[-1])).all(axis=1)]
    assert len(logits) > 400
    by_curve = softmax(np.interp(logits, curve.inputs, curve.mean))
    assert np.abs(by_curve - calibrator.predict_proba(logits)).max() < 1e-4


def test_the_band_covers_the_true_function(data, fitted):
    """Labels come from softmax(logits / 2), so the latent function is the line of slope 1/2, up to a shift."""
    logits, labels = data
    curve = latent_curve(fitted["logits"], logits, labels, truth=halved)
    inside = (curve.inputs > np.quantile(logits, 0.05)) & (curve.inputs < np.quantile(logits, 0.95))
    assert (np.abs(curve.mean - curve.truth) < 3.0 * curve.sd)[inside].mean() > 0.95
    assert np.ptp(curve.mean[inside]) < 0.7 * np.ptp(curve.inputs[inside])


def test_shapes_counts_and_order(data, calibrator):
    logits, labels = data
    curve = latent_curve(calibrator, logits, labels, n_points=123)
    assert len(curve.inputs) == 123 and (np.diff(curve.inputs) > 0).all()
    assert curve.density_label.sum() == len(labels)
    assert curve.density_other.sum() == logits.size - len(labels)
    assert (curve.sd > 0).all() and curve.every == 1
    assert curve.prior_name == ("identity" if calibrator.inputs == "logits" else "ln prior")
    inside = (calibrator.inducing_inputs_ >= curve.inputs[0]) & (
        calibrator.inducing_inputs_ <= curve.inputs[-1]
    )
    np.testing.assert_array_equal(curve.inducing, np.sort(calibrator.inducing_inputs_[inside]))


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
    rows = np.flatnonzero(data[1] != 0)[:300]
    logits[rows, 0] = -900.0
    calibrator = GPCalib(max_iter=2).fit(logits, data[1])
    curve = latent_curve(calibrator, logits, data[1])
    weights = (probs := softmax(logits)) * (1 - probs)
    beyond = (logits < curve.inputs[0]) | (logits > curve.inputs[-1])
    assert weights[beyond].sum() < 0.01 * weights.sum()
    assert curve.inputs[0] > -50 * calibrator.scale_
    assert curve.density_other[0] >= 300


def test_many_rows_are_thinned_and_said_to_be(data, fitted):
    # Every third of 50 copies of 599 rows meets each row, so the thinned copies say what the rows say.
    once = data[0][:599], data[1][:599]
    logits, labels = np.tile(once[0], (50, 1)), np.tile(once[1], 50)
    curve, whole = (
        latent_curve(fitted["logits"], logits, labels),
        latent_curve(fitted["logits"], *once),
    )
    assert curve.every == 3
    np.testing.assert_allclose(curve.mean, whole.mean, atol=0.01)
    effect = confidence_effect(fitted["logits"], logits, labels)
    assert (effect.every, len(effect.before)) == (3, -(-len(labels) // 3))


# -- the effect on rows --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return simulate(400, 4, seed=1)


def test_the_effect_is_the_average_over_the_drawn_functions(calibrator, rows):
    """Against one softmax for each drawn function; another fit's grid interpolates up to ten times worse."""
    logits, labels = rows
    effect = confidence_effect(calibrator, logits, labels)
    raw = softmax(logits)
    top, order = raw.argmax(axis=1), np.argsort(raw.max(axis=1), kind="stable")
    inputs, prior = calibrator.kernel_inputs(logits)
    growth = [
        calibrator.grid().interpolate(np.exp(draw), inputs) for draw in calibrator.shift_draws_
    ]
    probs = np.array([softmax(prior + np.log(grown)) for grown in growth])
    drawn = probs[:, np.arange(len(top)), top][:, order].T
    np.testing.assert_allclose(effect.draws, drawn, atol=2e-5)
    np.testing.assert_allclose(effect.after, drawn.mean(axis=1), atol=2e-5)
    np.testing.assert_array_equal(effect.before, raw.max(axis=1)[order])
    np.testing.assert_array_equal(effect.right, (labels == top)[order])


def test_references_follow_the_same_class_as_this_calibrator_predicts(fitted, rows):
    calibrator = copy(fitted["logits"]).set_params(prediction="mean")
    effect = confidence_effect(calibrator, *rows, temperature=2.0, truth=halved)
    np.testing.assert_allclose(effect.temperature, effect.truth)
    np.testing.assert_allclose(
        np.sort(effect.temperature), np.sort(softmax(rows[0] / 2.0).max(axis=1))
    )
    probs, top = calibrator.predict_proba(rows[0]), rows[0].argmax(axis=1)
    order = np.argsort(softmax(rows[0]).max(axis=1), kind="stable")
    np.testing.assert_array_equal(effect.after, probs[np.arange(len(top)), top][order])


def test_bins_hold_every_row_once_and_keep_the_means(calibrator, rows):
    effect = confidence_effect(calibrator, *rows, temperature=2.0)
    curve = effect_curve(effect)
    assert curve.count.tolist() == [25] * 16
    assert (np.diff(curve.before) > 0).all()
    pairs = [
        (curve.before, effect.before), (curve.after, effect.after), (curve.accuracy, effect.right),
        (curve.temperature, effect.temperature),
    ]  # fmt: skip
    for binned, whole in pairs:
        assert np.average(binned, weights=curve.count) == pytest.approx(whole.mean())
    mean = effect.draws[25:50].astype(float).mean(axis=0)
    assert curve.sd[1] == pytest.approx(mean.std())
    for (low, high), share in zip(curve.bands, (0.954, 0.683), strict=True):
        assert np.mean((low[1] <= mean) & (mean <= high[1])) == pytest.approx(share, abs=0.02)


def straight(before, slope=0.5, n_draws=8):
    """An effect that is the line ``slope * before`` exactly, and differs between draws by a tenth of that."""
    before = np.sort(before)
    factors = slope * (1 + 0.1 * np.linspace(-1, 1, n_draws))
    return ConfidenceEffect(
        before=before, after=slope * before, draws=before[:, None] * factors, right=np.ones(len(before), bool),
        temperature=None, truth=None, changed=0, every=1,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "bins"), [(1, [1]), (49, [49]), (50, [25, 25])])
def test_few_rows_make_few_bins(n, bins):
    assert effect_curve(straight(np.linspace(0.4, 0.99, n))).count.tolist() == bins


def test_each_group_has_its_mean_change_and_its_spread():
    """Of five rows or more; a confidence that rounding lifts above 1 is one of the highest."""
    levels = np.concatenate([np.full(10, 1.0 + 1e-15), np.full(30, 0.7), np.full(4, 0.2)])
    effect = straight(levels, slope=0.9)
    found = changes(effect)
    assert [(group.low, group.high, group.count) for group in found] == [
        (0.9, 1.0, 10),
        (0.5, 0.9, 30),
    ]
    for group, level in zip(found, (1.0, 0.7), strict=True):
        assert group.change == pytest.approx(-0.1 * level)
        assert group.sd == pytest.approx((effect.draws.std(axis=1) / effect.before)[0] * level)


@pytest.mark.parametrize(("slope", "certain"), [(0.5, True), (0.95, False)])
def test_a_change_within_two_standard_deviations_is_not_certain(slope, certain):
    assert changes(straight(np.full(9, 0.8), slope=slope))[0].certain is certain
