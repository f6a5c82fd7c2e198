"""Order-preserving scaling against its stated loss, temperature scaling, simulated truth and stored numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from calib.calibrators.order_preserving import OrderPreservingScaling
from tests.calibrators.conftest import NETWORKS, network
from tests.calibrators.test_multinomial import TOY, TOY_LABELS
from tests.conftest import REFERENCE


def fitted_at(penalty: float, logits, labels) -> OrderPreservingScaling:
    """A fit with a penalty that no folds chose."""
    fitted = OrderPreservingScaling()
    fitted.n_classes_ = logits.shape[1]
    rows = logits - logits.max(axis=1, keepdims=True), labels, np.ones(len(labels))
    fitted._scale(*rows)
    fitted._finish(fitted._begin(*rows), penalty)
    return fitted


def by_definition(logits, weights):
    """Scores of one row: the sum of the weighted gaps from its rank down."""
    order = np.argsort(-logits, kind="stable")
    ranked, scores = logits[order], np.zeros(len(logits))
    for r, k in enumerate(order):
        scores[k] = sum(weights[j] * (ranked[j] - ranked[j + 1]) for j in range(r, len(weights)))
    return scores


def stated_loss(logits, labels, penalty, temperature):
    def loss(weights):
        total = sum(
            -log_softmax(by_definition(row, weights / temperature))[label]
            for row, label in zip(logits, labels, strict=True)
        )
        return total / len(labels) + penalty * np.mean((weights - 1) ** 2)

    return loss


@pytest.mark.parametrize("penalty", [0.001, 0.1, 10.0])
def test_the_fit_is_the_minimum_of_the_stated_loss(penalty):
    logits = np.column_stack([TOY, np.linspace(-6, -3, 12)])
    fitted = fitted_at(penalty, logits, TOY_LABELS)
    loss = stated_loss(logits, TOY_LABELS, penalty, fitted.temperature_)
    bounds = [(1e-6, None)] * 3
    reference = minimize(
        loss, np.ones(3), method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9}
    )
    assert loss(fitted.weights_) <= reference.fun + 1e-10
    np.testing.assert_allclose(fitted.weights_, reference.x, atol=1e-4 * max(1, reference.x.max()))
    expected = softmax(
        [by_definition(row, fitted.weights_ / fitted.temperature_) for row in logits], axis=1
    )
    np.testing.assert_allclose(fitted.predict_proba(logits), expected, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
def test_on_cifar_it_has_the_exact_numbers(name):
    """The file's penalty is on weights in units of the logits, ``mean((w - 1 / T)^2)``."""
    expected = json.loads((REFERENCE / "numbers" / "methods_maps.json").read_text())["multiclass"][
        name
    ]
    logits, labels = network(name)
    for n in (300, 1000, 3000):
        for penalty in (0.01, 0.1):
            of_them = expected[str(n)][f"OP_gapweights_lambda{penalty}"]
            method = fitted_at(penalty / of_them["T"] ** 2, logits[:n], labels[:n])
            probs = method.predict_proba(logits[n:])
            clipped = np.maximum(probs[np.arange(len(probs)), labels[n:]], 1e-12)
            assert -np.log(clipped).mean() == pytest.approx(of_them["nll"], abs=1e-6)
            np.testing.assert_allclose(probs[:3, :5], of_them["first3x5"], atol=1e-6)
            np.testing.assert_allclose(
                method.weights_ / method.temperature_, of_them["w"], atol=1e-4
            )
            assert (probs.argmax(axis=1) == logits[n:].argmax(axis=1)).all()
