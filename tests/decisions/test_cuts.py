"""Cuts and what they cost: closed forms, searches over every row, and numbers computed elsewhere."""

import csv
import json

import numpy as np
import pytest

from calib.decisions import Costs, Goal, change, outcome_of, recalibrated_cut
from calib.decisions.cuts import cut_for, event_decision, highest_rows
from calib.decisions.recalibration import recalibrate
from calib.errors import CalibrationError
from calib.metrics import wilson_interval
from calib.numerics import log_odds_of, sigmoid

COSTS = Costs(false_alarm=1.0, miss=10.0)


@pytest.fixture
def rows(rng):
    score = rng.normal(-1.5, 1.3, 600)
    return np.round(sigmoid(score), 3), rng.random(600) < sigmoid(-0.4 + 0.7 * score)


def cost_of(acts, labels, costs):
    """Mean cost row by row."""
    cells = {
        (True, True): costs.true_positive,
        (True, False): costs.false_alarm,
        (False, True): costs.miss,
        (False, False): costs.true_negative,
    }
    return np.mean([cells[bool(act), bool(came)] for act, came in zip(acts, labels, strict=True)])


def test_the_cut_is_where_both_actions_cost_the_same():
    costs = Costs(false_alarm=3.0, miss=7.0, true_negative=-1.0, true_positive=2.0)
    p = costs.cut
    acting = p * costs.true_positive + (1 - p) * costs.false_alarm
    waiting = p * costs.miss + (1 - p) * costs.true_negative
    assert acting == pytest.approx(waiting, abs=1e-12)
    with pytest.raises(CalibrationError, match="one action is always best"):
        Costs(false_alarm=1.0, miss=1.0, true_positive=2.0)


def test_outcomes_are_counts_with_wilsons_intervals(rows):
    probs, labels = rows
    acts = probs >= 0.2
    found = outcome_of(acts, labels, Costs(1.0, 4.0, 0.5, -2.0))
    n, hits = len(labels), int((acts & labels).sum())
    low, high = wilson_interval(hits, n)
    assert found.true_positives == pytest.approx((1000 * hits / n, 1000 * float(low), 1000 * float(high)))
    low, high = wilson_interval(hits, labels.sum())
    assert found.recall == pytest.approx((hits / labels.sum(), float(low), float(high)))
    assert found.precision.value == pytest.approx(hits / acts.sum())
    counts = (found.true_positives, found.false_positives, found.misses, found.true_negatives)
    assert sum(count.value for count in counts) == pytest.approx(1000)
    assert found.cost.value == pytest.approx(cost_of(acts, labels, Costs(1.0, 4.0, 0.5, -2.0)))


def test_what_every_row_costs_moves_the_interval_and_does_not_widen_it(rows):
    probs, labels = rows
    plain = outcome_of(probs >= 0.2, labels, Costs(1.0, 4.0)).cost
    more = outcome_of(probs >= 0.2, labels, Costs(6.0, 9.0, 5.0, 5.0)).cost
    np.testing.assert_allclose(np.subtract(more, plain), 5.0)


def test_an_outcome_without_events_or_actions_has_no_recall_or_precision():
    found = outcome_of(np.zeros(4, bool), np.zeros(4, bool), COSTS)
    assert np.isnan(found.recall).all() and np.isnan(found.precision).all()
    assert found.cost.value == 0.0 and found.cost.high > 0.0


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
    probs, labels = np.array([0.5, 0.9, 0.5, 0.5, 0.1, 0.2]), np.array([0, 1, 1, 0, 0, 0], dtype=bool)
    taken = np.zeros(6)
    for seed in range(60):
        acts = highest_rows(probs, None, 0.5, seed)
        assert acts.sum() == 3 and acts[1] and not acts[4:].any()
        taken += acts
    assert cut_for(Goal("capacity", 0.5), probs, labels).value == 0.5
    assert (np.abs(taken[[0, 2, 3]] - 40) < 4 * np.sqrt(60 * 2 / 9)).all()
    weighted = highest_rows(probs, np.array([1, 3, 1, 1, 1, 1]), 0.5, 0)
    assert weighted[1] and weighted.sum() == 2 and not weighted[4:].any()


def test_a_capacity_s_cut_is_a_quantile_with_the_quantile_s_interval():
    rng = np.random.default_rng(3)
    held = 0
    for seed in range(80):
        probs = rng.random(200)
        cut = cut_for(Goal("capacity", 0.1), probs, probs > 0.5, random_state=seed)
        held += cut.low <= 0.9 <= cut.high
    assert 68 <= held <= 80


