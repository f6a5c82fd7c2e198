"""Structured scaling against the stated loss, its limits, simulated truth and the authors' package."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax

import calib
from calib.calibrators import structured_vector
from calib.calibrators.structured_vector import MatrixCrossEntropy, StructuredScaling
from calib.calibrators.temperature import TemperatureScaling
from calib.errors import CalibrationError
from tests.conftest import SHARED, simulate

both = pytest.mark.parametrize("structure", ["vector", "matrix"])


def bent(n: int, seed: int = 0):
    """Logits whose true class-probabilities are an affine map of them, and that map."""
    generator = np.random.default_rng(seed)
    logits = 2 * generator.normal(size=(n, 3))
    # Rows of one sum: what is added to all logits of a row is gone from its log-probabilities.
    matrix, bias = np.array([[0.6, 0.3, 0.0], [0.0, 1.2, -0.3], [0.2, 0.0, 0.7]]), np.array([0.6, -0.6, 0.0])
    scores = logits @ matrix.T + bias
    return logits, np.argmax(scores + generator.gumbel(size=logits.shape), axis=1), softmax(scores, axis=1)


def smoothed(logits, labels):
    """Temperature scaling with one uniform row mixed in."""
    n, n_classes = logits.shape
    probs = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    return (n * probs + 1 / n_classes) / (n + 1)


def parts(values, n_classes, structure):
    """Diagonal changes, other weights and bias from one long vector."""
    if structure == "vector":
        return values[:n_classes], np.zeros((n_classes, n_classes)), values[n_classes:]
    matrix = values[: n_classes**2].reshape(n_classes, n_classes)
    diagonal = np.diag(matrix)
    return diagonal, matrix - np.diag(diagonal), values[n_classes**2 :]


def stated_loss(values, start, labels, structure, penalty):
    """Row by row, as the docstring has it, from the probabilities to start with."""
    n, k = start.shape
    diagonal, others, bias = parts(values, k, structure)
    matrix = np.eye(k) + np.diag(diagonal) + others
    total = 0.0
    for x, label in zip(np.log(start), labels, strict=True):
        total -= log_softmax(matrix @ x + bias)[label]
    held = k * (diagonal @ diagonal) + k * (bias @ bias) + k * (k - 1) * (others**2).sum()
    return total / n + penalty / n * held


def learned(fitted, structure):
    change = fitted.weights_ - (1 if structure == "vector" else np.eye(fitted.n_classes_))
    return np.append(change.ravel(), fitted.bias_)


@both
@pytest.mark.parametrize("penalty", [0.05, 1.0, 20.0])
def test_the_fit_is_the_minimum_of_the_stated_loss(structure, penalty):
    logits, labels, _ = bent(120)
    reached = learned(StructuredScaling(structure=structure, penalty=penalty).fit(logits, labels), structure)
    arguments = (smoothed(logits, labels), labels, structure, penalty)
    reference = minimize(stated_loss, np.zeros(len(reached)), arguments, method="L-BFGS-B", options={"maxfun": 3000})
    assert stated_loss(reached, *arguments) <= reference.fun + 1e-9
    np.testing.assert_allclose(reached, reference.x, atol=3e-3)


@both
def test_a_strong_penalty_leaves_temperature_scaling(structure):
    logits, labels = simulate(200, 4)
    fitted = StructuredScaling(structure=structure, penalty=1e6).fit(logits, labels)
    np.testing.assert_allclose(fitted.predict_proba(logits), smoothed(logits, labels), atol=1e-5)


@both
def test_no_worse_than_its_start_on_the_calibration_set(structure):
    for seed in range(5):
        logits, labels = simulate(60, 5, seed=seed)
        probs = StructuredScaling(structure=structure).fit(logits, labels).predict_proba(logits)
        assert calib.metrics.nll(probs, labels) <= calib.metrics.nll(smoothed(logits, labels), labels)


def test_a_matrix_learns_what_a_vector_cannot():
    logits, labels, _ = bent(30_000)
    fresh, _, truth = bent(2000, seed=1)
    error = {
        structure: np.abs(
            StructuredScaling(structure=structure).fit(logits, labels).predict_proba(fresh) - truth
        ).mean()
        for structure in ("vector", "matrix")
    }
    assert error["matrix"] < 0.006 < 0.02 < error["vector"]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_loss_of_a_matrix_is_the_mean_nll_and_its_gradient_the_derivative(n_classes, monkeypatch):
    monkeypatch.setattr(structured_vector, "MEMORY_ENTRIES", 7 * n_classes)  # 7 rows a block, the last one of 2
    logits, labels = simulate(30, n_classes)
    generator = np.random.default_rng(1)
    matrix, bias = generator.normal(size=(n_classes, n_classes)), generator.normal(size=n_classes)

    def naive(values):
        weights, shift = values[:-n_classes].reshape(n_classes, n_classes), values[-n_classes:]
        return -log_softmax(logits @ weights.T + shift, axis=1)[np.arange(30), labels].mean()

    value, by_matrix, by_bias = MatrixCrossEntropy(logits, labels)(matrix, bias)
    values = np.append(matrix.ravel(), bias)
    assert value == pytest.approx(naive(values), rel=1e-12)
    np.testing.assert_allclose(np.append(by_matrix.ravel(), by_bias), approx_fprime(values, naive), atol=1e-6)


def test_an_absent_class_stays_finite_and_becomes_rarer():
    logits, labels, _ = bent(500)
    kept = labels != 2
    fitted = StructuredScaling().fit(logits[kept], labels[kept])
    assert 0 < fitted.predict_proba(logits[kept])[:, 2].mean() < smoothed(logits[kept], labels[kept])[:, 2].mean()


def test_a_matrix_that_would_take_too_long_or_too_much_memory_is_refused(monkeypatch):
    with pytest.raises(CalibrationError, match=r"2,001 x 2,001 weights needs about 1 GB .* structure=\"vector\"\."):
        StructuredScaling(structure="matrix").fit(np.zeros((3, 2001)), [0, 1, 2])
    monkeypatch.setattr(structured_vector, "MATRIX_WORK", 10 * 3**2)
    logits, labels, _ = bent(11)
    with pytest.raises(CalibrationError, match=r"on 11 rows takes .* at most 10 rows\."):
        StructuredScaling(structure="matrix").fit(logits, labels)
    StructuredScaling(structure="matrix").fit(logits[:10], labels[:10])
    StructuredScaling().fit(logits, labels)


def test_what_a_person_should_know_is_said():
    logits, labels, _ = bent(300)
    assert StructuredScaling().fit(logits, labels).notes() == []
    assert "raise max_iter" in StructuredScaling(max_iter=1).fit(logits, labels).notes()[0]
    assert "at its bound" in StructuredScaling().fit(logits, logits.argmax(axis=1)).notes()[0]
    on_gpu = StructuredScaling(structure="matrix", device="gpu").fit(logits, labels)
    assert on_gpu.device_.startswith("CPU (")
    assert on_gpu.notes() == [f'A matrix is fitted on the {on_gpu.device_}; structure="vector" can use a GPU.']


@pytest.mark.reference("data", "reference/peers_cifar100_wideresnet.json")
def test_on_cifar_100_it_is_the_authors_package(shared_data):
    expected = json.loads((SHARED / "reference" / "peers_cifar100_wideresnet.json").read_text())
    expected = expected["structured vector scaling (probmetrics)"]
    with np.load(shared_data / "wideresnet-16-4-cifar-100.npz") as file:
        logits, labels = np.log(file["predictions"]), file["ground_truth"]
    order = np.random.RandomState(0).permutation(len(labels))
    fitted = StructuredScaling().fit(logits[order[:1000]], labels[order[:1000]])
    probs, labels = fitted.predict_proba(logits[order[1000:]]), labels[order[1000:]]
    scores = calib.metrics
    assert scores.nll(probs, labels) == pytest.approx(expected["NLL"], abs=1e-4)
    assert scores.brier(probs, labels) == pytest.approx(expected["Brier"], abs=1e-4)
    assert scores.ece(probs, labels) == pytest.approx(expected["ECE15"], abs=1e-4)
    assert scores.accuracy(probs, labels) == pytest.approx(expected["accuracy"], abs=1e-4)
