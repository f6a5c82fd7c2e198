"""Every registered method on pairs (confidence, correct): it fits, exports and agrees with itself, or says why not."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import calib
from benchmarks.exports import QUICK
from calib import base
from calib.base import KEEPS_HALF, Calibrator, extras_for
from calib.canonical import to_canonical
from calib.data import Predictions
from calib.errors import CalibrationError
from calib.registry import describe_exclusions, presets

FLOOR = 0.005
NEEDS_CLASSES = {
    *(
        "vector",
        "structured_vector",
        "structured_matrix",
        "dirichlet",
        "order_preserving",
        "ensemble_temperature",
    ),
    "geometric",
}
"""A weight for each class or rank, the number of classes or the predicted class: one confidence holds none of them."""


def pairs(n: int = 400, seed: int = 0) -> Predictions:
    """Answers that are right less often than they say, on both sides of one half; some are quite sure."""
    generator = np.random.default_rng(seed)
    confidence = np.round(np.clip(generator.beta(2.0, 1.2, n), 0.01, 0.99), 2)
    odds = np.log(confidence / (1 - confidence))
    correct = generator.random(n) < 1 / (1 + np.exp(0.7 - 0.5 * odds))
    logits = to_canonical(confidence, "pairs", FLOOR)
    return Predictions(
        logits,
        correct.astype(int),
        ("wrong", "correct"),
        kind="pairs",
        floor=FLOOR,
        sha256=f"p{seed}",
    )


@cache
def fitted(name: str) -> Calibrator:
    data = pairs()
    return calib.calibrator(name, **QUICK.get(name, {})).fit(data.logits, data.labels)


each = pytest.mark.parametrize("name", calib.METHODS)
fitting = pytest.mark.parametrize(
    "name", [n for n in calib.METHODS if n not in NEEDS_CLASSES and not calib.METHODS[n].needs]
)


@each
def test_what_a_method_declares_decides_whether_it_is_offered(name):
    needs = base.NEEDS_CLASSES in calib.METHODS[name].cls.traits
    assert needs == (name in NEEDS_CLASSES)
    offered = not needs and name not in ("identity", "by_group")  # which needs groups
    assert (name in presets(pairs())["All"]) == offered
    if needs:
        with pytest.raises(CalibrationError, match="all classes"):
            extras_for(calib.calibrator(name), pairs())
        assert calib.METHODS[name].title in describe_exclusions(pairs())


@fitting
def test_one_half_stays_one_half_where_that_is_declared_alone(name):
    middle = fitted(name).predict_proba(to_canonical(np.array([0.5]), "pairs", FLOOR))[0, 1]
    assert (abs(middle - 0.5) < 1e-9) == (KEEPS_HALF in calib.METHODS[name].cls.traits)
    if KEEPS_HALF in calib.METHODS[name].cls.traits and name != "identity":
        assert calib.METHODS[name].title in describe_exclusions(pairs()).split(".")[1]


def test_isotonic_and_platt_are_those_of_one_confidence():
    data = pairs()
    confidence, correct = data.confidence, data.correct
    steps = IsotonicRegression().fit(confidence, correct).predict(confidence)
    found = fitted("isotonic").predict_proba(data.logits)[:, 1]
    np.testing.assert_allclose(found, np.clip(steps, found.min(), found.max()), atol=1e-9)
    log_odds = np.log(confidence / (1 - confidence))[:, None]
    curve = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(log_odds, correct)
    np.testing.assert_allclose(
        fitted("platt").predict_proba(data.logits)[:, 1],
        curve.predict_proba(log_odds)[:, 1],
        atol=1e-5,
    )


def test_a_comparison_says_why_a_method_is_absent_and_scores_the_others():
    data = pairs()
    methods = {name: calib.calibrator(name) for name in ("platt", "vector")}
    table = calib.compare(methods, *data.split(0.5)).table
    by_method = table[table["score"] == "ECE"].set_index("method")
    assert "all classes" in by_method["note"]["vector"]
    assert by_method["value"]["platt"] < by_method["value"]["identity"]
