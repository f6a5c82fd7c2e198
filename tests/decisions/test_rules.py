"""Rules: thresholds against the action of the least expected cost, and what files may say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.decisions.rules import (
    ABSTAIN,
    AnswerAbove,
    EventCut,
    rule_from_state,
    rule_state,
)
from calib.errors import CalibrationError


@given(st.floats(0.01, 0.99), st.floats(0.1, 10), st.floats(0.1, 10))
def test_a_cut_and_a_threshold_are_the_bayes_action_of_their_costs(p, alarm, miss):
    probs = np.array([[1 - p, p]])
    costs = np.array([[0.0, alarm], [miss, 0.0]])
    cut = alarm / (alarm + miss)
    if abs(p - cut) > 1e-9:
        assert EventCut(cut=cut).decide(probs) == (probs @ costs).argmin(axis=1)
    # Answering costs (1 - p) * miss on average, abstaining costs `alarm`.
    rule = AnswerAbove.from_costs(error=miss, abstain=alarm)
    if abs((1 - p) * miss - alarm) > 1e-9:
        assert (rule.answer(np.array([p]), np.array([1]))[0] == 1) == ((1 - p) * miss <= alarm)


def test_of_an_event_that_is_the_first_class_the_first_column_is_taken():
    probs = np.array([[0.3, 0.7], [0.6, 0.4]])
    np.testing.assert_array_equal(EventCut(cut=0.5, column=0).decide(probs), [0, 1])
    np.testing.assert_array_equal(
        EventCut(cut=0.7).decide(probs), [1, 0]
    )  # at the cut itself one acts
    assert "bad" in EventCut(cut=0.5, column=0).said(("bad", "good"))


def test_handing_over_is_minus_one_whatever_numbers_classes_have():
    for dtype in (np.uint8, np.int16, float):
        actions = AnswerAbove(threshold=0.75).answer([0.9, 0.1], np.array([1, 0], dtype))
        assert actions.dtype == np.int64 and actions.tolist() == [1, ABSTAIN]


@pytest.mark.parametrize(
    ("probs", "says"),
    [
        (np.array([0.2, 0.8]), r"shape \(n, 2\); got shape \(2,\)"),
        (np.full((4, 3), 1 / 3), r"shape \(n, 2\); got shape \(4, 3\)"),
        ([[np.nan, 0.5]], "infinite or NaN"),
        ([["a", "b"]], "numbers"),
    ],
)
def test_no_cut_decides_of_what_are_no_probabilities_of_two_classes(probs, says):
    with pytest.raises(CalibrationError, match=says):
        EventCut(cut=0.5).decide(probs)


def test_every_rule_takes_probabilities():
    probs = np.array([[0.3, 0.7], [0.9, 0.1], [0.49, 0.51]])
    for rule in (EventCut(cut=0.5), AnswerAbove(threshold=0.0)):
        # At one half, and where all are answered, each takes the most probable class.
        np.testing.assert_array_equal(rule.decide(probs), [1, 0, 1])
    rule = AnswerAbove(threshold=0.8)
    three = np.array([[0.1, 0.85, 0.05], [0.7, 0.2, 0.1], [0.05, 0.1, 0.85]])
    np.testing.assert_array_equal(rule.decide(three), [1, ABSTAIN, 2])
    with pytest.raises(CalibrationError, match=r"shape \(n, n_classes\); got shape \(3,\)"):
        rule.decide(three[:, 0])


@pytest.mark.parametrize(
    ("confidence", "predicted", "says"),
    [
        ([0.95, 0.5], [2], r"got shapes \(2,\) and \(1,\)"),
        ([[0.95, 0.5]], [[2, 1]], r"got shapes \(1, 2\)"),
        ([0.95, 0.5], ["cat", "dog"], "the classes as <U3"),
        (None, [2], "confidences must be numbers"),
    ],
)
def test_a_threshold_decides_of_numbers_of_each_row_alone(confidence, predicted, says):
    with pytest.raises(CalibrationError, match=says):
        AnswerAbove(threshold=0.9).answer(confidence, predicted)


RULES = [
    EventCut(cut=0.25, column=0, chosen="costs 3 to 1."),
    AnswerAbove(threshold=0.9, risk=0.05, delta=0.1, n_rows=300),
    AnswerAbove(threshold=0.5),
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_comes_back_from_its_state(rule):
    again = rule_from_state(rule_state(rule))
    assert type(again) is type(rule)
    assert rule_state(again).keys() == rule_state(rule).keys()
    for name, value in rule_state(rule).items():
        np.testing.assert_array_equal(rule_state(again)[name], value)
    names = again.names(("x", "y"))
    assert all(isinstance(name, str) for name in names) and again.said(("x", "y")).endswith(".")
    assert rule_from_state(None) is None and rule_state(None) is None


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: EventCut(cut=1.5), "between 0 and 1"),
        (lambda: EventCut(cut=float("nan")), r"^cut=nan must be a number between 0 and 1\.$"),
        (lambda: AnswerAbove(threshold=-0.1), "between 0 and 1"),
        (lambda: AnswerAbove.from_costs(0.0, 1.0), "^error=0.0 must lie above 0"),
        (lambda: AnswerAbove.from_costs("a", 1), "^error='a' must be a number"),
        (lambda: AnswerAbove.from_costs(1, np.inf), "^abstain=inf must be a number"),
        (lambda: rule_from_state({"rule": "guess"}), "one of cut, answer"),
        (lambda: rule_from_state({"rule": "cut", "column": 1}), "recorded without .*cut"),
        (lambda: rule_from_state({"rule": "cut", "cut": 0.5, "cot": 1}), "no field 'cot'"),
        (
            lambda: rule_from_state(rule_state(EventCut(cut=0.5)) | {"cut": 2.0}),
            "cannot be used.*cut=2.0 must lie.*damaged or changed",
        ),
    ],
)
def test_what_is_no_rule_is_refused(made, says):
    with pytest.raises(CalibrationError, match=says):
        made()
