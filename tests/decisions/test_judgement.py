"""Decisions are fitted on some rows and judged on others: which rows, and what is found, against naive counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import calib
from calib.data import Predictions
from calib.data.samples import load_sample
from calib.decisions import AnswerAbove, fit_and_judge, fit_sets, judge_answers
from calib.decisions.judgement import (
    certify,
    certify_and_judge,
    independent_rows,
    mean_of,
    share_of,
)
from calib.decisions.rules import ABSTAIN
from calib.decisions.set_scores import fit_and_judge_sets, judge_sets, sets_change
from calib.errors import CalibrationError
from calib.metrics.bootstrap import wilson_interval
from tests.conftest import simulate


@pytest.fixture(scope="module")
def parts() -> tuple[Predictions, Predictions]:
    logits, labels = simulate(n=2400, scale=2.0)
    data = Predictions(logits, labels, tuple("abcd")).identified()
    return data.split(600)


@pytest.fixture(scope="module")
def temperature(parts):
    return calib.calibrator("temperature").fit(parts[0].logits, parts[0].labels)


def rows_of(part, whole):
    place = {row.tobytes(): i for i, row in enumerate(whole.logits)}
    return np.array([place[row.tobytes()] for row in part.logits])


def test_no_row_of_a_test_set_is_used_twice_and_clusters_stay_whole(parts):
    _, test = parts
    clustered = replace(test, clusters=np.array([f"c{i // 7}" for i in range(len(test))]))
    for data in (test, clustered):
        found = fit_and_judge(data, lambda part: part, lambda made, part: (made, part))
        first, second = rows_of(found.made, data), rows_of(found.found[1], data)
        np.testing.assert_array_equal(
            np.sort(np.concatenate([first, second])), np.arange(len(data))
        )
        assert (found.n_decision, found.n_judgement) == (len(first), len(second))
        assert abs(len(first) - 0.5 * len(data)) <= 7
        frequency = [
            np.bincount(data.labels[rows], minlength=4) / len(rows) for rows in (first, second)
        ]
        np.testing.assert_allclose(*frequency, atol=0.03)
        assert f"{len(first):,}" in found.said() and f"{len(second):,}" in found.said()
        if data.clusters is not None:
            assert not set(data.clusters[first]) & set(data.clusters[second])
            assert "whole clusters" in found.said()


def test_of_clusters_one_random_row_each_is_independent(rng):
    clusters = np.repeat(np.arange(300), 5)
    data = Predictions(
        rng.normal(size=(1500, 3)), rng.integers(0, 3, 1500), tuple("abc"), clusters=clusters
    )
    taken = rows_of(independent_rows(data), data)
    np.testing.assert_array_equal(clusters[taken], np.arange(300))
    # Each of the five places of a cluster is taken as often as any other: chi-square of 300 draws.
    counts = np.bincount(taken % 5, minlength=5)
    assert ((counts - 60) ** 2 / 60).sum() < 18.5
    assert len(independent_rows(replace(data, clusters=None))) == 1500


def test_coverage_and_sizes_are_those_of_a_count(parts, temperature):
    _, test = parts
    found = fit_and_judge_sets(temperature, test, 0.1)
    _, judgement = test.split(0.5, 0)
    inside = found.made.predict(temperature.predict_proba(judgement.logits))
    scores = found.found
    covered = [bool(inside[i, label]) for i, label in enumerate(judgement.labels)]
    assert scores.coverage.value == pytest.approx(np.mean(covered))
    assert scores.mean_size.value == pytest.approx(inside.sum() / len(inside))
    assert inside.any(axis=1).all()
    assert scores.sizes.tolist() == [sum(row.sum() == k for row in inside) for k in range(5)]
    for k in range(4):
        of_class = [c for c, label in zip(covered, judgement.labels, strict=True) if label == k]
        assert (scores.class_rows[k], scores.class_coverage[k]) == (
            len(of_class),
            pytest.approx(np.mean(of_class)),
        )
        assert scores.class_low[k] <= scores.class_coverage[k] <= scores.class_high[k]
    for interval in (scores.coverage, scores.mean_size, scores.single):
        assert interval.low <= interval.value <= interval.high
    low, high = scores.expected
    assert low < 0.9 < high and abs(scores.coverage.value - 0.9) < 0.06


def test_sets_and_answers_count_rows_by_their_weights(parts, temperature, rng):
    weights = rng.exponential(size=len(parts[1]))
    test = replace(parts[1], weights=weights, weight_kind="sampling")
    sets = fit_sets(temperature, test, 0.1)
    found = judge_sets(temperature, sets, test)
    inside = sets.predict(temperature.predict_proba(test.logits))
    covered = inside[np.arange(len(test)), test.labels]
    assert found.coverage.value == pytest.approx(np.average(covered, weights=weights))
    assert found.mean_size.value == pytest.approx(np.average(inside.sum(axis=1), weights=weights))
    assert found.sizes.sum() == pytest.approx(weights.sum()) and found.expected is None
    own = test.labels == 2
    coverage_of_class = np.average(covered[own], weights=weights[own])
    assert found.class_coverage[2] == pytest.approx(coverage_of_class)
    worth = weights[own].sum() ** 2 / (weights[own] ** 2).sum()
    low, high = wilson_interval(coverage_of_class * worth, worth)
    assert (found.class_low[2], found.class_high[2]) == (pytest.approx(low), pytest.approx(high))
    scores = judge_answers(temperature, AnswerAbove(threshold=0.7), test, (20.0, 1.0))
    probs = temperature.predict_proba(test.logits)
    answered, wrong = probs.max(axis=1) >= 0.7, probs.argmax(axis=1) != test.labels
    assert scores.coverage.value == pytest.approx(np.average(answered, weights=weights))
    error = np.average(wrong[answered], weights=weights[answered])
    assert scores.error.value == pytest.approx(error)
    cost = np.average(np.where(answered, 20.0 * wrong, 1.0), weights=weights)
    assert scores.cost.value == pytest.approx(cost)
    plain = judge_answers(temperature, AnswerAbove(threshold=0.7), parts[1])
    assert scores.error.high - scores.error.low > 1.2 * (plain.error.high - plain.error.low)


def test_what_calibration_does_to_sets_is_paired(parts, temperature):
    raw = calib.calibrator("identity").fit(parts[0].logits, parts[0].labels)
    before, after = (fit_and_judge_sets(made, parts[1], 0.1).found for made in (raw, temperature))
    change = sets_change(before, after)
    assert change["mean size"].value == pytest.approx(
        after.mean_size.value - before.mean_size.value
    )
    assert change["coverage"].value == pytest.approx(after.coverage.value - before.coverage.value)


def test_answers_are_counted_and_priced(parts, temperature):
    _, test = parts
    rule = AnswerAbove(threshold=0.7)
    found = judge_answers(temperature, rule, test, costs=(10.0, 2.0))
    confidence, predicted = (
        temperature.predict_confidence(test.logits),
        temperature.predict(test.logits),
    )
    actions = rule.answer(confidence, predicted)
    wrong = (actions != ABSTAIN) & (actions != test.labels)
    assert (found.n_answered, found.n_wrong) == ((actions != ABSTAIN).sum(), wrong.sum())
    assert found.coverage.value == pytest.approx((actions != ABSTAIN).mean())
    assert found.error.value == pytest.approx(wrong.sum() / (actions != ABSTAIN).sum())
    assert found.cost.value == pytest.approx(np.where(actions == ABSTAIN, 2.0, 10.0 * wrong).mean())
    assert found.cost_answering.value == pytest.approx(10.0 * (predicted != test.labels).mean())
    assert found.saved.value == pytest.approx(found.cost_answering.value - found.cost.value)
    nothing = judge_answers(temperature, AnswerAbove(threshold=1.0), test)
    assert nothing.n_answered == 0 and np.isnan(nothing.error.value) and nothing.cost is None


def test_a_certified_threshold_is_judged_on_other_rows(parts, temperature):
    calibration, test = parts
    found = certify_and_judge(temperature, test, calibration, risk=0.2)
    assert found.made.n == found.n_decision and found.found.n == found.n_judgement
    decision, _ = test.split(0.5, 0)
    assert (
        certify(temperature, decision, calibration, risk=0.2).rule.threshold
        == found.made.rule.threshold
    )
    assert found.found.error.low <= 0.2
    assert certify_and_judge(temperature, test, calibration, risk=0.001).found is None


def test_of_answers_with_a_confidence_each_the_risk_is_that_of_wrong_answers():
    data = load_sample("simulated-answers")
    calibration, decision, judgement = data.three_parts(0.4)
    platt = calib.calibrator("platt").fit(calibration.logits, calibration.labels)
    found = certify(platt, decision, calibration, risk=0.3)
    one_each = independent_rows(decision)
    assert found.n == len(one_each) == len(set(decision.clusters.tolist())) < len(decision)
    assert found.clustered and "one of each cluster" in found.said()
    both = certify_and_judge(platt, decision, calibration, risk=0.3)
    assert both.made.n < both.n_decision and "one of each cluster" in both.made.said()
    rule = AnswerAbove(threshold=0.6)
    scores = judge_answers(platt, rule, judgement)
    confidence = platt.predict_proba(judgement.logits)[:, 1]
    assert scores.n_answered == (confidence >= 0.6).sum()
    assert scores.n_wrong == ((confidence >= 0.6) & (judgement.labels == 0)).sum()
    with pytest.raises(CalibrationError, match="one confidence for each answer"):
        fit_sets(platt, decision)


def test_intervals_of_clusters_are_those_of_as_many_independent_rows(rng):
    hit, clusters = rng.random(2000) < 0.3, np.repeat(np.arange(100), 20)
    alone = share_of(hit, None)
    assert alone.low < 0.3 < alone.high
    together = np.repeat(
        hit[:100], 20
    )  # clusters whose rows are all alike tell as much as one row each
    wide = share_of(together, clusters)
    assert wide.high - wide.low > 3 * (alone.high - alone.low)
    size = together * 2.0 + 1
    narrow, wide = mean_of(size, None), mean_of(size, clusters)
    assert wide.value == narrow.value and wide.high - wide.low > 3 * (narrow.high - narrow.low)
