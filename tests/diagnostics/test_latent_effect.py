"""What a latent function does to the confidence of each row, against one softmax per drawn function."""

from __future__ import annotations

import dataclasses
from copy import copy

import numpy as np
import pytest

from calib.calibrators.gpcalib import GPCalib
from calib.diagnostics.latent import (
    ConfidenceEffect,
    Truth,
    confidence_effect,
    effect_curve,
)
from calib.numerics import softmax
from tests.conftest import simulate


@pytest.fixture(scope="module")
def rows():
    return simulate(400, 4, seed=1)


def brute_force(calibrator, logits):
    """Probabilities under each drawn function, one softmax at a time: (n_draws, n, n_classes)."""
    inputs, prior = calibrator.kernel_inputs(logits)
    grid = calibrator.grid()
    growth = [grid.interpolate(np.exp(draw), inputs) for draw in calibrator.shift_draws_]
    return np.array([softmax(prior + np.log(grown)) for grown in growth])


def test_the_effect_is_the_average_over_the_drawn_functions(calibrator, rows):
    logits, labels = rows
    effect = confidence_effect(calibrator, logits, labels)
    raw = softmax(logits)
    top, order = raw.argmax(axis=1), np.argsort(raw.max(axis=1), kind="stable")
    drawn = brute_force(calibrator, logits)[:, np.arange(len(top)), top][:, order].T
    np.testing.assert_allclose(effect.draws, drawn, atol=1e-6)
    np.testing.assert_allclose(effect.after, drawn.mean(axis=1), atol=1e-6)
    np.testing.assert_array_equal(effect.before, raw.max(axis=1)[order])
    np.testing.assert_array_equal(effect.right, (labels == top)[order])


@pytest.mark.parametrize("prediction", ["mean", "delta"])
def test_the_effect_is_what_this_calibrator_predicts(fitted, rows, prediction):
    calibrator = copy(fitted["logits"]).set_params(prediction=prediction)
    effect = confidence_effect(calibrator, *rows)
    probs, top = calibrator.predict_proba(rows[0]), rows[0].argmax(axis=1)
    order = np.argsort(softmax(rows[0]).max(axis=1), kind="stable")
    np.testing.assert_array_equal(effect.after, probs[np.arange(len(top)), top][order])


def test_references_follow_the_same_class(calibrator, rows):
    effect = confidence_effect(calibrator, *rows, temperature=2.0, truth=Truth(latent=lambda logits: logits / 2.0))
    np.testing.assert_allclose(effect.temperature, effect.truth)
    halved = softmax(rows[0] / 2.0).max(axis=1)
    np.testing.assert_allclose(np.sort(effect.temperature), np.sort(halved))


def test_a_true_map_gives_the_true_confidence_of_either_class(rows):
    logits, labels = simulate(300, 2)
    calibrator = GPCalib(max_iter=5).fit(logits, labels)
    effect = confidence_effect(calibrator, logits, labels, truth=Truth(map=lambda probs: probs))
    np.testing.assert_allclose(effect.truth, effect.before)


def test_a_monotone_function_changes_no_class(data, rows):
    monotone = GPCalib(monotone=True, max_iter=20).fit(data[0][:400], data[1][:400])
    assert confidence_effect(monotone, *rows).changed == 0


def test_many_rows_are_thinned(fitted, rows):
    logits, labels = np.tile(rows[0], (60, 1)), np.tile(rows[1], 60)
    effect = confidence_effect(fitted["logits"], logits, labels)
    assert (effect.every, len(effect.before)) == (3, 8000)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_bins_hold_every_row_once_and_keep_the_means(calibrator, rows, scale):
    effect = confidence_effect(calibrator, *rows, temperature=2.0)
    curve = effect_curve(effect, scale)
    assert curve.count.sum() == len(effect.before)
    assert (curve.count >= 8).all()
    assert (np.diff(curve.before) > 0).all()
    pairs = [
        (curve.before, effect.before), (curve.after, effect.after), (curve.accuracy, effect.right),
        (curve.temperature, effect.temperature),
    ]  # fmt: skip
    for binned, whole in pairs:
        assert np.average(binned, weights=curve.count) == pytest.approx(whole.mean())
    start = 0
    for place, stop in enumerate(np.cumsum(curve.count)):
        mean = effect.draws[start:stop].astype(float).mean(axis=0)
        assert curve.sd[place] == pytest.approx(mean.std())
        (low2, high2), (low1, high1) = curve.bands
        assert np.mean((low2[place] <= mean) & (mean <= high2[place])) == pytest.approx(0.954, abs=0.02)
        assert np.mean((low1[place] <= mean) & (mean <= high1[place])) == pytest.approx(0.683, abs=0.02)
        start = stop


def test_fits_on_the_same_rows_share_their_bins(fitted, rows):
    first, second = (effect_curve(confidence_effect(fit, *rows)) for fit in fitted.values())
    np.testing.assert_array_equal(first.before, second.before)
    np.testing.assert_array_equal(first.count, second.count)


def straight(before, slope=0.5, n_draws=8):
    """An effect that is the line ``slope * before`` exactly, and differs between draws by a tenth of that."""
    before = np.sort(before)
    factors = slope * (1 + 0.1 * np.linspace(-1, 1, n_draws))
    return ConfidenceEffect(
        before=before, after=slope * before, draws=before[:, None] * factors, right=np.ones(len(before), bool),
        temperature=None, truth=None, changed=0, every=1,
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 3, 7])
def test_few_rows_make_one_bin(n):
    curve = effect_curve(straight(np.linspace(0.4, 0.99, n)))
    assert curve.count.tolist() == [n]


def test_rows_that_are_all_alike_make_one_bin():
    curve = effect_curve(dataclasses.replace(straight(np.full(100, 0.25))), "logit")
    assert curve.count.tolist() == [100]
