"""Uncertainty of GPcalib, and the strategies that ask by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from calib.active_learning.strategies import (
    Plan,
    StrategyState,
    confidence_sd,
    normalised_entropy,
    when_unsure,
)
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


def test_the_tolerance_decides(gps):
    logits, _ = simulate(500, 4, seed=1)
    deviation = confidence_sd(gps[50], logits)
    for factor, expected in ((0.9, True), (1.1, False)):
        plan = Plan(tolerance=factor * deviation)
        assert when_unsure(plan, StrategyState(3, 50, gps[50], logits)) is expected


def test_without_a_calibrator():
    logits = np.zeros((2, 3))
    plan = Plan(every=4)
    assert when_unsure(plan, StrategyState(0, 0, None, logits))
    # Rows that do not suffice for a fit must not keep all labels from the classifier.
    assert [when_unsure(plan, StrategyState(n, 10, None, logits)) for n in range(1, 5)] == [False, False, False, True]


def test_a_function_that_has_collapsed_is_not_sure(gps, monkeypatch):
    logits, _ = simulate(50, 4, seed=1)
    monkeypatch.setattr(gps[2000], "collapsed_", True)
    plan = Plan(every=4, tolerance=0.5)
    assert [when_unsure(plan, StrategyState(n, 10, gps[2000], logits)) for n in range(1, 5)] == [
        False,
        False,
        False,
        True,
    ]


LOGITS = arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(-30, 30))


@given(LOGITS)
def test_entropy_against_its_definition(logits):
    from scipy.stats import entropy

    probs = softmax(logits)
    expected = [entropy(row) / np.log(len(row)) for row in probs]
    np.testing.assert_allclose(normalised_entropy(probs), expected, atol=1e-9)
    ends = np.array([np.eye(probs.shape[1])[0], np.full(probs.shape[1], 1 / probs.shape[1])])
    np.testing.assert_allclose(normalised_entropy(ends), [0.0, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("classifier", "oracle"),
        ("calibrator", "identity"),
        ("calibrator", "geometric"),
        ("threshold", 1.5),
        ("batch", 0),
        ("budget", -1),
        ("tolerance", -0.1),
        ("calibrate_on", "none"),
    ],
)
def test_what_is_out_of_range_is_named(name, value):
    with pytest.raises(CalibrationError, match=name):
        Plan(**{name: value})
