"""The steps of every method and form give what the method gives, and each word does what it says."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from benchmarks.exports import FORMS, fits, near_steps, simulated
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.npz import checked_steps
from calib.export.predict import run
from calib.registry import METHODS

OFFERED = [name for name, method in METHODS.items() if not method.needs]


@pytest.mark.parametrize(
    ("method", "n_classes"),
    [
        pytest.param(name, k, marks=[pytest.mark.long] * (k > 2 and name in ("bayes_iso", "gpcalib")))  # slow fits
        for name in OFFERED
        for k in (2, 4)
    ],
)
def test_steps_give_what_the_methods_give(method, n_classes):
    """10,000 rows with ties, calibration rows and logits of +-1e3; the last of four classes has no rows."""
    for _, params, given, rows in fits(n_classes, [method], n=200):
        logits = given.to_logits(rows, given.kind)
        probs = predict.probabilities(given.calibrator.steps(), logits)
        known = ~near_steps(given, logits)
        assert known.sum() > 9_000, params
        np.testing.assert_allclose(probs[known], given.calibrator.predict_proba(logits)[known], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["dirichlet", "vector", "structured_matrix", "isotonic"])
def test_two_absent_classes_keep_what_temperature_gives(method):
    logits, labels = simulated(300, 5)
    params = {"share_classes": False} if method == "isotonic" else {}
    made = calib.calibrator(method, **params).fit(logits, np.minimum(labels, 2))
    np.testing.assert_allclose(run(made.steps(), logits), made.predict_proba(logits), rtol=0, atol=1e-10)


def test_what_has_no_steps_says_so_and_that_the_pickle_is_there():
    assert {name for name, method in METHODS.items() if method.needs} == {"geometric"}
    assert set(FORMS) <= set(METHODS)
    for way in ("delta", "mc"):
        made = calib.calibrator("gpcalib", prediction=way, max_iter=3).fit(*simulated(60, 3))
        with pytest.raises(CalibrationError, match=r"'draws' or 'mean'.*\.pkl"):
            made.steps()


def test_steps_that_give_something_else_are_not_written(monkeypatch):
    made = calib.calibrator("temperature").fit(*simulated(60, 3))
    monkeypatch.setattr(type(made), "steps", lambda self: [{"step": "affine", "scale": 9.0}, {"step": "softmax"}])
    with pytest.raises(CalibrationError, match=r"give other probabilities than it does .*\.pkl"):
        checked_steps(made)
