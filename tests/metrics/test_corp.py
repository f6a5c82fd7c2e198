"""The CORP decomposition against the min-max formula of isotonic regression, and properties that hold for any data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from calib import metrics
from calib.metrics.recalibration import isotonic, recalibrate
from tests.metrics.conftest import pair, rows


def isotonic_by_min_max(confidence, correct):
    """``max over s <= i of min over t >= i of the mean outcome with s <= confidence <= t``, for each row."""
    distinct = sorted(set(confidence))

    def mean(low, high):
        return np.mean([r for c, r in zip(confidence, correct, strict=True) if low <= c <= high])

    return [
        max(min(mean(low, high) for high in distinct if high >= c) for low in distinct if low <= c)
        for c in confidence
    ]


def score_by_loop(forecasts, correct):
    return sum((p - right) ** 2 for p, right in zip(forecasts, correct, strict=True)) / len(correct)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, 1.0]), st.booleans()),
        min_size=1,
        max_size=25,
    )
)
def test_recalibration_is_the_min_max_formula(rows):
    confidence, correct = pair(rows)
    again = recalibrate(confidence, correct)
    of_row = again.frequency[np.searchsorted(again.confidence, confidence)]
    np.testing.assert_allclose(of_row, isotonic_by_min_max(confidence, correct), atol=1e-12)


def test_confidences_that_rounding_parts_tie():
    """0.3 computed in two ways, one of them beside wrong predictions and the other beside right ones."""
    confidence = np.array([0.1, 0.3, np.nextafter(0.3, 1), np.float32(0.3), 0.8])
    again = recalibrate(confidence, np.array([0, 1, 0, 0, 1]) == 1)
    np.testing.assert_allclose(again.confidence, [0.1, 0.3, 0.8])
    np.testing.assert_array_equal(again.count, [1, 3, 1])
    np.testing.assert_allclose(again.frequency, [0, 1 / 3, 1])


@given(rows)
def test_the_terms_make_up_the_score_and_none_is_negative(rows):
    confidence, correct = pair(rows)
    parts = metrics.corp(confidence, correct)
    assert np.isfinite(
        [parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty]
    ).all()
    assert parts.score == pytest.approx(score_by_loop(confidence, correct), rel=1e-9, abs=1e-12)
    assert parts.miscalibration - parts.discrimination + parts.uncertainty == pytest.approx(
        parts.score, abs=1e-12
    )
    assert min(parts.miscalibration, parts.discrimination, parts.uncertainty) >= 0.0
    assert parts.uncertainty == pytest.approx(
        score_by_loop([correct.mean()] * len(correct), correct), abs=1e-9
    )


def test_isotonic_regression_of_counts_is_that_of_scikit_learn(rng):
    for _ in range(20):
        count = rng.integers(1, 4, size=30)
        right = rng.binomial(count, rng.random(30))
        alone = IsotonicRegression().fit_transform(
            np.arange(30), right / count, sample_weight=count
        )
        np.testing.assert_allclose(isotonic(right, count), alone, atol=1e-12)
