"""A cut beside today's and the uncalibrated probability: counted by hand, and on rows that did not choose it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calib.decisions.cuts import SEARCHED, Basis, Goal, event_decision
from calib.decisions.outcomes import Costs, change
from calib.errors import CalibrationError


def simulated(n: int = 2000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated and too low probabilities, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0, 1, n) ** 2
    return p, p**1.5, rng.random(n) < p


def naive_cost(acts: np.ndarray, labels: np.ndarray, costs: Costs) -> float:
    total = 0.0
    for act, event in zip(acts, labels, strict=True):
        total += {(1, 0): costs.false_alarm, (0, 1): costs.miss}.get((int(act), int(event)), 0.0)
    return total / len(labels)


def test_costs_are_those_of_counting_row_by_row():
    p, raw, y = simulated()
    goal = Goal(costs=Costs(false_alarm=1, miss=6), today=0.3)
    found = event_decision(p, raw, y, goal)
    assert found.cut.value == pytest.approx(1 / 7)
    assert (found.n_decision, found.n_judgement, found.n_events) == (0, 2000, int(y.sum()))
    for outcome, acts in ((found.outcome, p >= 1 / 7), (found.raw, raw >= 1 / 7), (found.today, raw >= 0.3)):
        assert outcome is not None and outcome.cost is not None
        assert outcome.cost.value == pytest.approx(naive_cost(acts, y, goal.costs))
        assert outcome.acted.value == pytest.approx(1000 * acts.mean())
    assert found.from_today is not None and found.today is not None and found.today.cost is not None
    assert found.from_today.saved.low > 0  # today's cut is far from what these costs ask for


@pytest.mark.parametrize("basis", SEARCHED)
def test_a_cut_that_needs_labels_is_judged_on_rows_that_did_not_choose_it(basis: Basis):
    p, raw, y = simulated()
    clusters = np.arange(len(p)) // 20
    found = event_decision(p, raw, y, Goal(basis, 0.4), clusters=clusters)
    assert found.n_decision + found.n_judgement == len(p)
    assert found.n_judgement % 20 == 0  # whole clusters
    assert found.cut.low <= found.cut.value <= found.cut.high
    reached = {"recall": found.outcome.recall.value, "precision": found.outcome.precision.value}[basis]
    assert abs(reached - 0.4) < 0.08


@pytest.mark.parametrize("basis", ["capacity", "recall", "precision"])
def test_a_map_that_keeps_the_order_changes_no_decision_that_the_order_makes(basis: Basis):
    # The raw probability has another threshold for the same goal: it was judged at the calibrated one.
    p, raw, y = simulated()
    found = event_decision(p, raw, y, Goal(basis, 0.4))
    assert found.from_raw.changed.value == found.from_raw.saved.value == 0.0
    assert found.cut_of_raw is not None and found.cut_of_raw.value == pytest.approx(found.cut.value**1.5)
    assert found.raw.recall == found.outcome.recall


def test_a_precision_that_the_raw_model_reaches_nowhere_has_it_act_on_nothing():
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 2000)
    found = event_decision(p, np.full(2000, 0.3), rng.random(2000) < p, Goal("precision", 0.8))
    assert found.cut_of_raw is None and found.raw.acted.value == 0.0
    assert abs(found.outcome.precision.value - 0.8) < 0.1


def test_a_capacity_acts_on_as_many_rows_as_it_says():
    p, raw, y = simulated(2000)
    coarse = np.round(p, 1)  # ties, as an isotonic map makes them
    for probs in (p, coarse):
        found = event_decision(probs, raw, y, Goal("capacity", 0.05))
        assert found.outcome.acted == found.raw.acted == (50.0, 50.0, 50.0)
        assert (found.n_decision, found.n_judgement) == (0, 2000)
    assert found.tied == (coarse == found.cut.value).sum()
    assert found.drawn == 100 - (coarse > found.cut.value).sum() < found.tied


def test_ties_within_a_capacity_are_drawn_whatever_the_order_of_the_rows():
    y = np.arange(4000) < 400  # sorted by label, as files often are
    found = event_decision(np.full(4000, 0.1), np.full(4000, 0.2), y, Goal("capacity", 0.1))
    assert abs(found.outcome.precision.value - 0.1) < 4 * np.sqrt(0.09 / 400)
    assert not found.from_raw.changed.value  # the same draw for both


@pytest.mark.parametrize("costs", [Costs(1, 1), Costs(1, 50), Costs(3, 7, 1, 2)])
def test_the_rule_without_a_model_is_the_cheaper_of_acting_on_all_and_on_none(costs: Costs):
    p, raw, y = simulated()
    found = event_decision(p, raw, y, Goal(costs=costs))

    def paid(acts: np.ndarray) -> float:
        of = {(1, 0): costs.false_alarm, (0, 1): costs.miss, (0, 0): costs.true_negative, (1, 1): costs.true_positive}
        return float(np.mean([of[int(act), int(event)] for act, event in zip(acts, y, strict=True)]))

    both = paid(np.zeros(len(y))), paid(np.ones(len(y)))
    assert found.acting_on_all == (both[1] < both[0])
    assert found.from_same.saved.value == pytest.approx(min(both) - paid(p >= costs.cut))
    assert found.from_same.saved.low <= found.from_same.saved.value <= found.from_same.saved.high


def test_the_same_probabilities_change_nothing():
    p, _, y = simulated()
    found = event_decision(p, p, y, Goal("threshold", 0.25, today=0.25))
    for change_ in (found.from_raw, found.from_today):
        assert change_ is not None
        assert change_.changed.value == change_.saved.value == 0.0
    assert found.recalibrated is not None  # these are calibrated: the same cut, within its interval
    assert found.recalibrated.low < 0.25 < found.recalibrated.high


def test_too_few_events_are_said_with_their_number():
    p, raw, _ = simulated()
    assert "7 rows" in event_decision(p, raw, np.arange(2000) < 7, Goal()).too_few
    assert not event_decision(*simulated(), Goal()).too_few
    found = event_decision(p, raw, np.zeros(2000, bool), Goal(today=0.2))
    assert found.recalibrated is None and math.isnan(found.outcome.recall.value)


@pytest.mark.parametrize("value", [0.0, 1.4])
def test_a_goal_that_is_no_share_is_refused(value: float):
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        Goal("recall", value)
    with pytest.raises(CalibrationError, match="between 0 and 1"):
        Goal(today=value)


def test_few_clusters_do_not_widen_what_hardly_changes():
    # 24 changed rows of 2,000 in 60 clusters. Kinds of change that no row has once counted as 1 of 60 clusters.
    rng = np.random.default_rng(0)
    y, before = rng.random(2000) < 0.1, rng.random(2000) < 0.2
    acts = before.copy()
    acts[rng.choice(np.flatnonzero(~before), 24, replace=False)] = True
    costs = Costs(1, 5)
    clusters = np.arange(2000) % 60
    found = change(acts, before, y, costs, clusters=clusters).saved
    rows = change(acts, before, y, costs).saved
    assert (found.high - found.low) < 2 * (rows.high - rows.low)
    each = np.where(acts & ~before, np.where(y, -5.0, 1.0), 0.0)
    assert found.high - found.low > 2 * 1.96 * each.std() / math.sqrt(2000)
