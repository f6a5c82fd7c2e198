"""Theorem 1 and over- and underconfidence by class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import metrics
from calib.evaluation import Evaluation, evaluate
from calib.numerics import softmax
from calib.over_under import class_confidence, theorem_one

rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0)), st.booleans()), min_size=1, max_size=60
)


@given(rows, st.integers(1, 20), st.sampled_from(sorted(metrics.BINNINGS)))
def test_theorem_1_holds_on_any_data(rows, n_bins, binning):
    confidence, correct = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    theorem = theorem_one(confidence, correct, n_bins, binning)
    assert theorem.gap <= theorem.ece_1 + 1e-12
    assert theorem.ece_1 <= theorem.ece_2 + 1e-12
    assert theorem.ece_2 <= theorem.ece_inf + 1e-12
    assert theorem.p_right + theorem.p_wrong == pytest.approx(1.0)
    assert theorem.gap == abs(theorem.signed_gap)


def test_theorem_1_is_an_equality_in_a_single_bin():
    theorem = theorem_one(np.array([0.9, 0.7, 0.8]), np.array([True, False, False]), n_bins=1)
    assert theorem.gap == pytest.approx(0.8 - 1 / 3)
    assert theorem.ece_1 == theorem.ece_2 == theorem.ece_inf == pytest.approx(theorem.gap)
    assert theorem.over == pytest.approx(0.75)
    assert theorem.under == pytest.approx(0.1)


def test_by_class_is_by_predicted_class(overconfident):
    logits, labels = overconfident
    evaluation = evaluate(softmax(logits), labels)
    by_class = class_confidence(evaluation)
    for k in range(4):
        mine = evaluation.predicted == k
        pair = evaluation.confidence[mine], evaluation.correct[mine]
        assert by_class.over[k] == pytest.approx(metrics.overconfidence(*pair))
        assert by_class.under[k] == pytest.approx(metrics.underconfidence(*pair))
        assert by_class.signed_gap[k] == pytest.approx(metrics.signed_confidence_gap(*pair))
        assert by_class.right[k] == pair[1].sum() and by_class.wrong[k] == (~pair[1]).sum()
    assert ((by_class.over_low < by_class.over) & (by_class.over < by_class.over_high)).all()
    assert ((by_class.under_low < by_class.under) & (by_class.under < by_class.under_high)).all()


def test_classes_never_predicted_or_never_wrong_are_nan_without_a_warning():
    evaluation = Evaluation(
        confidence=np.array([0.9, 0.8]),
        correct=np.array([True, True]),
        predicted=np.array([0, 0]),
        labels=np.array([0, 0]),
        n_classes=2,
    )
    by_class = class_confidence(evaluation)
    assert np.isnan(by_class.over).all() and np.isnan(by_class.over_low).all()
    assert by_class.under[0] == pytest.approx(0.15) and np.isnan(by_class.under[1])
    assert by_class.signed_gap[0] == pytest.approx(-0.15) and np.isnan(by_class.signed_gap[1])


def test_interval_of_a_mean_is_cautious(rng):
    held = 0
    for _ in range(300):
        confidence = rng.beta(8, 2, 40)  # mean .8
        wrong = np.zeros(40, bool)
        evaluation = Evaluation(confidence, wrong, np.zeros(40, int), np.ones(40, int), 2)
        by_class = class_confidence(evaluation)
        held += by_class.over_low[0] <= 0.8 <= by_class.over_high[0]
    assert held >= 0.95 * 300
