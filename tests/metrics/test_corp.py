"""The CORP decomposition against the min-max formula of isotonic regression, and properties that hold for any data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib import metrics
from calib.errors import CalibrationError
from calib.metrics.corp import isotonic_of_samples, recalibrate
from calib.numerics import softmax
from tests.metrics.conftest import pair, rows


def isotonic_by_min_max(confidence, correct):
    """``max over s <= i of min over t >= i of the mean outcome with s <= confidence <= t``, for each row."""
    distinct = sorted(set(confidence))

    def mean(low, high):
        return np.mean([r for c, r in zip(confidence, correct, strict=True) if low <= c <= high])

    return [
        max(min(mean(low, high) for high in distinct if high >= c) for low in distinct if low <= c) for c in confidence
    ]


def score_by_loop(forecasts, correct):
    return sum((p - right) ** 2 for p, right in zip(forecasts, correct, strict=True)) / len(correct)


@given(st.lists(st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, 1.0]), st.booleans()), min_size=1, max_size=25))
def test_recalibration_is_the_min_max_formula(rows):
    confidence, correct = pair(rows)
    again = recalibrate(confidence, correct)
    of_row = again.frequency[np.searchsorted(again.confidence, confidence)]
    np.testing.assert_allclose(of_row, isotonic_by_min_max(confidence, correct), atol=1e-12)


def test_recalibration_is_scikit_learns(rng):
    confidence = np.round(rng.random(2000), 2)
    correct = rng.random(2000) < confidence**2
    again = recalibrate(confidence, correct)
    expected = IsotonicRegression().fit(confidence, correct).predict(again.confidence)
    np.testing.assert_allclose(again.frequency, expected, atol=1e-12)
    assert again.count.sum() == 2000


@given(rows)
def test_the_terms_make_up_the_score_and_none_is_negative(rows):
    confidence, correct = pair(rows)
    parts = metrics.corp(confidence, correct)
    assert np.isfinite([parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty]).all()
    assert parts.score == pytest.approx(score_by_loop(confidence, correct), rel=1e-9, abs=1e-12)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(parts.score, abs=1e-12)
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0.0
    assert parts.uncertainty == pytest.approx(score_by_loop([correct.mean()] * len(correct), correct), abs=1e-9)


@given(rows)
def test_the_recalibrated_score_is_that_of_its_forecasts(rows):
    confidence, correct = pair(rows)
    again = recalibrate(confidence, correct)
    of_row = again.frequency[np.searchsorted(again.confidence, confidence)]
    parts = metrics.corp(confidence, correct)
    recalibrated = score_by_loop(of_row, correct)
    assert parts.score - parts.miscalibration == pytest.approx(recalibrated, rel=1e-9, abs=1e-9)
    # Recalibrating twice finds nothing more: the curve of a recalibrated forecast is the diagonal.
    twice = metrics.corp(of_row, correct)
    assert twice.miscalibration == pytest.approx(0.0, abs=1e-9)
    assert twice.discrimination == pytest.approx(parts.discrimination, abs=1e-9)


@given(rows, st.integers(0, 100))
def test_order_of_rows_and_increasing_maps_change_no_discrimination(rows, seed):
    confidence, correct = pair(rows)
    confidence = np.round(confidence, 6)  # the map must keep neighbours apart
    order = np.random.default_rng(seed).permutation(len(rows))
    parts = metrics.corp(confidence, correct)
    moved = metrics.corp(0.1 + 0.8 * confidence[order], correct[order])
    assert moved.discrimination == pytest.approx(parts.discrimination, abs=1e-9)
    assert moved.uncertainty == pytest.approx(parts.uncertainty, abs=1e-12)


def test_a_hand_made_case():
    # Sorted outcomes 0, 1, 0, 1: isotonic pools the middle two to a half.
    confidence, correct = np.array([0.1, 0.4, 0.6, 0.9]), np.array([False, True, False, True])
    parts = metrics.corp(confidence, correct)
    assert parts.score == pytest.approx((0.01 + 0.36 + 0.36 + 0.01) / 4)
    assert parts.uncertainty == pytest.approx(0.25)
    assert parts.discrimination == pytest.approx(0.25 - 0.125)
    assert parts.miscalibration == pytest.approx(0.185 - 0.125)


def test_samples_one_after_the_other_are_regressed_each_by_itself(rng):
    count = rng.integers(0, 4, size=(150, 30))
    right = rng.binomial(count, rng.random(30))
    found = isotonic_of_samples(right, count)
    for sample in range(150):
        held = np.flatnonzero(count[sample])
        rows = count[sample, held]
        alone = IsotonicRegression().fit_transform(held, right[sample, held] / rows, sample_weight=rows)
        np.testing.assert_allclose(found[sample, held], alone, atol=1e-12)
    np.testing.assert_array_equal(found[count == 0], 0.0)


def test_a_constant_forecast_discriminates_nothing_and_reversed_ranks_too():
    correct = np.arange(10) < 7
    assert metrics.corp(np.full(10, 0.7), correct).miscalibration == pytest.approx(0.0, abs=1e-12)
    backwards = metrics.corp(np.linspace(0.9, 0.1, 10)[::-1], correct)
    assert backwards.discrimination == pytest.approx(0.0, abs=1e-12)


def test_more_rows_leave_less_miscalibration_of_calibrated_confidences(rng):
    def miscalibration(n):
        confidence = rng.uniform(0.3, 1.0, n)
        return metrics.corp(confidence, rng.random(n) < confidence).miscalibration

    assert miscalibration(40_000) < 0.2 * miscalibration(400)


def test_one_class_is_the_pair_of_its_probability_and_its_label(overconfident):
    logits, labels = overconfident
    probs = softmax(logits)
    assert metrics.corp(probs, labels, target=2) == metrics.corp(probs[:, 2], labels == 2)
    assert metrics.corp(probs, labels) == metrics.corp(probs.max(axis=1), probs.argmax(axis=1) == labels)


def test_scores_of_two_classes_are_those_of_one_of_them(rng):
    probs = softmax(rng.normal(size=(200, 2)))
    labels = rng.integers(2, size=200)
    one = metrics.corp(probs, labels, target=1)
    assert one.score == pytest.approx(metrics.brier(probs, labels))


def test_unknown_classes_are_refused(overconfident):
    logits, labels = overconfident
    with pytest.raises(CalibrationError, match="no class 4"):
        metrics.corp(softmax(logits), labels, target=4)
