"""Temperature scaling against the condition of its optimum and the reference."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.numerics import softmax


def test_the_mean_logit_of_the_labels_is_what_the_probabilities_expect(overconfident):
    """Stationarity in 1/T: sum_n z_{n,y} = sum_n sum_k p_nk z_nk."""
    logits, labels = overconfident
    fitted = calib.calibrator("temperature").fit(logits, labels)
    probs = fitted.predict_proba(logits)
    assert np.mean(logits[np.arange(len(labels)), labels] - (probs * logits).sum(axis=1)) == pytest.approx(0, abs=1e-5)


def test_a_known_temperature_is_recovered():
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(50_000, 5))
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    assert calib.calibrator("temperature").fit(3 * logits, labels).temperature_ == pytest.approx(3, rel=0.02)


def test_scores_worse_than_none_reach_the_bound_and_say_so(overconfident):
    logits, _ = overconfident
    fitted = calib.calibrator("temperature").fit(logits, np.argmin(logits, axis=1))
    assert fitted.temperature_ == pytest.approx(np.exp(5), rel=0.01)
    assert "at its bound" in fitted.notes()[0]


def test_a_calibration_set_without_mistakes_reaches_the_other_bound_and_says_so(overconfident):
    logits, _ = overconfident
    fitted = calib.calibrator("temperature").fit(logits, np.argmax(logits, axis=1))
    assert fitted.temperature_ == pytest.approx(np.exp(-5))
    assert "at its bound" in fitted.notes()[0]


@pytest.mark.reference
@pytest.mark.parametrize(
    ("file", "temperature", "nll"),
    [("wideresnet-16-4-cifar-100.npz", 1.1231, 0.9420), ("wideresnet-16-4-cifar-10.npz", 1.8406, 0.2813)],
)
def test_the_reference_is_reproduced(shared_data, file, temperature, nll):
    with np.load(shared_data / file) as arrays:
        logits, labels = np.log(arrays["predictions"]), arrays["ground_truth"]
    order = np.random.RandomState(0).permutation(len(labels))
    fitted = calib.calibrator("temperature").fit(logits[order[:1000]], labels[order[:1000]])
    probs = fitted.predict_proba(logits[order[1000:]])
    assert fitted.temperature_ == pytest.approx(temperature, abs=1e-3)
    assert -np.log(probs[np.arange(9000), labels[order[1000:]]]).mean() == pytest.approx(nll, abs=1e-4)


def test_the_identity_is_softmax(overconfident):
    logits, labels = overconfident
    np.testing.assert_array_equal(
        calib.calibrator("identity").fit(logits, labels).predict_proba(logits), softmax(logits)
    )
