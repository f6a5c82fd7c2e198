"""Ensemble temperature scaling against a plain minimiser, the conditions of its optimum and simulated truth."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import softmax

from calib.calibrators.ensemble_temperature import EnsembleTemperatureScaling, _Profile, mixture_weights
from calib.calibrators.temperature import TemperatureScaling
from calib.metrics import nll
from calib.top_k import Groups
from tests.conftest import simulate


def ensemble(logits, temperature, weights):
    return (
        weights[0] * softmax(logits / temperature, axis=1)
        + weights[1] * softmax(logits, axis=1)
        + weights[2] / logits.shape[1]
    )


def draw(n, n_classes, temperature, weights, seed=0):
    """Logits and labels drawn from an ensemble of these weights."""
    generator = np.random.default_rng(seed)
    logits = 3 * generator.normal(size=(n, n_classes))
    cumulative = ensemble(logits, temperature, weights).cumsum(axis=1)
    return logits, (generator.random((n, 1)) > cumulative[:, :-1]).sum(axis=1)


def naive_minimum(logits, labels):
    """The least loss that SciPy finds from many starts, over log T and unnormalised weights."""

    def loss(values):
        uniform = 1 / (1 + np.exp(-values[1]))
        return nll(ensemble(logits, np.exp(values[0]), (1 - uniform, 0.0, uniform)), labels)

    starts = [[log_t, w] for log_t in (-2, -0.5, 0.5, 1, 2) for w in (-4, -1, 1)]
    bounds = [(-5, 5), (-40, 40)]
    return min(minimize(loss, start, method="L-BFGS-B", bounds=bounds).fun for start in starts)


TRUTHS = {
    "overconfident": (2.0, (1.0, 0.0, 0.0)),
    "underconfident": (0.5, (1.0, 0.0, 0.0)),
    "some labels at random": (1.5, (0.8, 0.0, 0.2)),
    "sharp, and half the labels at random": (0.2, (0.5, 0.0, 0.5)),
}


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_the_fit_is_the_least_loss_that_a_plain_minimiser_finds(truth):
    logits, labels = draw(300, 4, *truth)
    reached = nll(EnsembleTemperatureScaling().fit(logits, labels).predict_proba(logits), labels)
    assert reached == pytest.approx(naive_minimum(logits, labels), abs=2e-6)


def test_known_weights_and_temperature_are_recovered():
    weights = (0.85, 0.0, 0.15)
    fitted = EnsembleTemperatureScaling().fit(*draw(30_000, 10, 5.0, weights))
    np.testing.assert_allclose(fitted.weights_, weights, atol=0.04)
    assert fitted.temperature_ == pytest.approx(5.0, rel=0.2)
    assert fitted.notes() == []


@pytest.mark.parametrize(("form", "n_parts"), [("joint", 2), ("paper", 3)])
def test_the_prediction_is_the_stated_average(form, n_parts):
    logits, labels = draw(3000, 5, 5.0, (0.4, 0.4, 0.2))
    fitted = EnsembleTemperatureScaling(form=form).fit(logits, labels)
    assert (fitted.weights_ > 0.01).sum() == n_parts
    assert fitted.weights_.sum() == pytest.approx(1, abs=1e-12)
    expected = ensemble(logits, fitted.temperature_, fitted.weights_)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, rtol=1e-12)


@given(st.integers(0, 1000), st.integers(2, 6), st.floats(0.2, 5))
def test_never_worse_than_temperature_scaling_on_the_calibration_set(seed, n_classes, scale):
    logits, labels = simulate(40, n_classes, scale, seed)
    ours, plain = (cls().fit(logits, labels) for cls in (EnsembleTemperatureScaling, TemperatureScaling))
    assert nll(ours.predict_proba(logits), labels) <= nll(plain.predict_proba(logits), labels) + 1e-12


@pytest.mark.parametrize("log_temperature", [-1.0, -0.1, 0.3, 2.0])
def test_the_slope_is_the_profiles_derivative(log_temperature):
    logits, labels = draw(200, 4, 4.0, (0.4, 0.4, 0.2))
    profile = _Profile(Groups(logits, np.ones(logits.shape)), labels, 4)
    above, below = (profile(log_temperature + step)[0] for step in (1e-5, -1e-5))
    assert profile(log_temperature)[1] == pytest.approx((above - below) / 2e-5, abs=1e-7)


@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 5), st.floats(0, 12))
def test_mixture_weights_meet_the_conditions_of_the_optimum(seed, n, m, spread):
    """No component's mean likelihood ratio exceeds one, and it is one where a component has weight."""
    likelihoods = np.exp(spread * np.random.default_rng(seed).normal(size=(n, m)))
    weights = mixture_weights(likelihoods)
    ratio = (likelihoods / (likelihoods @ weights)[:, None]).mean(axis=0)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1, abs=1e-12)
    assert ratio.max() <= 1 + 1e-5
    np.testing.assert_allclose(weights * (ratio - 1), 0, atol=1e-5)


