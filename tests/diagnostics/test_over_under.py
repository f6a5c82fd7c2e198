"""Over- and underconfidence of all rows, by class and by confidence band, and Theorem 1 of Wenger et al. (2020)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from calib import metrics
from calib.diagnostics.gaps import by_band, gaps_by_group, subgroups
from calib.diagnostics.over_under import FEW, over_under_confidence, theorem_one
from calib.diagnostics.reliability import independent_rows
from calib.errors import CalibrationError
from calib.evaluation import Evaluation, evaluate
from calib.metrics.bootstrap import wilson_interval
from calib.numerics import softmax
from tests.conftest import simulate
from tests.diagnostics.conftest import evaluation
from tests.metrics.conftest import binnings, pair
from tests.metrics.conftest import rows as any_rows

INTERVALS = ("over", "under", "ratio", "odds", "ratio_over_odds", "gap")


def example(confidence: float) -> Evaluation:
    """The example of section S1.1: one class has 75 %, and the classifier is always equally sure of it."""
    return evaluation(np.full(400, confidence), np.arange(400) < 300)


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


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=60))
def test_quantities_are_those_of_their_definitions_and_lie_in_their_intervals(rows):
    confidence, correct = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    (result,) = over_under_confidence([evaluation(confidence, correct)])
    pair = confidence, correct
    over, under = metrics.overconfidence(*pair), metrics.underconfidence(*pair)
    expected = {
        "over": over,
        "under": under,
        "ratio": over / under if under else np.inf,
        "gap": metrics.confidence_gap(*pair, signed=True),
    }
    for name, value in expected.items():
        if np.isfinite(value):
            assert getattr(result, name).value == pytest.approx(value, rel=1e-9, abs=1e-12), name
        else:
            assert np.isnan(getattr(result, name)).all(), name
    for name in INTERVALS:
        value, low, high = getattr(result, name)
        assert np.isnan(value) or low - 1e-9 * max(1, abs(value)) <= value <= high + 1e-9 * max(
            1, abs(value)
        ), name
    # The ratio is above the odds where the gap is above 0.
    if np.isfinite(result.ratio_over_odds.value) and abs(result.gap.value) > 1e-9:
        assert (result.ratio_over_odds.value > 1) == (result.gap.value > 0)


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
    over, ratio, gap, repeats = 0, 0, 0, 300
    for _ in range(repeats):
        confidence = rng.beta(12, 0.6, n)  # mean .952
        correct = rng.random(n) < confidence
        (result,) = over_under_confidence([evaluation(confidence, correct)])
        # E[z | wrong] = E[z (1 - z)] / E[1 - z] = 12 / 13.6 by the moments of the beta distribution.
        assert result.few
        over += np.isnan(result.over.value) or result.over.low <= 12 / 13.6 <= result.over.high
        times = result.ratio_over_odds
        ratio += np.isnan(times.value) or times.low <= 1.0 <= times.high
        gap += result.gap.low <= 0.0 <= result.gap.high
    assert over >= 0.95 * repeats
    assert ratio >= 0.95 * repeats
    assert gap >= 0.92 * repeats


def test_what_does_not_exist_is_nan():
    all_right, all_wrong, no_doubt = (
        over_under_confidence([one])[0]
        for one in (
            evaluation(np.full(50, 0.98), np.ones(50, bool)),
            evaluation(np.full(50, 0.9), np.zeros(50, bool)),
            evaluation(np.ones(100), np.arange(100) < 80),
        )
    )
    assert np.isnan(
        [*all_right.over, *all_right.ratio, *all_right.odds, *all_right.ratio_over_odds]
    ).all()
    assert (all_right.under.value, all_right.gap.value) == pytest.approx((0.02, -0.02))
    # 50 of 50 right is nothing unusual for a model that is right 98 % of the time.
    assert all_right.few and all_right.gap.low < 0 < all_right.gap.high
    assert np.isnan([*all_wrong.under, *all_wrong.ratio, *all_wrong.ratio_over_odds]).all()
    assert (all_wrong.over.value, all_wrong.odds.value, all_wrong.gap.value) == pytest.approx(
        (0.9, 0.0, 0.9)
    )
    assert np.isnan([*no_doubt.ratio, *no_doubt.ratio_over_odds]).all()
    assert (no_doubt.under.value, no_doubt.odds.value, no_doubt.gap.value) == pytest.approx(
        (0.0, 4.0, 0.2)
    )
    with pytest.raises(CalibrationError, match="same test set"):
        over_under_confidence([example(0.9), evaluation([0.9] * FEW, [True] * FEW)])


rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.5, 0.7, 0.9, 0.95, 0.99]), st.floats(0.0, 1.0)), st.booleans(),
              st.integers(0, 4)),
    min_size=1,
    max_size=60,
)  # fmt: skip


@given(rows)
def test_groups_have_the_metrics_of_their_rows_and_bands_add_up(rows):
    confidence, correct, group = (np.array(column) for column in zip(*rows, strict=True))
    groups = gaps_by_group(confidence, correct, group, 5)
    for k in range(5):
        mine = group == k
        assert (groups.right[k], groups.wrong[k]) == (correct[mine].sum(), (~correct[mine]).sum())
        if not mine.any():
            assert np.isnan([groups.gap[k], groups.gap_low[k], groups.gap_high[k]]).all()
            continue
        pair = confidence[mine], correct[mine]
        assert groups.over[k] == pytest.approx(metrics.overconfidence(*pair), nan_ok=True)
        assert groups.under[k] == pytest.approx(metrics.underconfidence(*pair), nan_ok=True)
        assert groups.gap[k] == pytest.approx(metrics.confidence_gap(*pair, signed=True), abs=1e-12)
        low, high = wilson_interval(correct[mine].sum(), mine.sum())
        assert groups.gap_low[k] <= confidence[mine].mean() - high + 1e-12
        assert groups.gap_high[k] >= confidence[mine].mean() - low - 1e-12
    made = evaluation(confidence, correct)
    bands = by_band(made)
    for added in (groups, bands):
        assert added.contribution.sum() == pytest.approx(
            metrics.confidence_gap(*made.pair, signed=True), abs=1e-12
        )
        assert added.rows.sum() == len(rows)
    assert bands.rows[3] == ((confidence >= 0.9) & (confidence < 0.99)).sum()
    assert bands.rows[4] == (confidence >= 0.99).sum()


def test_the_worst_is_the_surest_and_groups_of_few_rows_are_left_out():
    group = np.r_[np.zeros(300, int), np.ones(40, int), np.full(3, 2), np.full(50, 3)]
    confidence = np.r_[np.full(300, 0.8), np.full(40, 0.9), np.full(3, 0.99), np.full(50, 0.7)]
    correct = np.r_[np.arange(300) < 180, np.arange(40) < 26, np.zeros(3, bool), np.arange(50) < 35]
    groups = gaps_by_group(confidence, correct, group, 5)
    # Gaps of .2 from 300 rows, .25 from 40, .99 from 3, 0 from 50, and no rows at all.
    assert groups.worst_first()[groups.rows[groups.worst_first()] >= 10].tolist() == [0, 1, 3]
    assert groups.worst_first().tolist()[-1] == 3
    assert 4 not in groups.worst_first()
    assert groups.sure_gap[3] == 0.0 and np.isnan(groups.sure_gap[4])


@pytest.mark.long
@pytest.mark.parametrize("n", [10, 400])
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
    assert (np.diff(theorem.chain) >= -1e-12).all()
    assert theorem.chain[0] == abs(theorem.signed_gap)
    errors = [
        metrics.ece(*pair(rows), n_bins=n_bins, norm=norm, binning=binning)
        for norm in (1, 2, "inf")
    ]
    np.testing.assert_allclose(theorem.chain[1:], errors, atol=1e-12)


def test_theorem_1_is_an_equality_in_a_single_bin():
    theorem = theorem_one(np.array([0.9, 0.7, 0.8]), np.array([True, False, False]), n_bins=1)
    assert theorem.chain == pytest.approx([0.8 - 1 / 3] * 4)


@pytest.mark.parametrize("n", [25, 300, 5000])
def test_one_gap_has_one_interval_on_all_pages(rng, n) -> None:
    # It was ± two standard errors on one page, and the wider of two intervals on another.
    confidence = rng.uniform(0.5, 1.0, n)
    one = evaluation(confidence, rng.random(n) < confidence - 0.05)
    gap = over_under_confidence([one])[0].gap
    assert subgroups(one, np.array(["all"] * n)).average == gap


def test_between_clusters_the_interval_of_a_gap_takes_student_s_quantile(rng):
    """Group 0 has 6 clusters, group 1 a single one, group 2 no rows."""
    clusters, level = np.concatenate([np.repeat(np.arange(6), 20), np.full(40, 6)]), 0.9
    group = np.repeat([0, 1], [120, 40])
    confidence = rng.uniform(0.5, 1.0, 160)
    correct = rng.random(160) < np.repeat(rng.uniform(0.4, 1.0, 7), [20] * 6 + [40])
    found = gaps_by_group(confidence, correct, group, 3, level, clusters)
    worth = independent_rows(group, 3, correct, clusters)
    z = norm.ppf(0.5 + level / 2)
    for k, quantile in ((0, t.ppf(0.5 + level / 2, 5)), (1, z)):
        difference = (confidence - correct)[group == k]
        n = worth[k] * (z / quantile) ** 2
        half = z * difference.std() / np.sqrt(max(n - 1, 1.0))
        accuracy = correct[group == k].mean()
        middle = (accuracy + z**2 / (2 * n)) / (1 + z**2 / n)  # Wilson (1927)
        around = z / (1 + z**2 / n) * np.sqrt(accuracy * (1 - accuracy) / n + z**2 / (4 * n**2))
        said = confidence[group == k].mean()
        low = min(said - middle - around, difference.mean() - half)
        high = max(said - middle + around, difference.mean() + half)
        ends = [max(low, -1.0), min(high, 1.0)]
        np.testing.assert_allclose([found.gap_low[k], found.gap_high[k]], ends, rtol=1e-12)
    assert np.isnan(found.gap[2]) and found.contribution[2] == 0
