"""Decisions at another base rate: rows drawn at that rate, a table that is weighted by hand, and rules that agree."""

from __future__ import annotations

import numpy as np
import pytest

from calib.decisions import CostMatrix, Costs, decide_classes, shift_prior
from calib.decisions.outcomes import change, outcome_of
from calib.decisions.shifted_decision import classes_at_rates, cut_at_rate, decision_at_rate
from calib.errors import CalibrationError
from calib.metrics.estimate import shares_of_rows
from calib.numerics import sigmoid

COSTS = Costs(false_alarm=1, miss=6)


def scores(n: int, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities at a rate of 0.3 of normal scores that are 1.5 apart, and labels at any rate."""
    labels = rng.random(n) < rate
    score = rng.normal(1.5 * labels)
    return sigmoid(1.5 * score - 1.5**2 / 2 + np.log(0.3 / 0.7)), labels


def test_the_cut_is_where_the_shifted_probability_reaches_that_of_the_costs():
    p = np.linspace(0.001, 0.999, 2000)
    cut = cut_at_rate(COSTS, 0.3, 0.05)
    np.testing.assert_array_equal(p >= cut, shift_prior(p, 0.3, 0.05) >= COSTS.cut)
    assert cut_at_rate(COSTS, 0.3, 0.3) == pytest.approx(COSTS.cut)


def test_counts_at_another_rate_are_those_of_rows_drawn_at_it(rng):
    p, y = scores(4000, 0.3, rng)
    found = decision_at_rate(p, y, COSTS, 0.3, 0.05)
    drawn, came = scores(400_000, 0.05, rng)
    acts = drawn >= found.cut
    direct = outcome_of(acts, came, COSTS)
    assert found.moved.cost is not None and direct.cost is not None
    for ours, theirs in (
        (found.moved.acted, direct.acted), (found.moved.misses, direct.misses), (found.moved.cost, direct.cost),
        (found.moved.precision, direct.precision), (found.moved.recall, direct.recall),
        (found.change.saved, change(acts, drawn >= found.cut_before, came, COSTS).saved),
    ):  # fmt: skip
        assert ours.low < theirs.value < ours.high
    assert found.change.settled and found.change.saved.value > 0


def test_weights_by_hand_give_the_same_values(rng):
    p, y = scores(500, 0.3, rng)
    found = decision_at_rate(p, y, COSTS, 0.3, 0.1)
    weight = np.where(y, 0.1 / y.sum(), 0.9 / (~y).sum())
    acts = p >= found.cut
    assert found.moved.acted.value == pytest.approx(1000 * weight @ acts)
    assert found.moved.precision.value == pytest.approx(weight @ (acts & y) / (weight @ acts))
    kept = outcome_of(p >= COSTS.cut, y, COSTS, weight)  # the number of events varies there, and does not here
    assert found.kept.cost is not None and kept.cost is not None
    assert found.kept.cost.value == pytest.approx(kept.cost.value)
    assert found.kept.cost.high - found.kept.cost.low < kept.cost.high - kept.cost.low


def test_nothing_changes_at_the_same_rate(rng):
    p, y = scores(300, 0.3, rng)
    found = decision_at_rate(p, y, COSTS, 0.3, 0.3)
    assert found.cut == pytest.approx(found.cut_before)
    assert found.change.changed.value == 0 and not found.change.settled


@pytest.mark.long
def test_intervals_at_a_rate_hold_the_truth(rng):
    pool, came = scores(400_000, 0.3, rng)
    cut = cut_at_rate(COSTS, 0.3, 0.05)
    hit, alarm = (pool[came] >= cut).mean(), (pool[~came] >= cut).mean()
    true = {
        "acted": 50 * hit + 950 * alarm, "misses": 50 * (1 - hit), "cost": 0.05 * 6 * (1 - hit) + 0.95 * alarm,
        "precision": 0.05 * hit / (0.05 * hit + 0.95 * alarm),
    }  # fmt: skip
    held = dict.fromkeys(true, 0)
    for _ in range(300):
        rows = rng.integers(len(pool), size=400)
        moved = decision_at_rate(pool[rows], came[rows], COSTS, 0.3, 0.05).moved
        for name, value in true.items():
            interval = getattr(moved, name)
            held[name] += interval.low <= value <= interval.high
    assert all(0.91 * 300 <= count <= 0.99 * 300 for count in held.values()), held


def test_shares_at_the_rows_own_rates_are_those_of_the_rows(rng):
    cell, kind = rng.integers(6, size=400), np.array([0, 0, 1, 1, 2, 2])
    table = np.eye(6)
    own = np.bincount(kind[cell], minlength=3) / 400
    units = rng.integers(40, size=400)
    for clusters in (None, units):
        ours, plain = shares_of_rows(cell, table, None, clusters, kind, own), shares_of_rows(cell, table)
        np.testing.assert_allclose(ours.value, plain.value)
        assert np.all(np.diagonal(ours.covariance) > 0)
    naive = np.zeros(6)
    for k in range(6):  # p (1 - p) / n within the class, times its rate squared
        of_class = kind[cell] == kind[k]
        p = (cell[of_class] == k).mean()
        naive[k] = own[kind[k]] ** 2 * p * (1 - p) / of_class.sum()
    np.testing.assert_allclose(np.diagonal(shares_of_rows(cell, table, None, None, kind, own).covariance), naive)


def test_a_share_of_no_row_reaches_as_far_as_its_class_tells():
    cell = np.repeat([0, 2, 3], [900, 40, 60])  # of 100 rows of the second class 60 have the property, of 900 none
    table = np.array([[0, 1, 0, 0], [0, 0, 0, 1]]).T
    shares = shares_of_rows(cell, table, classes=np.array([0, 0, 1, 1]), rates=[0.98, 0.02])
    none, some = (shares.of_share(k) for k in range(2))
    square = 1.959964**2
    assert none.value == 0 and none.high == pytest.approx(square / (900 / 0.98 + square), rel=1e-5)
    assert some.value == pytest.approx(0.02 * 0.6) and some.low < 0.012 < some.high < 0.02


def test_classes_at_other_rates_decide_as_their_rule_on_the_old_probabilities(rng):
    matrix = rng.uniform(0, 3, (4, 4))
    np.fill_diagonal(matrix, 0.0)
    probs = rng.dirichlet([1, 2, 1, 3], size=800)
    labels = np.array([rng.choice(4, p=row) for row in probs])
    old, new = np.array([1, 2, 1, 3]) / 7, np.array([0.5, 0.1, 0.35, 0.05])
    for over in (None, 0.4):
        rule = CostMatrix(costs=matrix, hand_over=over)
        found = classes_at_rates(probs, labels, rule, old, new)
        np.testing.assert_array_equal(found.rule.decide(probs), rule.decide(shift_prior(probs, old, new)))
        paid = np.where(found.moved.actions < 0, over or 0.0, matrix[labels, found.moved.actions])
        by_class = [paid[labels == k].mean() for k in range(4)]
        assert found.moved.cost.value == pytest.approx(new @ by_class)
        assert found.saved.value == pytest.approx(found.kept.cost.value - found.moved.cost.value)
        assert found.saved.value > 0 and found.now.cost == pytest.approx(decide_classes(probs, labels, rule).cost)
        assert found.moved.expected == pytest.approx(found.moved.cost.value, rel=0.15)  # these are calibrated


@pytest.mark.parametrize("rates", [(0.3, 0.0), (0.3, 1.2), (0.0, 0.1)])
def test_rates_that_are_none_are_refused(rates):
    with pytest.raises(CalibrationError):
        decision_at_rate([0.2, 0.4], [0, 1], COSTS, *rates)


def test_a_class_without_rows_is_named():
    rows = np.full((6, 3), 1 / 3), np.array([0, 1] * 3)
    with pytest.raises(CalibrationError, match="class 2"):
        classes_at_rates(*rows, CostMatrix(costs=1 - np.eye(3)), np.full(3, 1 / 3), [0.5, 0.3, 0.2])


def test_weighted_rows_at_a_rate_are_weighted_within_their_class(rng):
    cell, weights = rng.integers(4, size=300), rng.uniform(0.2, 3.0, 300)
    kind, rates = np.array([0, 0, 1, 1]), np.array([0.9, 0.1])
    found = shares_of_rows(cell, np.eye(4), weights, None, kind, rates)
    for k in range(4):
        of_class = kind[cell] == kind[k]
        hit, w = (cell == k)[of_class], weights[of_class]
        share = np.average(hit, weights=w)
        assert found.value[k] == pytest.approx(rates[kind[k]] * share)
        variance = rates[kind[k]] ** 2 * np.sum(w**2 * (hit - share) ** 2) / w.sum() ** 2
        assert found.covariance[k, k] == pytest.approx(variance)
    same = shares_of_rows(cell, np.eye(4), 7.0 * weights, None, kind, rates)
    np.testing.assert_allclose(same.covariance, found.covariance)
    np.testing.assert_allclose(same.n_effective, found.n_effective)


def test_clusters_that_share_their_outcome_tell_less(rng):
    unit = np.repeat(np.arange(60), 20)
    y = rng.random(1200) < 0.3
    acts = np.repeat(rng.random(60) < 0.4, 20)  # whole clusters are acted on
    alone = outcome_of(acts, y, COSTS, rate=0.1).acted
    together = outcome_of(acts, y, COSTS, clusters=unit, rate=0.1).acted
    assert together.value == pytest.approx(alone.value)
    assert together.high - together.low > 3 * (alone.high - alone.low)  # about the root of 20
