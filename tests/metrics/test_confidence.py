"""Over- and underconfidence, their gap and sharpness.

Smooth ECE against direct quadrature of its definition.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import calib
from calib import metrics
from calib.arrays import check_logits
from calib.errors import CalibrationError
from calib.metrics.confidence import target_pair
from tests.metrics.conftest import pair, rows


@given(rows)
def test_signed_gap_is_the_weighted_difference_of_over_and_underconfidence(rows):
    confidence, correct = pair(rows)
    p_right = correct.mean()
    over = metrics.overconfidence(confidence, correct) * (1 - p_right) if p_right < 1 else 0.0
    under = metrics.underconfidence(confidence, correct) * p_right if p_right > 0 else 0.0
    signed = metrics.confidence_gap(confidence=confidence, correct=correct, signed=True)
    assert signed == pytest.approx(over - under, abs=1e-12)
    assert metrics.confidence_gap(confidence, correct) == abs(signed)


def test_a_mean_over_nothing_is_nan_and_takes_no_part_in_the_gap():
    confidence = np.array([0.9, 0.7])
    assert np.isnan(metrics.overconfidence(confidence, np.array([True, True])))
    assert metrics.confidence_gap(confidence, np.array([True, True])) == pytest.approx(0.2)
    assert np.isnan(metrics.underconfidence(confidence, np.array([False, False])))
    assert metrics.confidence_gap(confidence, np.array([False, False])) == pytest.approx(0.8)


def test_sharpness_is_the_variance_of_the_confidence():
    probs = np.array([[0.6, 0.4], [0.2, 0.8], [1.0, 0.0]])
    mean = (0.6 + 0.8 + 1.0) / 3
    expected = ((0.6 - mean) ** 2 + (0.8 - mean) ** 2 + (1.0 - mean) ** 2) / 3
    top = {"confidence": probs.max(axis=1), "correct": [True, False, True]}
    assert metrics.scoring_rules.sharpness(**top) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("probs", "said"),
    [
        (
            np.array([[0.2, 0.8], [np.nan, 0.4], [0.5, 0.5]]),
            "1 of 3 rows of probabilities hold NaN",
        ),
        (
            np.ma.masked_array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], [[0, 0], [1, 0], [0, 0]]),
            "1 of the prob",
        ),
        (np.ma.masked_array([[0, 1], [1, 0], [0, 1]], [[0, 0], [1, 0], [0, 0]]), "1 of the prob"),
        ([[0.5], [0.2, 0.3], [0.1]], "different lengths"),
        (np.full((3, 2), 0.5 + 0j), "complex128"),
        (np.full((3, 2), "0.5"), "numbers"),
    ],
)
@pytest.mark.parametrize("target", [None, 0])
def test_what_are_no_probabilities_is_refused_in_a_sentence(probs, said, target):
    with pytest.raises(CalibrationError, match=said):
        target_pair(probs, [0, 1, 1], target)


def points_of(*pair, **target):
    curve = calib.reliability_curve(*pair, **target)
    return curve.confidence.tolist(), curve.accuracy.tolist()


@pytest.mark.parametrize("score", [metrics.corp, metrics.cumulative_test, points_of])
def test_one_class_is_the_pair_of_its_probability_and_its_label(score, sample):
    probs, labels = sample
    assert score(probs, labels, target=2) == score(probs[:, 2], labels == 2)
    assert score(probs, labels) == score(probs.max(axis=1), probs.argmax(axis=1) == labels)
    with pytest.raises(CalibrationError, match="no class 4"):
        score(probs, labels, target=4)


@pytest.mark.parametrize("n_bins", [10**9, 1e300, 0, 2.5, float("nan"), "15"])
def test_numbers_of_bins_are_bounded(n_bins):
    with pytest.raises(CalibrationError, match="between 1 and 1000000"):
        calib.reliability_curve([[0.2, 0.8]], [1], n_bins=n_bins)


def test_masked_labels_and_logits_are_refused_and_not_read_below_the_mask():
    probs, labels = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]]), [0, 1, 1]
    with pytest.raises(CalibrationError, match="1 of the labels are masked"):
        metrics.ece(probs, np.ma.masked_array(labels, [0, 1, 0]))
    with pytest.raises(CalibrationError, match="2 of the logits are masked"):
        check_logits(np.ma.masked_array(probs, [[0, 0], [1, 1], [0, 0]]))
    assert metrics.ece(probs, np.ma.masked_array(labels, [0, 0, 0])) == metrics.ece(probs, labels)


def test_a_slip_among_probabilities_names_its_row():
    risk = np.full(100, 0.3)
    risk[5] = 1.02
    said = r"^1 of 100 rows of probabilities leave 0 to 1, the first \(row 5\) with 1\.02,"
    with pytest.raises(CalibrationError, match=said):
        metrics.ece(risk, np.arange(100) % 2 == 0)
