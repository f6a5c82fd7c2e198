from __future__ import annotations

import numpy as np
import pytest

from calib.active_learning.plan import Plan
from calib.active_learning.strategies import Standing, at_set_points, confidence_sd, when_unsure
from calib.errors import CalibrationError
from calib.numerics import softmax
from calib.registry import calibrator
from tests.conftest import simulate


@pytest.fixture(scope="module")
def gps():
    logits, labels = simulate(2000, 4)
    return {n: calibrator("gpcalib").fit(logits[:n], labels[:n]) for n in (50, 2000)}


def test_the_deviation_over_functions_by_a_loop(gps):
    logits, _ = simulate(20, 4, seed=1)
    gp = gps[50]
    inputs, prior = gp.kernel_inputs(logits)
    confidences = []
    for draw in gp.shift_draws_:
        probs = softmax(prior + gp.grid().interpolate(draw, inputs.ravel()).reshape(inputs.shape))
        confidences.append(probs[np.arange(20), logits.argmax(axis=1)])
    expected = np.sqrt(np.var(confidences, axis=0).mean())
    assert confidence_sd(gp, logits) == pytest.approx(expected, rel=0.02)


def test_it_falls_with_calibration_rows(gps):
    logits, _ = simulate(500, 4, seed=1)
    assert confidence_sd(gps[2000], logits) < 0.5 * confidence_sd(gps[50], logits)


def test_only_a_latent_function_has_it():
    logits, labels = simulate()
    with pytest.raises(CalibrationError, match="only gpcalib"):
        confidence_sd(calibrator("temperature").fit(logits, labels), logits)


def test_the_tolerance_decides(gps):
    logits, _ = simulate(500, 4, seed=1)
    deviation = confidence_sd(gps[50], logits)
    for factor, expected in ((0.9, True), (1.1, False)):
        plan = Plan(tolerance=factor * deviation)
        assert when_unsure(plan, Standing(3, 50, gps[50], logits)) is expected


def test_without_a_calibrator():
    logits = np.zeros((2, 3))
    plan = Plan(every=4)
    assert when_unsure(plan, Standing(0, 0, None, logits))
    # Rows that do not suffice for a fit must not keep all labels from the classifier.
    assert [when_unsure(plan, Standing(n, 10, None, logits)) for n in range(1, 5)] == [False, False, False, True]


def test_a_function_that_has_collapsed_is_not_sure(gps, monkeypatch):
    logits, _ = simulate(50, 4, seed=1)
    monkeypatch.setattr(gps[2000], "collapsed_", True)
    plan = Plan(every=4, tolerance=0.5)
    assert [when_unsure(plan, Standing(n, 10, gps[2000], logits)) for n in range(1, 5)] == [False, False, False, True]


def test_set_points():
    decided = [at_set_points(Plan(every=3), Standing(n, 0, None, np.zeros((2, 3)))) for n in range(7)]
    assert decided == [True, False, False, True, False, False, True]
