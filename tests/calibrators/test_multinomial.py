"""Maps of log-probabilities that start from temperature scaling: stated losses, identities, absent classes, folds."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax

import calib
from calib.calibrators import _multinomial
from calib.calibrators._folds import FOLDS, deal, row_units
from calib.calibrators._multinomial import AffineScaling
from calib.calibrators.dirichlet import PENALTIES, DirichletCalibration
from calib.calibrators.structured_vector import StructuredMatrixScaling, StructuredScaling
from calib.calibrators.temperature import TemperatureScaling
from calib.errors import CalibrationError
from tests.calibrators.conftest import NETWORKS, network
from tests.calibrators.test_scaling import uneven
from tests.conftest import REFERENCE, simulate

# Twelve rows of three classes, and what probmetrics 1.3.0's objectives have as their minima in float64.
TOY = np.log([
    [0.7, 0.2, 0.1], [0.15, 0.8, 0.05], [0.1, 0.3, 0.6], [0.55, 0.35, 0.1], [0.05, 0.15, 0.8], [0.4, 0.5, 0.1],
    [0.9, 0.06, 0.04], [0.25, 0.25, 0.5], [0.33, 0.6, 0.07], [0.62, 0.08, 0.3], [0.02, 0.93, 0.05], [0.12, 0.18, 0.7],
])  # fmt: skip
TOY_LABELS = np.array([0, 1, 2, 1, 2, 1, 0, 0, 1, 2, 1, 2])

METHODS = {
    "structured_vector": (StructuredScaling, 1.0),
    "structured_matrix": (StructuredMatrixScaling, 1.0),
    "dirichlet": (DirichletCalibration, 3.0),
}
"""Each method with the strength of its penalty here; Dirichlet calibration chooses it from folds."""

each = pytest.mark.parametrize("name", METHODS)


def fitted_to(
    name: str, logits, labels, strength: float | None = None, scaled_by=None
) -> AffineScaling:
    """A fit with a penalty that no folds chose, after the temperature of these or of other rows."""
    cls, usual = METHODS[name]
    fitted = cls()
    fitted.n_classes_ = logits.shape[1]
    rows, other_rows = (
        (scores - scores.max(axis=1, keepdims=True), classes, np.ones(len(classes)))
        for scores, classes in ((logits, labels), scaled_by or (logits, labels))
    )
    fitted._scale(*other_rows)
    fitted._finish(fitted._begin(*rows), strength or usual)
    return fitted


def start_of(name: str, logits, labels) -> np.ndarray:
    """What is left where the penalty allows no change."""
    plain = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    return plain if name == "dirichlet" else smoothed(logits, labels)


def smoothed(logits, labels):
    """Temperature scaling with one uniform row mixed in."""
    n, n_classes = logits.shape
    probs = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    return (n * probs + 1 / n_classes) / (n + 1)


def start_and_penalty(name, logits, labels):
    """Scores and inputs of the map, and the penalties of squared changes, a matrix and a vector."""
    n, k = logits.shape
    own, penalty = np.eye(k) == 1, METHODS[name][1]
    if name == "dirichlet":
        temperature = TemperatureScaling().fit(logits, labels).temperature_
        inputs = log_softmax(logits, axis=1)
        strength = penalty * k / n
        return inputs / temperature, inputs, np.full((k, k), strength), np.full(k, strength / 10)
    inputs = np.log(smoothed(logits, labels))
    off_diagonal = np.inf if name == "structured_vector" else k * (k - 1)
    return inputs, inputs, penalty / n * np.where(own, k, off_diagonal), np.full(k, penalty / n * k)


def stated_loss(name, logits, labels):
    """The objective of changes (matrix and bias in one vector), row by row; and a vector for its free entries."""
    scores, inputs, of_matrix, of_bias = start_and_penalty(name, logits, labels)
    k = logits.shape[1]
    free = np.append(np.isfinite(of_matrix).ravel(), np.ones(k, bool))
    of_matrix = np.where(np.isfinite(of_matrix), of_matrix, 0.0)

    def loss(values):
        change = np.zeros(k * k + k)
        change[free] = values
        matrix, bias = change[: k * k].reshape(k, k), change[k * k :]
        total = 0.0
        for s, x, label in zip(scores, inputs, labels, strict=True):
            total -= log_softmax(s + matrix @ x + bias)[label]
        return total / len(labels) + (of_matrix * matrix**2).sum() + (of_bias * bias**2).sum()

    return loss, free


def learned(fitted, free):
    change = np.diag(fitted.change_) if fitted.change_.ndim == 1 else fitted.change_
    return np.append(change.ravel(), fitted.bias_)[free]


@each
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_fit_is_the_minimum_of_the_stated_loss(name, n_classes):
    logits, labels = (TOY, TOY_LABELS) if n_classes == 3 else simulate(40, 2)
    fitted = fitted_to(name, logits, labels)
    loss, free = stated_loss(name, logits, labels)
    reached = learned(fitted, free)
    assert fitted.converged_
    assert loss(reached) <= minimize(loss, np.zeros(free.sum()), method="BFGS").fun + 1e-9
    assert np.abs(approx_fprime(reached, loss, 1e-6)).max() < 2e-5
    scores, inputs, _, _ = start_and_penalty(name, logits, labels)
    change = np.zeros(len(free))
    change[free] = reached
    k = n_classes
    expected = softmax(scores + inputs @ change[: k * k].reshape(k, k).T + change[k * k :], axis=1)
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, atol=1e-9)


# -- classes without rows ------------------------------------------------------------------------------


@each
def test_an_absent_class_keeps_what_temperature_scaling_gives(name):
    logits, labels = simulate(300, 4)
    kept = labels != 2
    logits, labels = logits[kept], labels[kept]
    fitted, start = fitted_to(name, logits, labels), start_of(name, logits, labels)
    probs = fitted.predict_proba(logits)
    np.testing.assert_allclose(probs[:, 2], start[:, 2], rtol=1e-9)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-12)
    assert np.abs(probs - start).max() > 0.01
    assert any("1 of 4 classes has no calibration rows" in note for note in fitted.notes())


# -- strength ------------------------------------------------------------------------------------------


def test_folds_choose_what_refits_by_hand_do():
    logits, labels = uneven(400, 3)
    fitted = DirichletCalibration().fit(logits, labels)
    folds = deal(row_units(400), 0)

    def held_out(penalty: float) -> np.ndarray:
        losses = np.zeros(len(labels))
        for fold in range(FOLDS):
            rows = folds == fold
            made = fitted_to(
                "dirichlet", logits[~rows], labels[~rows], penalty, scaled_by=(logits, labels)
            )
            losses[rows] = -np.log(
                made.predict_proba(logits[rows])[np.arange(rows.sum()), labels[rows]]
            )
        return losses

    losses = {p: held_out(p) for p in PENALTIES}
    best = min(losses, key=lambda p: losses[p].mean())
    assert best not in (PENALTIES[0], PENALTIES[-1])
    gain = held_out(1e9) - losses[best]
    assert gain.mean() > gain.std(ddof=1) / np.sqrt(len(gain))
    assert fitted.penalty_ == best
    again = fitted_to("dirichlet", logits, labels, best)
    np.testing.assert_allclose(
        fitted.predict_proba(logits), again.predict_proba(logits), rtol=1e-12
    )
    said = re.search(r"is (0\.\d+) nats lower .* error of (0\.\d+)\.$", fitted.notes()[-1])
    assert said
    np.testing.assert_allclose(
        np.float64(said.groups()), [gain.mean(), gain.std(ddof=1) / 20], atol=2e-4
    )


# -- limits and sentences ------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [StructuredMatrixScaling, DirichletCalibration])
def test_a_matrix_that_would_take_too_long_or_too_much_memory_is_refused(cls, monkeypatch):
    with pytest.raises(
        CalibrationError,
        match=r"2,001 x 2,001 weights .* up to 2,000 classes; choose structured_vector",
    ):
        cls().fit(np.zeros((3, 2001)), [0, 1, 2])
    monkeypatch.setattr(_multinomial, "MATRIX_WORK", 10 * 3**2)
    logits, labels = uneven(11, 3)
    with pytest.raises(
        CalibrationError, match=r"to 11 rows\. .* up to 10 rows of so many classes;"
    ):
        cls().fit(logits, labels)
    cls().fit(logits[:10], labels[:10])
    StructuredScaling().fit(logits, labels)


# -- other people's numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_structured_scaling_has_the_authors_exact_numbers(name):
    expected = json.loads((REFERENCE / "numbers" / "methods_logistic.json").read_text())[
        "multiclass"
    ][name]
    logits, labels = network(name)
    for n in (300, 1000, 3000):
        if n == 300 and "100" in name:
            continue  # five classes have no rows there, and keep more than the authors' code leaves them
        for cls, key in ((StructuredScaling, "svs"), (StructuredMatrixScaling, "sms")):
            of_them = expected[f"n={n}"][f"{key} exact optimum (float64)"]
            probs = cls().fit(logits[:n], labels[:n]).predict_proba(logits[n:])
            assert calib.metrics.nll(probs, labels[n:]) == pytest.approx(of_them["nll"], abs=1e-6)
            np.testing.assert_allclose(probs[:3, :5], of_them["first_rows"], atol=1e-6)


@pytest.mark.parametrize("name", NETWORKS)
def test_dirichlet_calibration_has_the_exact_numbers(name):
    """NLLs clip probabilities at 1e-12. The file's own tolerance is 1e-6 in the objective and 1e-4 in the NLL."""
    expected = json.loads((REFERENCE / "numbers" / "methods_maps.json").read_text())["multiclass"][
        name
    ]
    logits, labels = network(name)
    for n in (1000, 3000):
        for key, of_them in expected[str(n)].items():
            kind, _, penalty = key.rpartition("_c")
            if kind != "ridge_to_temperature" or penalty.startswith("v5"):
                continue
            method = fitted_to("dirichlet", logits[:n], labels[:n], float(penalty))
            probs = method.predict_proba(logits[n:])
            clipped = np.maximum(probs[np.arange(len(probs)), labels[n:]], 1e-12)
            assert -np.log(clipped).mean() == pytest.approx(of_them["nll"], abs=1e-5)
            np.testing.assert_allclose(probs[:3, :5], of_them["first3x5"], atol=1e-4)
            inside = method.predict_proba(logits[:n])[np.arange(n), labels[:n]]
            held = (
                float(penalty)
                * logits.shape[1]
                / n
                * ((method.change_**2).sum() + (method.bias_**2).sum() / 10)
            )
            assert -np.log(inside).mean() + held == pytest.approx(of_them["objective"], abs=1e-6)