def test_a_change_is_the_difference_of_two_costs(rows, rng):
    probs, labels = rows
    weights, clusters = rng.uniform(0.5, 2.0, 600), np.arange(600) % 30
    costs = Costs(2.0, 7.0, 0.5, 1.0)
    for options in ({}, {"weights": weights}, {"weights": weights, "clusters": clusters}):
        new, old = (outcome_of(probs >= cut, labels, costs, **options).cost for cut in (0.1, 0.3))
        found = change(probs >= 0.1, probs >= 0.3, labels, costs, **options)
        assert found.saved.value == pytest.approx(old.value - new.value)
        assert found.saved.low < found.saved.value < found.saved.high
        assert 1000 * found.changed.value == pytest.approx(found.newly_acted.value) and found.no_longer_acted.value == 0
    there, back = change(probs >= 0.1, probs >= 0.3, labels, costs), change(probs >= 0.3, probs >= 0.1, labels, costs)
    np.testing.assert_allclose(back.saved, [-there.saved.value, -there.saved.high, -there.saved.low])


def test_no_change_reaches_as_far_as_a_few_rows_would(rows):
    probs, labels = rows
    found = change(probs >= 0.2, probs >= 0.2, labels, Costs(1.0, 1.0))
    assert found.changed.value == 0.0
    assert found.saved.high == pytest.approx(-found.saved.low) and 0 < found.saved.high < 8 / 600


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
    assert residual.sum() == pytest.approx(0, abs=1e-6) and residual @ score == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("labels", [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1]])
def test_recalibrations_without_a_cut_are_refused(labels):
    with pytest.raises(CalibrationError, match="slope"):
        recalibrated_cut(np.array([0.1, 0.3, 0.6, 0.8]), np.array(labels), 0.2)


@pytest.fixture
def credit(reference_data):
    with open(reference_data / "credit.csv", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    known = json.loads((reference_data.parent / "numbers" / "decisions.json").read_text())["decisions"]
    return *(np.array([float(row[column]) for row in table]) for column in ("pd", "default")), known


def test_cuts_of_the_credit_data_are_those_computed_elsewhere(credit):
    probs, labels, known = credit
    plain = outcome_of(probs >= COSTS.cut, labels, COSTS)
    assert plain.cost.value == pytest.approx(known["cost_at_t_star_raw"], abs=1e-9)
    raw = recalibrated_cut(probs, labels, COSTS.cut)
    assert raw.value == pytest.approx(known["platt_equivalent_raw_cut"], abs=1e-9)
    np.testing.assert_allclose(raw[1:], known["platt_cut_95"], atol=1e-6)  # theirs has z = 1.96
    cost = outcome_of(probs >= raw.value, labels, COSTS).cost.value
    assert cost == pytest.approx(known["cost_at_platt_cut"], abs=1e-9)
    room = event_decision(probs, probs, labels, Goal("capacity", known["capacity"]["k"] / len(probs)))
    assert room.cut.value == known["capacity"]["cut"] and room.tied == known["capacity"]["rows_at_the_cut"]
    caught = known["capacity"]["events_caught"]
    assert room.outcome.true_positives.value == pytest.approx(1000 * caught / len(probs))


@pytest.mark.parametrize("name", ["credit", "breast", "llm"])
def test_costs_on_real_data_are_those_of_the_stratos_script(reference_data, name):
    known = json.loads((reference_data.parent / "numbers" / "risk_model.json").read_text())[name]
    risk, event = {"credit": ("pd", "default"), "breast": ("risk", "malignant"), "llm": ("confidence", "correct")}[name]
    with open(reference_data / f"{name}.csv", encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    probs = np.array([float(row[risk]) for row in table])
    labels = np.array([row[event] in ("1", "true") for row in table])
    if name == "llm":
        probs, known = np.clip(probs, 0.005, 0.995), known["clipped_0.005"]
    thresholds = known["expected_cost"]["thresholds"]
    for threshold, numbers in thresholds.items():
        costs = Costs(1.0, (1 - float(threshold)) / float(threshold))
        plain = outcome_of(probs >= float(threshold), labels, costs)
        assert plain.cost.value == pytest.approx(numbers["cost_at_theoretical"], abs=1e-11)
