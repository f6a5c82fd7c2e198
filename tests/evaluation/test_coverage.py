"""Intervals hold the truth as often as they say, on data whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib.diagnostics.reliability import reliability_curve
from calib.evaluation import Evaluation, evaluate
from calib.numerics import softmax
from tests.conftest import paired_differences

REPEATS = 500
N, N_CLASSES = 150, 3


def logits_of(n: int, generator: np.random.Generator) -> np.ndarray:
    return generator.normal(size=(n, N_CLASSES)) * 1.5


def said(logits: np.ndarray) -> np.ndarray:
    """What the model says: twice as sure as it should be."""
    return softmax(2.0 * logits)


def simulate(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from softmax(logits)."""
    logits = logits_of(N, generator)
    return logits, np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)


@pytest.fixture(scope="module")
def truth() -> dict[str, float]:
    """Expected scores: labels are averaged exactly, logits over 200,000 rows."""
    logits = logits_of(200_000, np.random.default_rng(99))
    true, probs = softmax(logits), said(logits)
    return {
        "NLL": float(-(true * np.log(probs)).sum(axis=1).mean()),
        "Brier": float((true * (1 - 2 * probs)).sum(axis=1).mean() + (probs**2).sum(axis=1).mean()),
    }


def intervals(evaluation: Evaluation) -> dict[str, tuple[float, float, float]]:
    """The intervals of ``score_intervals`` for the two scores alone."""
    found = {}
    for key, row in (("NLL", evaluation.row_nll), ("Brier", evaluation.row_brier)):
        assert row is not None
        error = 1.96 * float(row.std(ddof=1)) / math.sqrt(len(row))
        found[key] = float(row.mean()), float(row.mean()) - error, float(row.mean()) + error
    return found


def test_nll_and_brier_hold_the_truth_in_95_of_100_runs(truth: dict[str, float]) -> None:
    generator = np.random.default_rng(0)
    covered = dict.fromkeys(truth, 0)
    for _ in range(REPEATS):
        logits, labels = simulate(generator)
        for key, (_, low, high) in intervals(evaluate(said(logits), labels)).items():
            covered[key] += low <= truth[key] <= high
    for key, count in covered.items():
        assert 0.92 <= count / REPEATS <= 0.98, key


def test_the_shortcut_is_what_score_intervals_gives() -> None:
    from calib.evaluation import score_intervals

    logits, labels = simulate(np.random.default_rng(3))
    evaluation = evaluate(said(logits), labels)
    expected = score_intervals(evaluation)
    for key, interval in intervals(evaluation).items():
        assert interval == pytest.approx(expected[key], abs=2e-3)  # Student's t there


@pytest.mark.parametrize("binning", ["equal_width", "equal_mass"])
def test_wilson_intervals_of_bins_hold_the_truth_on_average(binning: str) -> None:
    generator = np.random.default_rng(1)
    covered: list[bool] = []
    for _ in range(REPEATS):
        logits, labels = simulate(generator)
        probs, true = said(logits), softmax(logits)
        predicted = probs.argmax(axis=1)
        rows = np.arange(N)
        confidence, chance = probs[rows, predicted], true[rows, predicted]
        curve = reliability_curve(confidence, predicted == labels, n_bins=8, binning=binning)
        bins = np.clip(np.searchsorted(curve.edges, confidence, side="right") - 1, 0, len(curve.edges) - 2)
        held = np.unique(bins)
        assert len(held) == len(curve.count)
        frequency = np.array([chance[bins == k].mean() for k in held])
        covered += list((curve.low <= frequency) & (frequency <= curve.high))
    assert 0.92 <= np.mean(covered) <= 0.98


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 120), n_classes=st.integers(2, 7), scale=st.floats(0.1, 30))
def test_identical_methods_never_differ(seed: int, n: int, n_classes: int, scale: float) -> None:
    generator = np.random.default_rng(seed)
    probs = softmax(generator.normal(size=(n, n_classes)) * scale)
    labels = generator.integers(0, n_classes, n)
    # Two evaluations made apart, as of two fits that came to the same map.
    found = paired_differences(evaluate(probs, labels), evaluate(probs.copy(), labels.copy()))
    for key, (value, low, high) in found.items():
        if math.isnan(value):
            continue  # a mean over nothing, such as the doubt of right predictions where none is right
        assert value == 0.0, key
        assert low <= 0.0 <= high, key
