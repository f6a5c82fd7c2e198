"""The selective guarantee: counts and tests against naive ones, and how often it is violated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calib.decisions import Costs, Goal, recalibrated_cut
from calib.decisions.rules import ABSTAIN
from calib.decisions.selective import (
    certified_threshold,
    counts_at,
    exact_interval,
    fewest_answers,
)
from calib.errors import CalibrationError
from tests.published import cifar


@pytest.mark.parametrize(("wrong", "answered"), [(0, 149), (7, 755), (5, 5)])
def test_exact_intervals_invert_the_binomial_test(wrong, answered):
    value, low, high = exact_interval(wrong, answered, 0.9)
    assert value == wrong / answered
    assert (
        high == 1.0
        if wrong == answered
        else stats.binom.cdf(wrong, answered, high) == pytest.approx(0.05, rel=1e-6)
    )
    assert (
        low == 0.0
        if not wrong
        else stats.binom.sf(wrong - 1, answered, low) == pytest.approx(0.05, rel=1e-6)
    )


def test_the_fewest_answers_are_those_at_which_no_error_is_enough():
    for risk, delta in ((0.02, 0.05), (0.1, 0.05), (0.01, 0.1), (0.5, 0.25)):
        fewest = fewest_answers(risk, delta)
        assert (1 - risk) ** fewest <= delta * (1 + 1e-9) < (1 - risk) ** (fewest - 1) + 1e-9
    assert np.isnan(exact_interval(0, 0)).all()


@given(
    st.lists(st.sampled_from([0.2, 0.5, 0.5, 0.7, 0.9, 1.0]), min_size=1, max_size=30),
    st.integers(0, 99),
)
def test_counts_are_those_of_a_loop(confidence, seed):
    confidence = np.array(confidence)
    correct = np.random.default_rng(seed).random(len(confidence)) < 0.6
    thresholds = np.array([1.1, 1.0, 0.7, 0.6, 0.5, 0.0])
    answered, wrong = counts_at(confidence, correct, thresholds)
    for t, m, e in zip(thresholds, answered, wrong, strict=True):
        assert (m, e) == ((confidence >= t).sum(), (~correct[confidence >= t]).sum())


def test_the_sequence_stops_at_the_first_failure_and_takes_the_one_before(rng):
    others = rng.random(5000)
    confidence = rng.random(2000)
    correct = rng.random(2000) < np.where(confidence > 0.4, 0.99, 0.5)
    found = certified_threshold(confidence, correct, others, risk=0.05)
    thresholds = np.sort(others)[::-1][49::50]  # that each hundredth of the others reach
    thresholds = thresholds[[2000 * np.mean(others >= t) >= 3 * found.fewest for t in thresholds]]
    p_values = [
        stats.binom.cdf((~correct[confidence >= t]).sum(), (confidence >= t).sum(), 0.05)
        for t in thresholds
    ]
    failed = int(np.argmax(np.array(p_values) > 0.05))
    assert found.tested == failed + 1
    assert found.threshold == found.rule.threshold == thresholds[failed - 1]
    assert (found.answered, found.wrong) == tuple(
        int(rows.sum())
        for rows in (confidence >= found.threshold, (confidence >= found.threshold) & ~correct)
    )
    assert found.rule.n_rows == 2000
    acts = found.rule.answer(confidence, np.zeros(2000, dtype=int))
    np.testing.assert_array_equal(acts == ABSTAIN, confidence < found.threshold)


def test_where_nothing_can_be_certified_it_says_what_to_do(rng):
    confidence, others = rng.random(100), rng.random(100)
    few = certified_threshold(confidence, np.ones(100, dtype=bool), others, risk=0.02)
    assert few.rule is None and "149 answers" in few.said() and "100 rows" in few.said()
    bad = certified_threshold(confidence, rng.random(100) < 0.5, others, risk=0.1)
    assert (
        bad.rule is None and "Give more" in bad.said() and f"{bad.wrong:,} are wrong" in bad.said()
    )
    assert (
        certified_threshold(rng.random(200), np.ones(200, dtype=bool), others, risk=0.02).rule
        is not None
    )
    good = certified_threshold(confidence, np.ones(100, dtype=bool), others, risk=0.1)
    assert good.rule is not None and "at least" in good.rule.said(("a", "b"))
    for risk, delta in ((0.0, 0.05), (1.0, 0.05), (0.1, 0.0)):
        with pytest.raises(CalibrationError, match="between 0 and 1"):
            certified_threshold(confidence, confidence > 0, others, risk, delta)


def violations(risk_at, n, runs, risk, seed):
    """Share of draws in which a threshold is certified whose true risk is above the limit."""
    generator = np.random.default_rng(seed)
    grid = np.linspace(0, 1, 20_001)
    from_here = np.cumsum(risk_at(grid)[::-1])[::-1] / np.arange(
        len(grid), 0, -1
    )  # true risk of each threshold
    broken = 0
    for _ in range(runs):
        confidence = generator.random(n)
        correct = generator.random(n) >= risk_at(confidence)
        rule = certified_threshold(confidence, correct, generator.random(n), risk).rule
        broken += rule is not None and np.interp(rule.threshold, grid, from_here) > risk
    return broken / runs


@pytest.mark.parametrize(
    "risk_at",
    [
        pytest.param(lambda c: np.full(np.shape(c), 0.1001), id="flat just above the limit"),
        pytest.param(lambda c: np.where(c > 0.5, 0.11, 0.02), id="worse at the top"),
    ],
)
def test_the_guarantee_is_violated_in_at_most_one_draw_of_20(risk_at):
    runs = 1000
    assert violations(risk_at, 500, runs, 0.1, 0) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)


def pair(probs, labels):
    """Confidences, and whether the predicted class is right."""
    return probs.max(axis=1), probs.argmax(axis=1) == labels


@pytest.mark.parametrize(
    ("n_classes", "risk", "n", "threshold", "answered", "wrong"),
    [
        (10, 0.02, 1000, 0.9954065084457397, 755, 7),
        (10, 0.02, 5000, 0.995186984539032, 3857, 59),
        (100, 0.1, 5000, 0.7859795689582825, 3285, 290),
        (100, 0.02, 1000, None, 0, 0),
    ],
)
def test_thresholds_of_real_outputs_are_those_that_were_measured(
    n_classes, risk, n, threshold, answered, wrong
):
    (confidence, correct), (others, _) = (pair(*rows) for rows in cifar(n_classes, n))
    found = certified_threshold(confidence, correct, others, risk)  # the others give the thresholds
    if threshold is None:
        assert found.rule is None
        return
    assert found.rule.threshold == pytest.approx(threshold, abs=1e-12)
    assert (found.answered, found.wrong) == (answered, wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Goal("threshold", "a"),
        lambda: Costs("a", 1),
        lambda: Costs(np.inf, 1),
        lambda: recalibrated_cut([0.2, 0.7], [0, 1], None),
        lambda: certified_threshold([0.9], [True], [0.9], risk="a"),
    ],
)
def test_options_of_a_decision_are_numbers(call):
    with pytest.raises(
        CalibrationError, match=r"^\w+=.* must (be a number|lie) (between|at or above)"
    ):
        call()
