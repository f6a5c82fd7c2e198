"""Intervals hold the truth as often as they say, on data whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calib.evaluation import evaluate, score_intervals
from calib.evaluation.score_registry import scored_on
from calib.numerics import softmax
from tests.conftest import paired_differences, simulate

REPEATS = 500


@pytest.mark.long
def test_nll_and_brier_hold_the_truth_in_95_of_100_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        scored_on.__globals__, "N_RESAMPLES", 10
    )  # of the ECE, which is not looked at
    # Labels are averaged exactly, logits over 200,000 rows.
    logits, _ = simulate(200_000, 3, seed=99)
    true, probs = softmax(logits / 2), softmax(logits)
    truth = {
        "NLL": -(true * np.log(probs)).sum(axis=1).mean(),
        "Brier": (true * (1 - 2 * probs)).sum(axis=1).mean() + (probs**2).sum(axis=1).mean(),
    }
    covered = dict.fromkeys(truth, 0)
    for seed in range(REPEATS):
        logits, labels = simulate(150, 3, seed=seed)
        found = score_intervals(evaluate(softmax(logits), labels))
        for key in truth:
            covered[key] += found[key].low <= truth[key] <= found[key].high
    for key, count in covered.items():
        assert 0.92 <= count / REPEATS <= 0.98, key


@settings(max_examples=10)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 120),
    n_classes=st.integers(2, 7),
    scale=st.floats(0.1, 30),
)
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
