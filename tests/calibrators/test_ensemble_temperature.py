"""Ensemble temperature scaling against a plain minimiser, the conditions of its optimum and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

from calib.calibrators.ensemble_temperature import EnsembleTemperatureScaling
from calib.calibrators.temperature import TemperatureScaling
from calib.metrics import nll
from tests.conftest import simulate


def ensemble(logits, temperature, weight):
    return (1 - weight) * softmax(logits / temperature, axis=1) + weight / logits.shape[1]


def draw(n, n_classes, temperature, weight, seed=0):
    """Logits and labels drawn from an ensemble with this weight of the uniform distribution."""
    generator = np.random.default_rng(seed)
    logits = 3 * generator.normal(size=(n, n_classes))
    cumulative = ensemble(logits, temperature, weight).cumsum(axis=1)
    return logits, (generator.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)


def naive_minimum(logits, labels):
    """The least loss that SciPy finds from several starts, over log T and the log-odds of the weight."""

    def loss(values):
        return nll(ensemble(logits, np.exp(values[0]), 1 / (1 + np.exp(-values[1]))), labels)

    starts = [[log_t, w] for log_t in (-1.5, 0.5, 1.5) for w in (-4, 1)]
    bounds = [(-5, 5), (-40, 40)]
    return min(minimize(loss, start, method="L-BFGS-B", bounds=bounds).fun for start in starts)


TRUTHS = {
    "overconfident": (2.0, 0.0),
    "underconfident": (0.5, 0.0),
    "some labels at random": (1.5, 0.2),
    "sharp, and half the labels at random": (0.2, 0.5),
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_the_fit_is_the_least_loss_that_a_plain_minimiser_finds(truth):
    logits, labels = draw(300, 4, *truth)
    fitted = EnsembleTemperatureScaling().fit(logits, labels)
    probs = fitted.predict_proba(logits)
    np.testing.assert_allclose(
        probs, ensemble(logits, fitted.temperature_, fitted.weight_), rtol=1e-12
    )
    assert nll(probs, labels) == pytest.approx(naive_minimum(logits, labels), abs=2e-6)


@settings(max_examples=10)
@given(st.integers(0, 1000), st.integers(2, 6), st.floats(0.2, 5))
def test_never_worse_than_temperature_scaling_on_the_calibration_set(seed, n_classes, scale):
    logits, labels = simulate(40, n_classes, scale, seed)
    ours, plain = (
        cls().fit(logits, labels) for cls in (EnsembleTemperatureScaling, TemperatureScaling)
    )
    assert (
        nll(ours.predict_proba(logits), labels) <= nll(plain.predict_proba(logits), labels) + 1e-12
    )


def test_a_fit_that_is_plain_temperature_scaling_says_so():
    logits, labels = draw(300, 4, *TRUTHS["overconfident"])
    fitted, plain = (
        cls().fit(logits, labels) for cls in (EnsembleTemperatureScaling, TemperatureScaling)
    )
    np.testing.assert_allclose(fitted.predict_proba(logits), plain.predict_proba(logits), atol=1e-5)
    assert "so this is temperature scaling with T =" in fitted.notes()[0]
    separable = EnsembleTemperatureScaling().fit(logits, logits.argmax(axis=1))
    assert any("at its bound" in note for note in separable.notes())
