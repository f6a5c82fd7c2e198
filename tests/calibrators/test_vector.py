"""Vector scaling against the conditions of its optimum and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import calib
from calib.calibrators.vector import VectorScaling
from calib.numerics import log_softmax, softmax


def simulated(n: int = 30_000):
    generator = np.random.default_rng(0)
    logits = generator.normal(size=(n, 3)) * 2
    scale, bias = np.array([0.5, 1.0, 1.5]), np.array([0.5, -0.5, 0.0])
    labels = np.argmax(logits * scale + bias + generator.gumbel(size=logits.shape), axis=1)
    return logits, labels, scale, bias


def penalised_loss(weights, logits, labels, penalty):
    k = logits.shape[1]
    spread = logits.std()
    loss = -log_softmax(logits * weights[:k] + weights[k:])[np.arange(len(labels)), labels].sum()
    away = np.concatenate([(weights[:k] - 1) * spread, weights[k:]])
    return loss + 0.5 * penalty * away @ away


def test_known_scales_and_biases_are_recovered():
    logits, labels, scale, bias = simulated()
    fitted = VectorScaling().fit(logits, labels)
    np.testing.assert_allclose(fitted.scale_, scale, atol=0.05)
    np.testing.assert_allclose(fitted.bias_ - fitted.bias_.mean(), bias - bias.mean(), atol=0.05)
    assert fitted.converged_
    assert fitted.notes() == []


@pytest.mark.parametrize("penalty", [1e-3, 1.0, 50.0])
def test_the_fit_is_the_minimum_of_the_stated_loss(penalty):
    logits, labels, _, _ = simulated(300)
    fitted = VectorScaling(penalty=penalty).fit(logits, labels)
    reached = np.concatenate([fitted.scale_, fitted.bias_])
    reference = minimize(penalised_loss, np.r_[np.ones(3), np.zeros(3)], (logits, labels, penalty), tol=1e-8)
    assert penalised_loss(reached, logits, labels, penalty) == pytest.approx(reference.fun, rel=1e-7)
    np.testing.assert_allclose(reached, reference.x, atol=2e-3)


def test_the_gradient_is_that_of_the_loss():
    """Seen from outside: a fit from slightly moved data must move along the loss, whatever SciPy is told."""
    logits, labels, _, _ = simulated(100)
    fitted = VectorScaling().fit(logits, labels)
    reached = np.concatenate([fitted.scale_, fitted.bias_])

    def numeric(weights):
        steps = 1e-5 * np.eye(6)
        return np.array(
            [
                (penalised_loss(weights + s, logits, labels, 1.0) - penalised_loss(weights - s, logits, labels, 1.0))
                / 2e-5
                for s in steps
            ]
        )

    assert check_grad(lambda w: penalised_loss(w, logits, labels, 1.0), numeric, reached + 0.1) < 1e-3
    np.testing.assert_allclose(numeric(reached), 0, atol=2e-3)


def test_an_absent_class_stays_finite_and_becomes_rare():
    logits, labels, _, _ = simulated(500)
    kept = labels != 2
    fitted = VectorScaling().fit(logits[kept], labels[kept])
    assert np.isfinite(fitted.bias_).all()
    probs = fitted.predict_proba(logits[kept])
    assert 0 < probs[:, 2].mean() < 0.2 * softmax(logits[kept])[:, 2].mean()


def test_stopping_early_says_so():
    logits, labels, _, _ = simulated(300)
    fitted = VectorScaling(max_iter=1).fit(logits, labels)
    assert "raise max_iter" in fitted.notes()[0]


@pytest.mark.reference
def test_on_cifar_10_it_is_no_worse_than_the_raw_model(shared_data):
    with np.load(shared_data / "wideresnet-16-4-cifar-10.npz") as file:
        logits, labels = np.log(file["predictions"]), file["ground_truth"]
    order = np.random.RandomState(0).permutation(len(labels))
    probs = (
        calib.calibrator("vector").fit(logits[order[:1000]], labels[order[:1000]]).predict_proba(logits[order[1000:]])
    )
    assert -np.log(probs[np.arange(9000), labels[order[1000:]]]).mean() < 0.3864
