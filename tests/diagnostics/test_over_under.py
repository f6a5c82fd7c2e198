"""Over- and underconfidence of all rows, by class and by confidence band, and Theorem 1 of Wenger et al. (2020)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import metrics
from calib.diagnostics.over_under import FEW, over_under_confidence, theorem_one
from calib.diagnostics.subgroups import BAND_EDGES, band_of, by_band, by_class, gaps_by_group, subgroups, too_extreme
from calib.errors import CalibrationError
from calib.evaluation import Evaluation, evaluate, score_intervals
from calib.evaluation.view import EVENT
from calib.formatting import percent
from calib.metrics import risk_model
from calib.numerics import softmax
from calib.ui.text import confidence_sentence
from tests.conftest import paired_differences, simulate
from tests.metrics.conftest import binnings, pair
from tests.metrics.conftest import rows as any_rows

INTERVALS = ("over", "under", "ratio", "odds", "ratio_over_odds", "gap")


def evaluation_of(confidence, correct) -> Evaluation:
    correct = np.asarray(correct, bool)
    return Evaluation(np.asarray(confidence, float), correct, np.zeros(len(correct), int), 1 - correct.astype(int), 2)


def example(confidence: float) -> Evaluation:
    """The example of section S1.1: one class has 75 %, and the classifier is always equally sure of it."""
    return evaluation_of(np.full(400, confidence), np.arange(400) < 300)


def test_the_papers_example():
    truth, too_sure = over_under_confidence([example(0.75), example(0.9)])
    assert (truth.over.value, truth.under.value) == (pytest.approx(0.75), pytest.approx(0.25))
    assert (too_sure.over.value, too_sure.under.value) == (pytest.approx(0.9), pytest.approx(0.1))
    # "for perfect calibration, the odds of making a correct prediction equal the ratio" (after Theorem 1)
    assert truth.ratio.value == pytest.approx(truth.odds.value) == pytest.approx(3.0)
    assert truth.ratio_over_odds.value == pytest.approx(1.0)
    assert too_sure.ratio.value == pytest.approx(9.0)
    assert too_sure.ratio_over_odds.value == pytest.approx(3.0)
    assert too_sure.gap.value == pytest.approx(0.15)
    assert too_sure.change is not None
    assert too_sure.change.ratio_over_odds.value == pytest.approx(3.0)
    assert truth.change is None


def test_a_calibrated_model_has_the_ratio_that_its_odds_ask_for(rng):
    confidence = rng.beta(6, 1, 1_000_000)
    (calibrated,) = over_under_confidence([evaluation_of(confidence, rng.random(1_000_000) < confidence)])
    assert calibrated.ratio.value == pytest.approx(6.0, rel=0.02)  # odds of an accuracy of 6/7
    assert calibrated.ratio_over_odds.low < 1.0 < calibrated.ratio_over_odds.high
    assert calibrated.ratio_over_odds.high - calibrated.ratio_over_odds.low < 0.02


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=60))
def test_quantities_are_those_of_their_definitions_and_lie_in_their_intervals(rows):
    confidence, correct = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    (result,) = over_under_confidence([evaluation_of(confidence, correct)])
    pair = confidence, correct
    expected = {
        "over": metrics.overconfidence(*pair),
        "under": metrics.underconfidence(*pair),
        "ratio": metrics.over_under_ratio(*pair),
        "gap": metrics.signed_confidence_gap(*pair),
    }
    assert result.weighted_over == pytest.approx((confidence * ~correct).mean())
    assert result.weighted_under == pytest.approx(((1 - confidence) * correct).mean(), abs=1e-12)
    for name, value in expected.items():
        if np.isfinite(value):
            assert getattr(result, name).value == pytest.approx(value, rel=1e-9, abs=1e-12), name
        else:
            assert np.isnan(getattr(result, name)).all(), name
    for name in INTERVALS:
        value, low, high = getattr(result, name)
        assert np.isnan(value) or low - 1e-9 * max(1, abs(value)) <= value <= high + 1e-9 * max(1, abs(value)), name
    # The ratio is above the odds where the gap is above 0.
    if np.isfinite(result.ratio_over_odds.value) and abs(result.gap.value) > 1e-9:
        assert (result.ratio_over_odds.value > 1) == (result.gap.value > 0)


def test_intervals_are_those_of_the_other_pages(overconfident):
    logits, labels = overconfident
    raw, better = evaluate(softmax(logits), labels), evaluate(softmax(logits / 2), labels)
    known, changed = score_intervals(raw), paired_differences(better, raw)
    ours, ours_better = over_under_confidence([raw, better])
    assert ours.over == pytest.approx(known["overconfidence"])
    assert ours.under == pytest.approx(known["underconfidence"])
    assert ours.gap == pytest.approx(known["signed gap"])
    assert ours_better.change is not None
    assert ours_better.change.over == pytest.approx(changed["overconfidence"])
    assert ours_better.change.under == pytest.approx(changed["underconfidence"])
    assert ours_better.change.gap == pytest.approx(changed["signed gap"])


def test_a_method_that_changes_nothing_has_no_change(overconfident):
    logits, labels = overconfident
    evaluation = evaluate(softmax(logits), labels)
    change = over_under_confidence([evaluation, evaluation])[1].change
    assert change is not None
    assert change.over == change.under == change.gap == (0, 0, 0)
    assert change.ratio == change.ratio_over_odds == (1, 1, 1)


def test_intervals_of_ratios_hold_the_truth():
    held, repeats = 0, 50
    for seed in range(repeats):
        logits, labels = simulate(n=500, seed=seed)
        raw, calibrated = evaluate(softmax(logits), labels), evaluate(softmax(logits / 2), labels)
        result = over_under_confidence([raw, calibrated])[1]
        held += result.ratio_over_odds.low <= 1.0 <= result.ratio_over_odds.high
    assert held >= 0.9 * repeats


@pytest.mark.parametrize("n", [6, 60])
def test_few_wrong_predictions_have_cautious_intervals(rng, n):
    over, ratio, repeats = 0, 0, 300
    for _ in range(repeats):
        confidence = rng.beta(12, 0.6, n)  # mean .952
        correct = rng.random(n) < confidence
        (result,) = over_under_confidence([evaluation_of(confidence, correct)])
        # E[z | wrong] = E[z (1 - z)] / E[1 - z] = 12 / 13.6 by the moments of the beta distribution.
        assert result.few
        over += np.isnan(result.over.value) or result.over.low <= 12 / 13.6 <= result.over.high
        times = result.ratio_over_odds
        ratio += np.isnan(times.value) or times.low <= 1.0 <= times.high
        assert result.gap.low <= 0.05 and result.gap.high >= -0.05
    assert over >= 0.95 * repeats
    assert ratio >= 0.95 * repeats


def test_all_right():
    (result,) = over_under_confidence([evaluation_of(np.full(50, 0.98), np.ones(50, bool))])
    assert result.few
    assert np.isnan([*result.over, *result.ratio, *result.odds, *result.ratio_over_odds]).all()
    assert result.under.value == pytest.approx(0.02)
    assert result.gap.value == pytest.approx(-0.02)
    # 50 of 50 right is nothing unusual for a model that is right 98 % of the time.
    assert result.gap.low < 0 < result.gap.high
    assert result.weighted_over == 0.0


def test_all_wrong():
    (result,) = over_under_confidence([evaluation_of(np.full(50, 0.9), np.zeros(50, bool))])
    assert np.isnan([*result.under, *result.ratio, *result.ratio_over_odds]).all()
    assert result.over.value == pytest.approx(0.9)
    assert result.odds.value == 0.0
    assert result.gap.value == pytest.approx(0.9)
    assert result.gap.low > 0.7


def test_a_ratio_to_no_doubt_at_all_does_not_exist():
    (result,) = over_under_confidence([evaluation_of(np.ones(100), np.arange(100) < 80)])
    assert result.under.value == 0.0
    assert np.isnan([*result.ratio, *result.ratio_over_odds]).all()
    assert result.odds.value == pytest.approx(4.0)
    assert result.gap.value == pytest.approx(0.2)


def test_rows_must_be_the_same():
    with pytest.raises(CalibrationError, match="same test set"):
        over_under_confidence([example(0.9), evaluation_of([0.9] * FEW, [True] * FEW)])


rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([*BAND_EDGES, 0.95]), st.floats(0.0, 1.0)), st.booleans(), st.integers(0, 4)),
    min_size=1,
    max_size=60,
)


def evaluation_of_groups(confidence, correct, predicted=None, labels=None, n_classes: int = 2) -> Evaluation:
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
    assert ((classes.gap_low < classes.gap) & (classes.gap < classes.gap_high)).all()


def test_other_groupings_are_refused(overconfident):
    logits, labels = overconfident
    with pytest.raises(CalibrationError, match="'predicted' or 'label'"):
        by_class(evaluate(softmax(logits), labels), "columns")


@given(rows)
def test_contributions_add_up_to_the_overall_signed_gap(rows):
    confidence, correct, classes = (np.array(column) for column in zip(*rows, strict=True))
    evaluation = evaluation_of_groups(confidence, correct, classes, classes[::-1], n_classes=5)
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
    bands = by_band(evaluation_of_groups([0.95, 0.97], [True, False]))
    assert bands.rows.tolist() == [0, 0, 0, 2, 0]
    assert np.isnan(bands.gap[[0, 1, 2, 4]]).all() and np.isnan(bands.gap_low[[0, 1, 2, 4]]).all()
    assert bands.contribution.tolist() == [0, 0, 0, pytest.approx(0.46), 0]


def test_classes_never_predicted_or_never_wrong_are_nan_without_a_warning():
    classes = by_class(evaluation_of_groups([0.9, 0.8], [True, True]))
    assert np.isnan(classes.over).all()
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


@given(any_rows, st.integers(1, 100), binnings)
def test_theorem_1_holds_on_any_data_in_any_bins(rows, n_bins, binning):
    theorem = theorem_one(*pair(rows), n_bins, binning)
    assert theorem.gap <= theorem.ece_1 + 1e-12
    assert theorem.ece_1 <= theorem.ece_2 + 1e-12
    assert theorem.ece_2 <= theorem.ece_inf + 1e-12
    assert theorem.p_right + theorem.p_wrong == pytest.approx(1.0)
    assert theorem.gap == abs(theorem.signed_gap)
    assert theorem.chain.tolist() == [theorem.gap, theorem.ece_1, theorem.ece_2, theorem.ece_inf]


@given(any_rows)
def test_the_signed_gap_is_what_the_proof_says(rows):
    # E[z] - P(right) = o P(wrong) - u P(right), where a mean over nothing has no share (section S1.2).
    theorem = theorem_one(*pair(rows))
    over = theorem.over * theorem.p_wrong if theorem.p_wrong else 0.0
    under = theorem.under * theorem.p_right if theorem.p_right else 0.0
    assert theorem.signed_gap == pytest.approx(over - under, abs=1e-12)


def test_theorem_1_is_an_equality_in_a_single_bin():
    theorem = theorem_one(np.array([0.9, 0.7, 0.8]), np.array([True, False, False]), n_bins=1)
    assert theorem.gap == pytest.approx(0.8 - 1 / 3)
    assert theorem.ece_1 == theorem.ece_2 == theorem.ece_inf == pytest.approx(theorem.gap)
    assert theorem.over == pytest.approx(0.75)
    assert theorem.under == pytest.approx(0.1)


@pytest.mark.parametrize(("factor", "word"), [(2.0, "extreme"), (0.4, "moderate"), (1.0, "")])
def test_risks_may_be_too_extreme_without_a_gap_on_average(rng, factor, word):
    truth = rng.normal(0.0, 1.5, 6000)
    labels = (rng.random(6000) < 1 / (1 + np.exp(-truth))).astype(int)
    p = 1 / (1 + np.exp(-factor * truth))
    evaluation = evaluate(np.stack([1 - p, p], axis=1), labels)
    said = too_extreme(evaluation.seen(EVENT))
    assert not too_extreme(evaluation), "the predicted class has no risk"
    if not word:
        assert not said
        return
    assert f"too {word}" in said
    low = p < p.mean()
    for part in (p[low].mean(), labels[low].mean(), p[~low].mean(), labels[~low].mean()):
        assert percent(part) in said


def test_calibrated_risks_are_seldom_called_extreme():
    called = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p = rng.beta(1, 8, 400)
        labels = (rng.random(400) < p).astype(int)
        called += bool(too_extreme(evaluate(np.stack([1 - p, p], axis=1), labels).seen(EVENT)))
    assert called <= 10, "5 % if both sides were off together, which chance makes far rarer"


@pytest.mark.parametrize("n", [25, 300, 5000])
def test_one_gap_has_one_interval_on_all_pages(rng, n) -> None:
    # It was ± two standard errors on one page, and the wider of two intervals on another.
    confidence = rng.uniform(0.5, 1.0, n)
    one = evaluation_of(confidence, rng.random(n) < confidence - 0.05)
    gap = over_under_confidence([one])[0].gap
    assert subgroups(one, np.array(["all"] * n)).average == gap
    sentence = confidence_sentence(one, "The model", gap, "")
    near, far = (100 * abs(end) for end in gap[1:])
    if gap.low > 0:
        assert f"by {100 * gap.value:.1f} points** (95\u00a0%: {near:.1f} to {far:.1f})" in sentence
    else:
        assert f"gap {100 * gap.value:+.1f} points" in sentence.replace("−", "-")


def test_the_panel_of_a_risk_model_has_the_intervals_of_the_table(rng) -> None:
    # Those of the table were of Student's t at any number of rows, those of the panel from 40 on of the normal.
    risk = rng.beta(1, 4, 400)
    event = rng.random(400) < risk
    table = score_intervals(evaluate(np.column_stack([1 - risk, risk]), event.astype(int)).seen(EVENT))
    panel = risk_model(risk, event)
    assert table["NLL"] == pytest.approx(panel["log_loss"].interval, rel=1e-9)
    assert table["Brier"] == pytest.approx(panel["brier"].interval, rel=1e-9)
