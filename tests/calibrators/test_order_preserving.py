"""Order-preserving scaling against its stated loss, temperature scaling, simulated truth and stored numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING
from calib.calibrators.order_preserving import OrderPreservingScaling
from tests.calibrators.conftest import NETWORKS, network
from tests.conftest import REFERENCE, simulate


def fitted_at(penalty: float, logits, labels) -> OrderPreservingScaling:
    """A fit with a penalty that no folds chose."""
    fitted = OrderPreservingScaling()
    fitted.n_classes_ = logits.shape[1]
    rows = logits - logits.max(axis=1, keepdims=True), labels, np.ones(len(labels))
    fitted._finish(fitted._begin(*rows), penalty)
    return fitted


def test_order_and_ties_are_kept_exactly():
    rng = np.random.default_rng(0)
    logits, labels = simulate(400, 6)
    fitted = fitted_at(1e-6, logits, labels)
    assert {KEEPS_ACCURACY, KEEPS_RANKING} <= fitted.promises(6)
    rows = rng.integers(-2, 3, size=(500, 6)) * rng.choice([1e-9, 1.0, 1e3], size=(500, 1))
    probs = fitted.predict_proba(rows)
    ranked = np.take_along_axis(probs, np.argsort(-rows, axis=1, kind="stable"), axis=1)
    falling = -np.sort(-rows, axis=1)
    assert (np.diff(ranked, axis=1) <= 0).all()
    assert (np.diff(ranked, axis=1)[np.diff(falling, axis=1) == 0] == 0).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_on_cifar_it_has_the_exact_numbers(name):
    """The file's penalty is on weights in units of the logits, ``mean((w - 1 / T)^2)``."""
    expected = json.loads((REFERENCE / "numbers" / "methods_maps.json").read_text())["multiclass"][name]
    logits, labels = network(name)
    for n in (300, 1000, 3000):
        for penalty in (0.01, 0.1):
            of_them = expected[str(n)][f"OP_gapweights_lambda{penalty}"]
            method = fitted_at(penalty / of_them["T"] ** 2, logits[:n], labels[:n])
            probs = method.predict_proba(logits[n:])
            clipped = np.maximum(probs[np.arange(len(probs)), labels[n:]], 1e-12)
            assert -np.log(clipped).mean() == pytest.approx(of_them["nll"], abs=1e-6)
            np.testing.assert_allclose(probs[:3, :5], of_them["first3x5"], atol=1e-6)
            np.testing.assert_allclose(method.weights_ / method.temperature_, of_them["w"], atol=1e-4)
            assert (probs.argmax(axis=1) == logits[n:].argmax(axis=1)).all()
