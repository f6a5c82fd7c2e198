"""Cuts and what they cost: closed forms, searches over every row, counts by hand, and numbers computed elsewhere."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from calib.decisions import Costs, Goal, change, outcome_of, recalibrated_cut
from calib.decisions.cuts import SEARCHED, Basis, cut_for, event_decision, highest_rows
from calib.decisions.recalibration import recalibrate
from calib.errors import CalibrationError
from calib.metrics.bootstrap import wilson_interval
from calib.metrics.estimate import rows_by_correlation
from calib.numerics import log_odds_of, sigmoid
from tests.published import known, risks

COSTS = Costs(false_alarm=1.0, miss=10.0)


@pytest.fixture
def rows(rng):
    score = rng.normal(-1.5, 1.3, 600)
    return np.round(sigmoid(score), 3), rng.random(600) < sigmoid(-0.4 + 0.7 * score)


def simulated(n: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Calibrated and too low probabilities, and labels."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, n) ** 2
    return p, p**1.5, rng.random(n) < p


def cost_of(acts, labels, costs):
    """Mean cost row by row."""
    cells = {(True, False): costs.false_alarm, (False, True): costs.miss}
    return np.mean(
        [cells.get((bool(act), bool(event)), 0.0) for act, event in zip(acts, labels, strict=True)]
    )


def test_the_cut_is_where_both_actions_cost_the_same():
    costs = Costs(false_alarm=3.0, miss=7.0)
    p = costs.cut
    assert (1 - p) * costs.false_alarm == pytest.approx(p * costs.miss, abs=1e-12)
    with pytest.raises(CalibrationError, match=r"miss=0\.0 must lie above 0"):
        Costs(false_alarm=1.0, miss=0.0)
    for goal in (
        {"basis": "recall", "value": 0.0},
        {"basis": "recall", "value": 1.4},
        {"today": 1.4},
    ):
        with pytest.raises(CalibrationError, match="between 0 and 1"):
            Goal(**goal)


def test_outcomes_are_counts_with_wilsons_intervals(rows):
    probs, labels = rows
    acts, costs = probs >= 0.2, Costs(1.0, 4.0)
    found = outcome_of(acts, labels, costs)
    n, hits = len(labels), int((acts & labels).sum())
    low, high = wilson_interval(hits, n)
    assert found.true_positives == pytest.approx(
        (1000 * hits / n, 1000 * float(low), 1000 * float(high))
    )
    low, high = wilson_interval(hits, labels.sum())
    assert found.recall == pytest.approx((hits / labels.sum(), float(low), float(high)))
    assert found.precision.value == pytest.approx(hits / acts.sum())
    for count, rows_of_kind in (
        (found.false_positives, acts & ~labels),
        (found.misses, ~acts & labels),
        (found.acted, acts),
    ):
        assert count.value == pytest.approx(1000 * rows_of_kind.mean())
    assert found.cost.value == pytest.approx(cost_of(acts, labels, costs))
    twice = outcome_of(acts, labels, Costs(2.0, 8.0)).cost
    np.testing.assert_allclose(twice, 2 * np.array(found.cost))
    none = outcome_of(np.zeros(4, bool), np.zeros(4, bool), COSTS)
    assert np.isnan(none.recall).all() and np.isnan(none.precision).all()
    assert none.cost.value == 0.0 and none.cost.high > 0.0


def test_targets_are_met_by_the_first_and_the_last_cut(rows):
    probs, labels = rows
    cuts = np.unique(probs)
    recalls = np.array([labels[probs >= cut].sum() / labels.sum() for cut in cuts])
    precisions = np.array([labels[probs >= cut].mean() for cut in cuts])
    assert cut_for(Goal("recall", 0.8), probs, labels).value == cuts[recalls >= 0.8].max()
    assert cut_for(Goal("precision", 0.4), probs, labels).value == cuts[precisions >= 0.4].min()
    with pytest.raises(CalibrationError, match=r"highest is 0\.5"):
        cut_for(Goal("precision", 0.6), np.array([0.9, 0.5, 0.1]), np.array([False, True, False]))
    with pytest.raises(CalibrationError, match="No row has the event"):
        cut_for(Goal("recall", 0.6), np.array([0.9, 0.5]), np.zeros(2, dtype=bool))


def test_a_capacity_takes_the_highest_and_draws_among_ties():
    probs, labels = (
        np.array([0.5, 0.9, 0.5, 0.5, 0.1, 0.2]),
        np.array([0, 1, 1, 0, 0, 0], dtype=bool),
    )
    taken = np.zeros(6)
    for seed in range(60):
        acts = highest_rows(probs, None, 0.5, seed)
        assert acts.sum() == 3 and acts[1] and not acts[4:].any()
        taken += acts
    assert cut_for(Goal("capacity", 0.5), probs, labels).value == 0.5
    assert (np.abs(taken[[0, 2, 3]] - 40) < 4 * np.sqrt(60 * 2 / 9)).all()
    weighted = highest_rows(probs, np.array([1, 3, 1, 1, 1, 1]), 0.5, 0)
    assert weighted[1] and weighted.sum() == 2 and not weighted[4:].any()
    y = np.arange(4000) < 400  # sorted by label, as files often are
    found = event_decision(np.full(4000, 0.1), np.full(4000, 0.2), y, Goal("capacity", 0.1))
    assert abs(found.outcome.precision.value - 0.1) < 4 * np.sqrt(0.09 / 400)
    assert not found.from_raw.changed.value  # the same draw for both


def test_a_capacity_acts_on_as_many_rows_as_it_says():
    p, raw, y = simulated()
    coarse = np.round(p, 1)  # ties, as an isotonic map makes them
    for probs in (p, coarse):
        found = event_decision(probs, raw, y, Goal("capacity", 0.05))
        assert found.outcome.acted == found.raw.acted == (50.0, 50.0, 50.0)
        assert (found.n_decision, found.n_judgement) == (0, 2000)
    assert found.tied == (coarse == found.cut.value).sum()
    assert found.drawn == 100 - (coarse > found.cut.value).sum() < found.tied


@pytest.mark.long
def test_the_interval_of_a_capacity_s_cut_holds_the_quantile():
    rng, held = np.random.default_rng(3), 0
    for _ in range(80):
        probs = rng.random(200)
        cut = cut_for(Goal("capacity", 0.1), probs, probs > 0.5)
        held += cut.low <= 0.9 <= cut.high
    assert 68 <= held <= 80


def test_a_change_is_the_difference_of_two_costs(rows, rng):
    probs, labels = rows
    weights, clusters = rng.uniform(0.5, 2.0, 600), np.arange(600) % 30
    costs = Costs(2.0, 7.0)
    for options in ({}, {"weights": weights}, {"weights": weights, "clusters": clusters}):
        new, old = (outcome_of(probs >= cut, labels, costs, **options).cost for cut in (0.1, 0.3))
        found = change(probs >= 0.1, probs >= 0.3, labels, costs, **options)
        assert found.saved.value == pytest.approx(old.value - new.value)
        assert found.saved.low < found.saved.value < found.saved.high
    there, back = (
        change(probs >= 0.1, probs >= 0.3, labels, costs),
        change(probs >= 0.3, probs >= 0.1, labels, costs),
    )
    np.testing.assert_allclose(
        back.saved, [-there.saved.value, -there.saved.high, -there.saved.low]
    )
    none = change(probs >= 0.2, probs >= 0.2, labels, Costs(1.0, 1.0))
    assert none.changed.value == 0.0
    # No change reaches as far as a few rows would.
    assert none.saved.high == pytest.approx(-none.saved.low) and 0 < none.saved.high < 8 / 600


def test_few_clusters_do_not_widen_what_hardly_changes():
    # 24 changed rows of 2,000 in 60 clusters. Kinds of change that no row has once counted as 1 of 60 clusters.
    rng = np.random.default_rng(0)
    y, before = rng.random(2000) < 0.1, rng.random(2000) < 0.2
    acts = before.copy()
    acts[rng.choice(np.flatnonzero(~before), 24, replace=False)] = True
    costs = Costs(1, 5)
    found = change(acts, before, y, costs, clusters=np.arange(2000) % 60).saved
    alone = change(acts, before, y, costs).saved
    assert (found.high - found.low) < 2 * (alone.high - alone.low)
    each = np.where(acts & ~before, np.where(y, -5.0, 1.0), 0.0)
    assert found.high - found.low > 2 * 1.96 * each.std() / math.sqrt(2000)


def test_rows_of_clusters_count_by_the_disagreement_of_pairs():
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 40, 30)
    unit = np.repeat(np.arange(30), sizes)
    hit = np.where(
        rng.random(len(unit)) < 0.5, (rng.random(30) < 0.3)[unit], rng.random(len(unit)) < 0.3
    )
    n, share = len(unit), hit.mean()
    apart = [np.mean([a != b for a, b in combinations(hit[unit == k], 2)]) for k in range(30)]
    correlation = 1 - np.sum((sizes - 1) * apart) / (n - 30) / (2 * share * (1 - share))
    expected = n / (1 + (np.sum(sizes**2) / n - 1) * correlation)
    assert rows_by_correlation(hit, clusters=unit) == pytest.approx(expected)
    assert rows_by_correlation(hit) == rows_by_correlation(hit, clusters=np.arange(n)) == n


def test_a_share_of_changes_is_held_where_clusters_of_uneven_size_change_alike():
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sizes = np.exp(rng.normal(size=60))
        unit = np.repeat(np.arange(60), np.ceil(2000 * sizes / sizes.sum()).astype(int))
        own, alone = rng.random(60) < 0.2, rng.random(len(unit)) < 0.2
        moved = np.where(rng.random(len(unit)) < 0.5, own[unit], alone)
        found = change(
            moved,
            np.zeros(len(unit), bool),
            rng.random(len(unit)) < 0.1,
            Costs(1, 1),
            clusters=unit,
        )
        held += found.changed.low <= 0.2 <= found.changed.high
    assert held >= 88


@pytest.mark.long
def test_the_delta_interval_holds_the_true_cut(rng):
    held = {"rows": 0, "clusters": 0}
    truth = float(sigmoid(np.array((np.log(0.1 / 0.9) + 0.5) / 0.7)))
    for _ in range(200):
        score = rng.normal(-1, 1.3, 500)
        labels = rng.random(500) < sigmoid(-0.5 + 0.7 * score)
        for kind, clusters in (("rows", None), ("clusters", np.arange(500) % 50)):
            cut = recalibrated_cut(sigmoid(score), labels, 0.1, clusters=clusters)
            held[kind] += cut.low <= truth <= cut.high
    assert all(0.91 * 200 <= count <= 0.985 * 200 for count in held.values()), held


def test_a_recalibration_solves_the_score_equations(rows):
    probs, labels = rows
    score = log_odds_of(probs, 0.0005)
    intercept, slope = recalibrate(score, labels)
    residual = labels - sigmoid(intercept + slope * score)
    assert residual.sum() == pytest.approx(0, abs=1e-6) and residual @ score == pytest.approx(
        0, abs=1e-5
    )
    for given in ([1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]):
        with pytest.raises(CalibrationError, match="slope"):
            recalibrated_cut(np.array([0.1, 0.3, 0.6, 0.8]), np.array(given), 0.2)


# -- a cut beside today's and the uncalibrated probability --------------------------------------------


@pytest.mark.parametrize("costs", [Costs(1, 1), Costs(1, 50), Costs(3, 7)])
def test_costs_are_those_of_counting_row_by_row(costs):
    p, raw, y = simulated()
    found = event_decision(p, raw, y, Goal(costs=costs, today=0.3))
    assert found.cut.value == pytest.approx(costs.cut)
    assert (found.n_decision, found.n_judgement, found.n_events) == (0, 2000, int(y.sum()))
    cut = costs.cut
    for outcome, acts in (
        (found.outcome, p >= cut),
        (found.raw, raw >= cut),
        (found.today, raw >= 0.3),
    ):
        assert outcome.cost.value == pytest.approx(cost_of(acts, y, costs))
        assert outcome.acted.value == pytest.approx(1000 * acts.mean())
    assert found.from_today.saved.value == pytest.approx(
        found.today.cost.value - found.outcome.cost.value
    )
    both = (
        cost_of(np.zeros(2000), y, costs),
        cost_of(np.ones(2000), y, costs),
    )  # the rules without a model
    assert found.acting_on_all == (both[1] < both[0])
    assert found.from_same.saved.value == pytest.approx(min(both) - cost_of(p >= cut, y, costs))
    assert found.from_same.saved.low <= found.from_same.saved.value <= found.from_same.saved.high


@pytest.mark.parametrize("basis", ["capacity", "recall", "precision"])
def test_a_cut_is_judged_on_other_rows_and_a_map_that_keeps_the_order_changes_no_decision(
    basis: Basis,
):
    p, raw, y = simulated()
    found = event_decision(p, raw, y, Goal(basis, 0.4))
    # The raw probability has another threshold for the same goal: it was judged at the calibrated one.
    assert found.from_raw.changed.value == found.from_raw.saved.value == 0.0
    assert found.cut_of_raw.value == pytest.approx(found.cut.value**1.5)
    assert found.raw.recall == found.outcome.recall
    if basis in SEARCHED:
        found = event_decision(p, raw, y, Goal(basis, 0.4), clusters=np.arange(2000) // 20)
        assert found.n_decision + found.n_judgement == 2000
        assert found.n_judgement % 20 == 0  # whole clusters
        assert found.cut.low <= found.cut.value <= found.cut.high
        assert abs(getattr(found.outcome, basis).value - 0.4) < 0.08


def test_a_precision_that_the_raw_model_reaches_nowhere_has_it_act_on_nothing():
    rng = np.random.default_rng(0)
    p = rng.uniform(0, 1, 2000)
    found = event_decision(p, np.full(2000, 0.3), rng.random(2000) < p, Goal("precision", 0.8))
    assert found.cut_of_raw is None and found.raw.acted.value == 0.0
    assert abs(found.outcome.precision.value - 0.8) < 0.1


def test_the_same_probabilities_change_nothing_and_too_few_events_are_said():
    p, raw, y = simulated()
    found = event_decision(p, p, y, Goal("threshold", 0.25, today=0.25))
    for change_ in (found.from_raw, found.from_today):
        assert change_.changed.value == change_.saved.value == 0.0
    assert found.recalibrated.low < 0.25 < found.recalibrated.high  # these are calibrated
    assert not found.too_few
    assert "7 rows" in event_decision(p, raw, np.arange(2000) < 7, Goal()).too_few
    found = event_decision(p, raw, np.zeros(2000, bool), Goal(today=0.2))
    assert found.recalibrated is None and math.isnan(found.outcome.recall.value)


# -- numbers computed elsewhere -----------------------------------------------------------------------


def test_cuts_of_the_credit_data_are_those_computed_elsewhere():
    (probs, labels), numbers = risks("credit"), known("decisions")["decisions"]
    plain = outcome_of(probs >= COSTS.cut, labels, COSTS)
    assert plain.cost.value == pytest.approx(numbers["cost_at_t_star_raw"], abs=1e-9)
    raw = recalibrated_cut(probs, labels, COSTS.cut)
    assert raw.value == pytest.approx(numbers["platt_equivalent_raw_cut"], abs=1e-9)
    np.testing.assert_allclose(raw[1:], numbers["platt_cut_95"], atol=1e-6)  # theirs has z = 1.96
    cost = outcome_of(probs >= raw.value, labels, COSTS).cost.value
    assert cost == pytest.approx(numbers["cost_at_platt_cut"], abs=1e-9)
    capacity = numbers["capacity"]
    room = event_decision(probs, probs, labels, Goal("capacity", capacity["k"] / len(probs)))
    assert room.cut.value == capacity["cut"] and room.tied == capacity["rows_at_the_cut"]
    assert room.outcome.true_positives.value == pytest.approx(
        1000 * capacity["events_caught"] / len(probs)
    )


@pytest.mark.parametrize("name", ["credit", "breast", "llm"])
def test_costs_on_real_data_are_those_of_the_stratos_script(name):
    (probs, labels), numbers = risks(name), known("risk_model")[name]
    if name == "llm":
        probs, numbers = np.clip(probs, 0.005, 0.995), numbers["clipped_0.005"]
    for threshold, there in numbers["expected_cost"]["thresholds"].items():
        costs = Costs(1.0, (1 - float(threshold)) / float(threshold))
        plain = outcome_of(probs >= float(threshold), labels, costs)
        assert plain.cost.value == pytest.approx(there["cost_at_theoretical"], abs=1e-11)


def test_savings_of_what_comes_in_whole_clusters_are_covered(rng):
    """The rows that change are alone in their clusters; the event is in all rows of one cluster in 50."""
    clusters, covered = np.repeat(np.arange(60), 20), 0
    costs = Costs(false_alarm=1, miss=50)
    truth = 0.3 * (0.98 * 1.0 - 0.02 * 50)  # a changed row saves 1, and one of those loses 50
    for _ in range(100):
        event, changes = (rng.random(60) < 0.02)[clusters], rng.random(len(clusters)) < 0.3
        before = np.ones(len(clusters), dtype=bool)
        found = change(~changes, before, event, costs, clusters=clusters).saved
        covered += found.low <= truth <= found.high
    assert covered >= 90


def test_where_no_decision_changes_a_cluster_counts_once(rng):
    event, acts = rng.random(2000) < 0.2, rng.random(2000) < 0.3
    for clusters, n in ((None, 2000), (np.arange(2000) % 80, 80)):
        found = change(acts, acts, event, Costs(1.0, 5.0), clusters=clusters).saved
        assert found.value == 0.0 and found.high == pytest.approx(-found.low)
        # As of 4 rows, or clusters, one way and of none the other.
        assert 3 * 5 / n < found.high < 6 * 5 / n