def test_mixture_weights_of_disjoint_components_are_their_frequencies():
    likelihoods = np.repeat(np.eye(3), [5, 3, 2], axis=0)
    np.testing.assert_allclose(mixture_weights(likelihoods), [0.5, 0.3, 0.2], atol=1e-7)


def test_a_fit_that_is_plain_temperature_scaling_says_so():
    logits, labels = draw(300, 4, *TRUTHS["overconfident"])
    fitted, plain = (cls().fit(logits, labels) for cls in (EnsembleTemperatureScaling, TemperatureScaling))
    assert fitted.weights_[0] > 1 - 1e-6
    np.testing.assert_allclose(fitted.predict_proba(logits), plain.predict_proba(logits), atol=1e-5)
    assert "so this is temperature scaling with T =" in fitted.notes()[0]
    separable = EnsembleTemperatureScaling().fit(logits, logits.argmax(axis=1))
    assert any("at its bound" in note for note in separable.notes())


# -- the paper's form ----------------------------------------------------------------------------------


def squared_error(probs, labels):
    return np.mean((probs - np.eye(probs.shape[1])[labels]) ** 2)


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_the_papers_stages_each_have_the_least_squared_error(truth):
    logits, labels = draw(200, 4, *truth)
    fitted = EnsembleTemperatureScaling(form="paper").fit(logits, labels)
    of_temperatures = [squared_error(softmax(logits / t, axis=1), labels) for t in np.geomspace(0.05, 5, 2001)]
    assert squared_error(softmax(logits / fitted.temperature_, axis=1), labels) <= min(of_temperatures) + 1e-12
    reached = squared_error(fitted.predict_proba(logits), labels)
    grid = [(a, b, 1 - a - b) for a in np.linspace(0, 1, 41) for b in np.linspace(0, 1, 41) if a + b <= 1]
    assert reached <= min(squared_error(ensemble(logits, fitted.temperature_, w), labels) for w in grid) + 1e-12


def test_the_papers_temperature_ends_at_five_and_says_so():
    generator = np.random.default_rng(0)
    true = 2 * generator.normal(size=(500, 4))
    labels = np.argmax(true + generator.gumbel(size=true.shape), axis=1)
    paper, joint = (EnsembleTemperatureScaling(form=form).fit(20 * true, labels) for form in ("paper", "joint"))
    assert paper.temperature_ == 5.0
    assert "the end of the paper's range" in paper.notes()[-1]
    assert joint.temperature_ == pytest.approx(20, rel=0.2)


@pytest.mark.reference("data", "reference/methods_logistic.json")
@pytest.mark.parametrize("name", ["lenet-5-cifar-10", "wideresnet-16-4-cifar-10", "wideresnet-16-4-cifar-100"])
def test_the_papers_form_is_the_references(shared_data, name):
    reference = json.loads((shared_data.parent / "reference" / "methods_logistic.json").read_text())["multiclass"][name]
    with np.load(shared_data / f"{name}.npz") as arrays:
        probs, labels = arrays["predictions"].astype(float), arrays["ground_truth"]
    order = np.random.RandomState(0).permutation(len(labels))
    logits, labels = np.log(np.maximum(probs, 1.17549435e-38))[order], labels[order]
    for n in (300, 3000):
        expected = reference[f"n={n}"]["ets mse exact optimum (float64)"]
        fitted = EnsembleTemperatureScaling(form="paper").fit(logits[:n], labels[:n])
        assert fitted.temperature_ == pytest.approx(expected["temperature"], rel=1e-6)
        np.testing.assert_allclose(fitted.weights_, expected["weights_scaled_raw_uniform"], atol=2e-6)
        found = fitted.predict_proba(logits[n:])
        np.testing.assert_allclose(found[:3, :5], expected["first_rows"], atol=1e-6)
        assert nll(found, labels[n:]) == pytest.approx(expected["nll"], abs=1e-6)
