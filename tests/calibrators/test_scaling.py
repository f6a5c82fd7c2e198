"""Temperature and vector scaling: conditions of the optimum, weights, folds; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

import calib
from calib.base import silent
from calib.calibrators.backend import Loss
from calib.calibrators.structured_vector import VectorProblem
from calib.calibrators.vector import VectorScaling
from calib.errors import CalibrationError
from calib.metrics import nll
from calib.numerics import softmax
from tests.calibrators.conftest import split_of
from tests.conftest import simulate


def uneven(n: int, n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Logits whose classes need different scales and biases, so that vector scaling has something to learn."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(n, n_classes))
    scores = logits * np.linspace(0.5, 1.5, n_classes) + np.linspace(-1, 1, n_classes)
    return 2 * logits, np.argmax(scores + generator.gumbel(size=logits.shape), axis=1)


# -- temperature -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "bound", "cause"),
    [
        (
            np.argmin,
            np.exp(5),
            "a label's output is on average hardly above those of the other classes",
        ),
        (np.argmax, np.exp(-5), "no prediction of these rows is clearly wrong"),
    ],
)
def test_without_a_best_temperature_its_bound_is_reached_and_its_cause_said(
    answer, bound, cause, overconfident
):
    """Scores that are always wrong, and a calibration set without mistakes."""
    logits, _ = overconfident
    fitted = calib.calibrator("temperature").fit(logits, answer(logits, axis=1))
    assert fitted.temperature_ == pytest.approx(
        bound * np.median(np.diff(np.sort(logits)[:, -2:])), rel=0.01
    )
    assert f"at its bound: {cause}" in fitted.notes()[0]


# -- weights ---------------------------------------------------------------------------------------------


def test_weights_are_those_of_the_stated_loss():
    """Weights that are no whole numbers, against a minimum by another optimiser."""
    logits, labels = uneven(200, 3)
    weights = np.random.default_rng(0).uniform(0.2, 2, size=200)
    fitted = calib.calibrator("temperature").fit(logits, labels, weights=weights)

    def loss(log_t):
        return weights @ -log_softmax(logits / np.exp(log_t), axis=1)[np.arange(200), labels]

    assert np.log(fitted.temperature_) == pytest.approx(
        minimize(loss, [0.0], tol=1e-10).x[0], abs=1e-5
    )


# -- vector scaling ------------------------------------------------------------------------------------


def naive_loss(values, logits, labels, penalty, temperature, weights):
    """Summed NLL plus the penalty, as the docstring has it."""
    k = logits.shape[1]
    inputs = log_softmax(logits / temperature, axis=1)
    losses = -log_softmax(inputs * values[:k] + values[k:], axis=1)[np.arange(len(labels)), labels]
    away = np.concatenate([values[:k] - 1, values[k:]])
    return weights @ losses + penalty * k * away @ away


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 50.0])
def test_the_fit_is_the_minimum_of_the_stated_loss(penalty):
    (logits, labels), weights = uneven(300, 3), np.random.default_rng(0).uniform(0.2, 2, size=300)
    fitted = VectorScaling()
    fitted.n_classes_ = 3
    rows = logits - logits.max(axis=1, keepdims=True), labels, weights
    fitted._scale(*rows)
    fitted._fit_at(penalty, *rows, silent)
    reached = np.concatenate([1 + fitted.change_, fitted.bias_])
    given = (logits, labels, penalty, fitted.temperature_, weights)
    reference = minimize(naive_loss, np.r_[np.ones(3), np.zeros(3)], given, tol=1e-8)
    assert naive_loss(reached, *given) == pytest.approx(reference.fun, rel=1e-7)
    np.testing.assert_allclose(reached, reference.x, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "value", "scales", "biases"),
    [
        (
            "lenet-5-cifar-10",
            1.31122116,
            [0.76323721, 0.72375162, 0.62063275],
            [-0.1731719, 0.32816872, -0.51413391],
        ),
        (
            "wideresnet-16-4-cifar-10",
            0.25452594,
            [0.4613, 0.64966364, 0.64138427],
            [0.33556814, -0.554164, 0.555008],
        ),
    ],
)
def test_without_a_penalty_the_numbers_are_those_of_another_package(name, value, scales, biases):
    """netcal 1.4.0 on 1000 rows, which scales no temperature first; its optimiser stops at a gradient of 1e-5 or so."""
    train, of_train, test, labels = split_of(name)
    problem = VectorProblem(
        Loss(log_softmax(train, axis=1), of_train, np.ones(1000)), 10, 10 / 1000
    )
    weights, _, converged = problem.minimum(1e-6)
    change, bias = weights.T
    assert converged
    np.testing.assert_allclose((1 + change)[:3], scales, atol=5e-4)
    np.testing.assert_allclose((bias - bias[0])[:3], np.array(biases) - biases[0], atol=5e-3)
    assert nll(softmax(log_softmax(test, axis=1) * (1 + change) + bias), labels) == pytest.approx(
        value, abs=1e-5
    )


def test_logits_larger_than_loading_takes_are_refused():
    logits, labels = simulate(n=50, n_classes=3)
    fitted = calib.calibrator("temperature").fit(logits, labels)
    beyond = logits.copy()
    beyond[3, 0] = -1.7e308
    for call in (
        lambda: calib.calibrator("temperature").fit(beyond, labels),
        lambda: fitted.predict_proba(beyond),
    ):
        with pytest.raises(CalibrationError, match=r"1 of 50 rows .* beyond 1e\+100"):
            call()
