"""Decisions by a cost matrix, row by row and as computed elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.decisions import CostMatrix, Costs, change, decide_classes
from calib.decisions.class_costs import costs_saved
from calib.errors import CalibrationError
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import softmax
from tests.conftest import simulate
from tests.published import cifar, known

MATRIX = np.ones((4, 4)) - np.eye(4)
MATRIX[2, 1] = MATRIX[1, 2] = 5.0


def rows(n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities of four classes, and labels."""
    logits, labels = simulate(n=n, scale=1.0)
    return softmax(logits), labels


def test_equal_costs_of_all_errors_are_the_most_probable_class():
    probs, labels = rows()
    found = decide_classes(probs, labels, CostMatrix(costs=np.ones((4, 4)) - np.eye(4)))
    np.testing.assert_array_equal(found.actions, probs.argmax(axis=1))
    wrong = int((probs.argmax(axis=1) != labels).sum())
    low, high = wilson_interval(wrong, len(labels))
    assert found.cost == pytest.approx((wrong / len(labels), float(low), float(high)))
    assert found.saved.value == 0.0 and found.saved.high == pytest.approx(-found.saved.low)
    assert 0 < found.saved.high < 8 / len(labels)
    assert found.expected == pytest.approx(1 - probs.max(axis=1).mean())
    with pytest.raises(CalibrationError, match="each of 4 classes"):
        decide_classes(probs, labels, CostMatrix(costs=np.ones((4, 2))))


def test_costs_are_means_over_rows_with_weights(rng):
    probs, labels = rows()
    weights = rng.uniform(0.5, 2.0, len(labels))
    found = decide_classes(probs, labels, CostMatrix(costs=MATRIX, abstain=0.4), weights)
    paid = [0.4 if a < 0 else MATRIX[k, a] for k, a in zip(labels, found.actions, strict=True)]
    plain = [MATRIX[k, a] for k, a in zip(labels, probs.argmax(axis=1), strict=True)]
    assert found.cost.value == pytest.approx(np.average(paid, weights=weights))
    assert found.plain.value == pytest.approx(np.average(plain, weights=weights))
    assert found.saved.value == pytest.approx(found.plain.value - found.cost.value)
    assert found.handed_over.value == pytest.approx(np.average(found.actions < 0, weights=weights))
    for interval in (found.cost, found.plain, found.saved, found.handed_over, found.changed):
        assert interval.low < interval.value < interval.high


def test_costs_of_what_comes_in_whole_clusters_are_covered(rng):
    """The rows that change are alone in their clusters; a costly class, or the event, is in all rows of one in 50."""
    rule = CostMatrix(costs=np.array([[0.0, 50, 4], [1, 0, 2], [6, 2, 0]]))
    clusters, held = np.repeat(np.arange(60), 20), np.zeros(2, dtype=int)
    truths = 0.3 * (
        0.98 * np.array([4.0, 1.0]) - 0.02 * 50
    )  # a changed row saves 4 or 1, and one of those loses 50
    for _ in range(100):
        rare, changes = (rng.random(60) < 0.02)[clusters], rng.random(len(clusters)) < 0.3
        before = np.zeros(len(clusters), dtype=int)
        of_classes = costs_saved(
            changes.astype(int), before, np.where(rare, 0, 2), rule, clusters=clusters
        )
        of_event = change(
            ~changes, before == 0, rare, Costs(false_alarm=1, miss=50), clusters=clusters
        ).saved
        held += [
            found.low <= truth <= found.high
            for found, truth in zip((of_classes, of_event), truths, strict=True)
        ]
    assert (held >= 90).all()


def test_where_no_action_changes_a_cluster_counts_once(rng):
    labels, actions = (rng.random(2000) < 0.2).astype(int), (rng.random(2000) < 0.3).astype(int)
    errors = CostMatrix(costs=np.array([[0.0, 1.0], [5.0, 0.0]]))
    for clusters, n in ((None, 2000), (np.arange(2000) % 80, 80)):
        found = costs_saved(actions, actions, labels, errors, clusters=clusters)
        two = change(actions == 1, actions == 1, labels, Costs(1.0, 5.0), clusters=clusters).saved
        assert found.value == two.value == 0.0 and found.high == pytest.approx(-found.low)
        for interval in (found, two):
            assert (
                3 * 5 / n < interval.high < 6 * 5 / n
            )  # of 4 rows, or clusters, one way and of none the other


def test_the_intervals_hold_the_truth(rng):
    probs, labels = rows(60_000)
    whole = decide_classes(probs, labels, CostMatrix(costs=MATRIX))
    held = np.zeros(2)
    for _ in range(120):
        part = rng.integers(len(labels), size=300)
        found = decide_classes(probs[part], labels[part], CostMatrix(costs=MATRIX))
        pairs = ((found.cost, whole.cost), (found.saved, whole.saved))
        held += [one.low <= true.value <= one.high for one, true in pairs]
    assert np.all((held >= 0.9 * 120) & (held <= 0.99 * 120)), held / 120


@pytest.mark.parametrize("name", ["raw", "temperature"])
def test_costs_of_cats_and_dogs_are_those_computed_elsewhere(name):
    numbers = known("decisions")["k_class_cost"][name]
    (fit, fit_labels), (test, labels) = cifar(10)
    matrix = np.ones((10, 10)) - np.eye(10)
    matrix[3, 5] = matrix[5, 3] = 5.0
    if name == "temperature":
        test = (
            calib.calibrator("temperature").fit(np.log(fit), fit_labels).predict_proba(np.log(test))
        )
    found = decide_classes(test, labels, CostMatrix(costs=matrix))
    exact = 1e-12 if name == "raw" else 1e-6  # two fits of one temperature
    assert found.plain.value == pytest.approx(numbers["argmax_cost"], abs=1e-12)
    assert found.cost.value == pytest.approx(numbers["bayes_cost"], abs=1e-12)
    assert found.expected == pytest.approx(
        numbers["expected_bayes_cost"], abs=max(exact, 1e-9)
    )  # rows normalised
    assert round(found.changed.value * len(test)) == numbers["decisions_changed"]
    rejecting = decide_classes(
        test, labels, CostMatrix(costs=matrix, abstain=numbers["reject_cost"])
    )
    assert rejecting.handed_over.value == pytest.approx(numbers["reject_share"], abs=1e-12)
    assert rejecting.cost.value == pytest.approx(numbers["cost_with_reject"], abs=1e-12)
