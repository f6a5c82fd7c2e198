"""Maps of log-probabilities that start from temperature scaling: stated losses, identities, absent classes, folds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import softmax

import calib
from calib.calibrators import _multinomial
from calib.calibrators._multinomial import AffineScaling
from calib.calibrators.dirichlet import DirichletCalibration
from calib.calibrators.structured_vector import StructuredMatrixScaling, StructuredScaling
from calib.calibrators.temperature import TemperatureScaling
from calib.errors import CalibrationError
from tests.calibrators.conftest import NETWORKS, network
from tests.conftest import REFERENCE, simulate

METHODS = {
    "structured_vector": (StructuredScaling, 1.0),
    "structured_matrix": (StructuredMatrixScaling, 1.0),
    "dirichlet": (DirichletCalibration, 3.0),
}
"""Each method with the strength of its penalty here; Dirichlet calibration chooses it from folds."""

each = pytest.mark.parametrize("name", METHODS)


def fitted_to(name: str, logits, labels, strength: float | None = None) -> AffineScaling:
    """A fit with a penalty that no folds chose."""
    cls, usual = METHODS[name]
    fitted = cls()
    fitted.n_classes_ = logits.shape[1]
    rows = logits - logits.max(axis=1, keepdims=True), labels, np.ones(len(labels))
    fitted._finish(fitted._begin(*rows), strength or usual)
    return fitted


def start_of(name: str, logits, labels) -> np.ndarray:
    """What is left where the penalty allows no change."""
    plain = TemperatureScaling().fit(logits, labels).predict_proba(logits)
    return plain if name == "dirichlet" else smoothed(logits, labels)


def bent(n: int, seed: int = 0):
    """Logits whose true class-probabilities are an affine map of them, and these probabilities."""
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


# -- limits and sentences ------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [StructuredMatrixScaling, DirichletCalibration])
def test_a_matrix_that_would_take_too_long_or_too_much_memory_is_refused(cls, monkeypatch):
    with pytest.raises(
        CalibrationError, match=r"2,001 x 2,001 weights .* up to 2,000 classes; choose structured_vector"
    ):
        cls().fit(np.zeros((3, 2001)), [0, 1, 2])
    monkeypatch.setattr(_multinomial, "MATRIX_WORK", 10 * 3**2)
    logits, labels, _ = bent(11)
    with pytest.raises(CalibrationError, match=r"to 11 rows\. .* up to 10 rows of so many classes;"):
        cls().fit(logits, labels)
    cls().fit(logits[:10], labels[:10])
    StructuredScaling().fit(logits, labels)


# -- other people's numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_structured_scaling_has_the_authors_exact_numbers(name):
    expected = json.loads((REFERENCE / "numbers" / "methods_logistic.json").read_text())["multiclass"][name]
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
    expected = json.loads((REFERENCE / "numbers" / "methods_maps.json").read_text())["multiclass"][name]
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
            held = float(penalty) * logits.shape[1] / n * ((method.change_**2).sum() + (method.bias_**2).sum() / 10)
            assert -np.log(inside).mean() + held == pytest.approx(of_them["objective"], abs=1e-6)
