"""Over- and underconfidence by class and by band of confidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import metrics
from calib.diagnostics.groups import BAND_EDGES, band_of, by_band, by_class, gaps_by_group
from calib.errors import CalibrationError
from calib.evaluation import Evaluation, evaluate
from calib.numerics import softmax

rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([*BAND_EDGES, 0.95]), st.floats(0.0, 1.0)), st.booleans(), st.integers(0, 4)),
    min_size=1,
    max_size=60,
)


def evaluation_of(confidence, correct, predicted=None, labels=None, n_classes: int = 2) -> Evaluation:
    confidence, correct = np.asarray(confidence, float), np.asarray(correct, bool)
    nothing = np.zeros(len(confidence), int)
    predicted = nothing if predicted is None else predicted
    return Evaluation(confidence, correct, predicted, nothing if labels is None else labels, n_classes)


@pytest.mark.parametrize("by", ["predicted", "label"])
def test_each_class_has_the_metrics_of_its_rows(overconfident, by):
    logits, labels = overconfident
    evaluation = evaluate(softmax(logits), labels)
    classes = by_class(evaluation, by)
    for k in range(4):
        mine = (evaluation.predicted if by == "predicted" else labels) == k
        pair = evaluation.confidence[mine], evaluation.correct[mine]
        assert classes.over[k] == pytest.approx(metrics.overconfidence(*pair))
        assert classes.under[k] == pytest.approx(metrics.underconfidence(*pair))
        assert classes.gap[k] == pytest.approx(metrics.signed_confidence_gap(*pair))
        assert classes.confidence[k] == pytest.approx(pair[0].mean())
        assert classes.accuracy[k] == pytest.approx(pair[1].mean())
        assert (classes.right[k], classes.wrong[k], classes.rows[k]) == (pair[1].sum(), (~pair[1]).sum(), mine.sum())
    for name in ("over", "under", "gap"):
        value, low, high = (getattr(classes, name + end) for end in ("", "_low", "_high"))
        assert ((low < value) & (value < high)).all()


def test_other_groupings_are_refused(overconfident):
    logits, labels = overconfident
    with pytest.raises(CalibrationError, match="'predicted' or 'label'"):
        by_class(evaluate(softmax(logits), labels), "columns")


@given(rows)
def test_contributions_add_up_to_the_overall_signed_gap(rows):
    confidence, correct, classes = (np.array(column) for column in zip(*rows, strict=True))
    evaluation = evaluation_of(confidence, correct, classes, classes[::-1], n_classes=5)
    overall = metrics.signed_confidence_gap(*evaluation.pair)
    for groups in (by_band(evaluation), by_class(evaluation), by_class(evaluation, "label")):
        assert groups.contribution.sum() == pytest.approx(overall, abs=1e-12)
        assert groups.rows.sum() == len(rows)
        assert groups.share.sum() == pytest.approx(1.0)


@given(rows)
def test_the_gap_of_a_group_is_its_weighted_over_minus_its_weighted_under(rows):
    confidence, correct, classes = (np.array(column) for column in zip(*rows, strict=True))
    groups = gaps_by_group(confidence, correct, classes, 5)
    for k in np.flatnonzero(groups.rows):
        wrong, right = groups.wrong[k] / groups.rows[k], groups.right[k] / groups.rows[k]
        over = groups.over[k] * wrong if wrong else 0.0
        under = groups.under[k] * right if right else 0.0
        assert groups.gap[k] == pytest.approx(over - under, abs=1e-12)
        assert groups.gap_low[k] <= groups.gap[k] + 1e-12
        assert groups.gap_high[k] >= groups.gap[k] - 1e-12


def test_a_band_holds_its_lower_edge_and_the_last_one_its_upper():
    assert band_of(np.array([0.0, 0.499, 0.5, 0.7, 0.899, 0.9, 0.99, 1.0])).tolist() == [0, 0, 1, 2, 2, 3, 4, 4]


def test_bands_without_rows_are_nan_without_a_warning_and_add_nothing():
    bands = by_band(evaluation_of([0.95, 0.97], [True, False]))
    assert bands.rows.tolist() == [0, 0, 0, 2, 0]
    assert np.isnan(bands.gap[[0, 1, 2, 4]]).all() and np.isnan(bands.gap_low[[0, 1, 2, 4]]).all()
    assert bands.contribution.tolist() == [0, 0, 0, pytest.approx(0.46), 0]


def test_classes_never_predicted_or_never_wrong_are_nan_without_a_warning():
    classes = by_class(evaluation_of([0.9, 0.8], [True, True]))
    assert np.isnan(classes.over).all() and np.isnan(classes.over_low).all()
    assert classes.under[0] == pytest.approx(0.15) and np.isnan(classes.under[1])
    assert classes.gap[0] == pytest.approx(-0.15) and np.isnan(classes.gap[1])
    # Two right predictions show no underconfidence: a rightness of 85 % would give them 72 times in 100.
    assert classes.gap_low[0] < 0 < classes.gap_high[0]


def test_the_worst_is_the_surest_and_groups_of_few_rows_are_left_out():
    group = np.r_[np.zeros(300, int), np.ones(40, int), np.full(3, 2), np.full(50, 3)]
    confidence = np.r_[np.full(300, 0.8), np.full(40, 0.9), np.full(3, 0.99), np.full(50, 0.7)]
    correct = np.r_[np.arange(300) < 180, np.arange(40) < 26, np.zeros(3, bool), np.arange(50) < 35]
    groups = gaps_by_group(confidence, correct, group, 5)
    # Gaps of .2 from 300 rows, .25 from 40, .99 from 3, 0 from 50, and no rows at all.
    assert groups.worst_first(10).tolist() == [0, 1, 3]
    assert groups.worst_first().tolist()[-1] == 3
    assert 4 not in groups.worst_first(0)
    assert groups.sure_gap[3] == 0.0 and np.isnan(groups.sure_gap[4])


def test_interval_of_a_mean_is_cautious(rng):
    held = 0
    for _ in range(300):
        confidence = rng.beta(8, 2, 40)  # mean .8
        classes = by_class(evaluation_of(confidence, np.zeros(40, bool)))
        held += classes.over_low[0] <= 0.8 <= classes.over_high[0]
    assert held >= 0.95 * 300


@pytest.mark.parametrize("n", [10, 40, 400])
@pytest.mark.parametrize("kind", ["calibrated", "nearly always right", "unrelated"])
def test_intervals_of_gaps_hold_the_truth(rng, n, kind):
    held, repeats = 0, 400
    for _ in range(repeats):
        confidence = rng.beta(5, 1, n)  # mean 5/6
        if kind == "calibrated":
            truth, correct = 0.0, rng.random(n) < confidence
        elif kind == "nearly always right":
            truth, correct = 5 / 6 - 0.98, rng.random(n) < 0.98
        else:  # spread-out confidences that say nothing about who is right
            confidence = rng.choice([0.5, 1.0], n)
            truth, correct = 0.25, rng.random(n) < 0.5
        groups = gaps_by_group(confidence, correct, np.zeros(n, int), 1)
        held += groups.gap_low[0] <= truth <= groups.gap_high[0]
    assert held >= 0.91 * repeats
