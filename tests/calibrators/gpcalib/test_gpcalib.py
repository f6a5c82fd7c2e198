"""GPcalib as its users see it: accuracy of the fit, every combination of options, and every way to predict."""

from __future__ import annotations

import json
from copy import copy
from functools import cache
from itertools import product

import numpy as np
import pytest

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING
from calib.calibrators.gpcalib import GPCalib
from calib.errors import CalibrationError
from calib.metrics import nll, overconfidence, underconfidence
from calib.numerics import softmax
from tests.calibrators.conftest import network
from tests.conftest import REFERENCE
from tests.test_contract import check_probs, hard_rows, sample

WAYS = ("draws", "mean")


# -- the authors' own numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "most"), [("cifar-10", 0.290), ("cifar-100", 0.931)])
def test_the_authors_numbers_are_met(name, most):
    reference = json.loads((REFERENCE / "numbers" / "gpcalib.json").read_text())[
        f"{name.replace('-', '')}_wideresnet"
    ]
    logits, labels = network(f"wideresnet-16-4-{name}")
    calibrator, logits, labels = (
        GPCalib().fit(logits[:1000], labels[:1000]),
        logits[1000:],
        labels[1000:],
    )
    assert calibrator.converged_
    start, end = reference["objective [at the start, at the end]"]
    assert calibrator.objective_trace_[0] == pytest.approx(start, rel=1e-3)
    assert calibrator.objective_ > end - 1.0
    for way, row in (("draws", "gpcalib"), ("mean", "gpcalib mean")):
        probs = copy(calibrator).set_params(prediction=way).predict_proba(logits)
        accuracy, log_loss, *_, over, under = reference[row]
        assert (probs.argmax(axis=1) == labels).mean() == pytest.approx(accuracy, abs=5e-4)
        assert nll(probs, labels) < min(most, log_loss + 0.001)
        assert overconfidence(probs, labels) == pytest.approx(over, abs=0.003)
        assert underconfidence(probs, labels) == pytest.approx(under, abs=0.003)


# `make test` takes half of the posteriors, in which each pair of values occurs.
HALF = {
    ("logits", "diagonal", "diagonal"),
    ("logits", "full", "full"),
    ("probs", "full", "diagonal"),
    ("probs", "diagonal", "full"),
}
every_combination = pytest.mark.parametrize(
    ("inputs", "covariance", "variational", "monotone", "way"),
    [
        pytest.param(*case, marks=[] if case[:3] in HALF else [pytest.mark.long])
        for case in product(
            ("logits", "probs"), ("diagonal", "full"), ("diagonal", "full"), (False, True), WAYS
        )
    ],
)


@cache
def _fitted(inputs: str, covariance: str, variational: str, monotone: bool) -> GPCalib:
    """A short fit."""
    params = {
        "inputs": inputs,
        "covariance": covariance,
        "variational": variational,
        "monotone": monotone,
    }
    return GPCalib(**params, n_draws=32, max_iter=8, device="cpu").fit(*sample(150, 4))


@every_combination
def test_every_combination_keeps_its_promises_and_moves_towards_the_truth(
    inputs, covariance, variational, monotone, way
):
    calibrator = _fitted(inputs, covariance, variational, monotone).set_params(prediction=way)
    logits = hard_rows(4)
    probs = check_probs(calibrator, logits)
    promised = calibrator.promises(4)
    assert (KEEPS_ACCURACY in promised) == (KEEPS_RANKING in promised) == monotone
    if KEEPS_ACCURACY in promised:
        np.testing.assert_array_equal(calibrator.predict(logits), logits.argmax(axis=1))
        ranked = np.take_along_axis(probs, np.argsort(logits, axis=1, kind="stable"), axis=1)
        assert (np.diff(ranked, axis=1) >= -1e-12).all()
    # Labels come from softmax(logits / 2); even eight iterations must go some of the way there.
    logits, labels = sample(2000, 4, seed=1)
    probs = calibrator.predict_proba(logits)
    best, raw, now = (nll(p, labels) for p in (softmax(logits / 2), softmax(logits), probs))
    assert (now - best) / (raw - best) < (0.8 if inputs == "probs" else 0.25)


def test_what_the_fit_fixed_is_not_changed_after_it():
    with pytest.raises(CalibrationError, match="inputs='probs' was set after the fit, which had"):
        GPCalib(max_iter=3).fit(*sample(20, 3)).set_params(inputs="probs").predict_proba(
            hard_rows(3)
        )
