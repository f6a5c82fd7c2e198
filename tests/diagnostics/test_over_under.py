"""o, u, their ratio, the odds that it should equal, and what methods change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import metrics
from calib.diagnostics.over_under import FEW, balances
from calib.errors import CalibrationError
from calib.evaluation import Evaluation, evaluate, paired_differences, score_intervals
from calib.numerics import softmax
from tests.conftest import simulate

INTERVALS = ("over", "under", "ratio", "odds", "lean", "gap")


def evaluation_of(confidence, correct) -> Evaluation:
    correct = np.asarray(correct, bool)
    return Evaluation(np.asarray(confidence, float), correct, np.zeros(len(correct), int), 1 - correct.astype(int), 2)


def example(confidence: float) -> Evaluation:
    """The example of section S1.1: one class has 75 %, and the classifier is always equally sure of it."""
    return evaluation_of(np.full(400, confidence), np.arange(400) < 300)


def test_the_papers_example():
    truth, too_sure = balances([example(0.75), example(0.9)])
    assert (truth.over.value, truth.under.value) == (pytest.approx(0.75), pytest.approx(0.25))
    assert (too_sure.over.value, too_sure.under.value) == (pytest.approx(0.9), pytest.approx(0.1))
    # "for perfect calibration, the odds of making a correct prediction equal the ratio" (after Theorem 1)
    assert truth.ratio.value == pytest.approx(truth.odds.value) == pytest.approx(3.0)
    assert truth.lean.value == pytest.approx(1.0)
    assert too_sure.ratio.value == pytest.approx(9.0)
    assert too_sure.lean.value == pytest.approx(3.0)
    assert too_sure.gap.value == pytest.approx(0.15)
    assert too_sure.change is not None
    assert too_sure.change.lean.value == pytest.approx(3.0)
    assert truth.change is None


def test_a_calibrated_model_has_the_ratio_that_its_odds_ask_for(rng):
    confidence = rng.beta(6, 1, 1_000_000)
    (calibrated,) = balances([evaluation_of(confidence, rng.random(1_000_000) < confidence)])
    assert calibrated.ratio.value == pytest.approx(6.0, rel=0.02)  # odds of an accuracy of 6/7
    assert calibrated.lean.low < 1.0 < calibrated.lean.high
    assert calibrated.lean.high - calibrated.lean.low < 0.02


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.booleans()), min_size=1, max_size=60))
def test_quantities_are_those_of_their_definitions_and_lie_in_their_intervals(rows):
    confidence, correct = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    (balance,) = balances([evaluation_of(confidence, correct)], n_resamples=20)
    pair = confidence, correct
    expected = {
        "over": metrics.overconfidence(*pair),
        "under": metrics.underconfidence(*pair),
        "ratio": metrics.over_under_ratio(*pair),
        "gap": metrics.signed_confidence_gap(*pair),
    }
    assert balance.weighted_over == pytest.approx((confidence * ~correct).mean())
    assert balance.weighted_under == pytest.approx(((1 - confidence) * correct).mean(), abs=1e-12)
    for name, value in expected.items():
        if np.isfinite(value):
            assert getattr(balance, name).value == pytest.approx(value, rel=1e-9, abs=1e-12), name
        else:
            assert np.isnan(getattr(balance, name)).all(), name
    for name in INTERVALS:
        value, low, high = getattr(balance, name)
        assert np.isnan(value) or low - 1e-9 * max(1, abs(value)) <= value <= high + 1e-9 * max(1, abs(value)), name
    # The lean says in factors what the gap says in points: above 1 where the gap is above 0.
    if np.isfinite(balance.lean.value) and abs(balance.gap.value) > 1e-9:
        assert (balance.lean.value > 1) == (balance.gap.value > 0)


def test_intervals_are_those_of_the_other_pages(overconfident):
    logits, labels = overconfident
    raw, better = evaluate(softmax(logits), labels), evaluate(softmax(logits / 2), labels)
    known, changed = score_intervals(raw), paired_differences(better, raw)
    ours, ours_better = balances([raw, better])
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
    change = balances([evaluation, evaluation])[1].change
    assert change is not None
    assert change.over == change.under == change.gap == (0, 0, 0)
    assert change.ratio == change.lean == (1, 1, 1)


def test_bootstrap_intervals_of_ratios_hold_the_truth():
    held, repeats = 0, 150
    for seed in range(repeats):
        logits, labels = simulate(n=500, seed=seed)
        raw, calibrated = evaluate(softmax(logits), labels), evaluate(softmax(logits / 2), labels)
        balance = balances([raw, calibrated], n_resamples=200)[1]
        held += balance.lean.low <= 1.0 <= balance.lean.high
    assert held >= 0.9 * repeats


@pytest.mark.parametrize("n", [6, 60])
def test_few_wrong_predictions_have_cautious_intervals(rng, n):
    over, lean, repeats = 0, 0, 300
    for _ in range(repeats):
        confidence = rng.beta(12, 0.6, n)  # mean .952
        correct = rng.random(n) < confidence
        (balance,) = balances([evaluation_of(confidence, correct)], n_resamples=2)
        # E[z | wrong] = E[z (1 - z)] / E[1 - z] = 12 / 13.6 by the moments of the beta distribution.
        assert balance.few
        over += np.isnan(balance.over.value) or balance.over.low <= 12 / 13.6 <= balance.over.high
        lean += np.isnan(balance.lean.value) or balance.lean.low <= 1.0 <= balance.lean.high
        assert balance.gap.low <= 0.05 and balance.gap.high >= -0.05
    assert over >= 0.95 * repeats
    assert lean >= 0.95 * repeats


def test_all_right():
    (balance,) = balances([evaluation_of(np.full(50, 0.98), np.ones(50, bool))])
    assert balance.few
    assert np.isnan([*balance.over, *balance.ratio, *balance.odds, *balance.lean]).all()
    assert balance.under.value == pytest.approx(0.02)
    assert balance.gap.value == pytest.approx(-0.02)
    # 50 of 50 right is nothing unusual for a model that is right 98 % of the time.
    assert balance.gap.low < 0 < balance.gap.high
    assert balance.weighted_over == 0.0


def test_all_wrong():
    (balance,) = balances([evaluation_of(np.full(50, 0.9), np.zeros(50, bool))])
    assert np.isnan([*balance.under, *balance.ratio, *balance.lean]).all()
    assert balance.over.value == pytest.approx(0.9)
    assert balance.odds.value == 0.0
    assert balance.gap.value == pytest.approx(0.9)
    assert balance.gap.low > 0.7


def test_a_ratio_to_no_doubt_at_all_does_not_exist():
    (balance,) = balances([evaluation_of(np.ones(100), np.arange(100) < 80)])
    assert balance.under.value == 0.0
    assert np.isnan([*balance.ratio, *balance.lean]).all()
    assert balance.odds.value == pytest.approx(4.0)
    assert balance.gap.value == pytest.approx(0.2)


def test_rows_must_be_the_same():
    with pytest.raises(CalibrationError, match="same test set"):
        balances([example(0.9), evaluation_of([0.9] * FEW, [True] * FEW)])
