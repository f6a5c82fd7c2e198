"""Rows without labels: naive references, coverage of the intervals, and the change of what is said."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.new_rows import (
    sentences,
    without_labels,
)
from calib.evaluation import Evaluation
from calib.evaluation.evaluation import evaluate
from calib.evaluation.view import EVENT
from calib.numerics import sigmoid
from tests.published import cifar, risks


def events(scores: np.ndarray, came: np.ndarray) -> Evaluation:
    probs = sigmoid(scores)
    return evaluate(np.column_stack([1 - probs, probs]), came.astype(int)).seen(EVENT)


def test_without_labelled_rows_means_of_the_confidence_are_expected(rng) -> None:
    probs = rng.dirichlet(np.ones(4), 300)
    found = without_labels(evaluate(probs, np.zeros(300, int)))
    assert found.accuracy.value == pytest.approx(probs.max(axis=1).mean())
    assert (found.rate, found.shift, found.n_judged) == (None, None, 0)
    scores = rng.normal(-1, 1, 300)
    found = without_labels(events(scores, np.zeros(300)))
    probs = sigmoid(scores)
    assert found.rate.value == pytest.approx(probs.mean())
    assert found.accuracy.value == pytest.approx(np.maximum(probs, 1 - probs).mean())
    assert "uncertainty is not in them" in sentences(found, "Platt")[-1]


@pytest.mark.long
@pytest.mark.parametrize("n_judged", [300, 2000])
def test_the_intervals_hold_what_comes(n_judged: int) -> None:
    """A calibrator that is off by an intercept and a slope, as one fitted to few rows, on another mix of inputs."""
    inside = {"accuracy": 0, "rate": 0}
    runs = 150
    for seed in range(runs):
        generator = np.random.default_rng(seed)
        a, b = 0.3 * generator.normal(), 1 + 0.2 * generator.normal()

        def draw(n: int, centre: float, a=a, b=b, generator=generator) -> Evaluation:
            scores = generator.normal(centre, 1.2, n)
            return events(scores, generator.random(n) < sigmoid(a + b * scores))

        before, now = draw(n_judged, -1.0), draw(800, -0.5)
        found = without_labels(now, before)
        assert found.n_judged == n_judged
        came = now.labels == 1
        real = {
            "accuracy": now.correct.mean(),
            "rate": came.mean(),
        }
        for key, value in real.items():
            interval = getattr(found, key)
            inside[key] += interval.low <= value <= interval.high
    for covered in inside.values():
        assert 0.90 <= covered / runs <= 0.99


def test_a_change_of_the_mean_risk_is_one_of_the_means_and_found_where_the_sentence_looks(
    rng,
) -> None:
    # A mean risk that rose from 3.4 to 4.9 % (z = 4.7) was "not shifted significantly" by the PSI.
    scores = rng.normal(-3.7, 1.0, 5000)
    before, now = events(scores, np.zeros(5000)), events(scores[:2500] + 0.4, np.zeros(2500))
    change = without_labels(now, before).shift
    first, second = before.pair[0], now.pair[0]
    half = 1.959964 * np.sqrt(first.var(ddof=1) / 5000 + second.var(ddof=1) / 2500)
    assert change == pytest.approx(
        (
            second.mean() - first.mean(),
            *(second.mean() - first.mean() + half * side for side in (-1, 1)),
        )
    )
    assert change.low > 0
    missed = 0
    for _ in range(200):
        one, other = (events(rng.normal(-2, 1, n), np.zeros(n)) for n in (400, 200))
        change = without_labels(one, other).shift
        missed += not change.low <= 0.0 <= change.high
    assert missed / 200 < 0.09


def test_expected_numbers_on_real_rows() -> None:
    """Measured independently: credit.csv as it stands, and CIFAR-10 after temperature scaling by 1.8405524."""
    probs, _ = risks("credit")
    found = without_labels(events(np.log(probs / (1 - probs)), np.zeros(len(probs))))
    assert len(probs) * found.rate.value == pytest.approx(248.385553)
    _, (probs, labels) = cifar(10)
    scaled = probs ** (1 / 1.8405524263577075)
    scaled /= scaled.sum(axis=1, keepdims=True)
    found = without_labels(evaluate(scaled, labels))
    assert found.accuracy.value == pytest.approx(0.9256538997024769, abs=1e-6)
