"""Reliability curves and confidence histograms: pictures that agree with the numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import calib
from calib import metrics
from calib.diagnostics.histogram import LOGIT_LIMITS, confidence_histogram
from calib.diagnostics.reliability import default_bins, ece_interval, reliability_curve
from calib.errors import CalibrationError
from calib.evaluation import evaluate, score_intervals
from calib.numerics import softmax
from tests.conftest import simulate

rows = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0)), st.booleans()), min_size=1, max_size=60
)


@given(rows, st.integers(1, 20), st.sampled_from(sorted(metrics.BINNINGS)), st.sampled_from([1, 2, np.inf]))
def test_curve_error_and_rows_belong_together(rows, n_bins, binning, norm):
    confidence, correct = np.array([c for c, _ in rows]), np.array([r for _, r in rows])
    curve = reliability_curve(confidence, correct, n_bins, binning, norm)
    assert curve.ece == metrics.ece(confidence, correct, n_bins, norm, binning)
    assert curve.n == curve.count.sum() == len(rows)
    assert (curve.count > 0).all()
    assert (np.diff(curve.confidence) > 0).all()
    assert ((curve.low <= curve.accuracy) & (curve.accuracy <= curve.high)).all()
    for b in range(len(curve.count)):
        mine = curve.bin_of_row == b
        assert mine.sum() == curve.count[b]
        assert curve.confidence[b] == pytest.approx(confidence[mine].mean(), abs=1e-12)
        assert curve.accuracy[b] == pytest.approx(correct[mine].mean(), abs=1e-12)
    assert curve.mean_confidence == pytest.approx(curve.count @ curve.confidence / curve.n, abs=1e-12)
    assert curve.mean_accuracy == pytest.approx(curve.count @ curve.accuracy / curve.n, abs=1e-12)


def test_curve_of_a_class_bins_its_probability_against_its_label(overconfident):
    logits, labels = overconfident
    probs = softmax(logits)
    curve = reliability_curve(probs, labels, 10, target=2)
    other = reliability_curve(probs[:, 2], labels == 2, 10)
    assert curve.target == 2
    np.testing.assert_array_equal(curve.accuracy, other.accuracy)
    np.testing.assert_array_equal(curve.confidence, other.confidence)
    assert curve.ece == other.ece


def test_gap_is_positive_where_overconfident():
    curve = reliability_curve(np.array([0.9, 0.9]), np.array([True, False]))
    np.testing.assert_allclose(curve.gap, [0.4])


def test_public_name_and_unknown_class(overconfident):
    logits, labels = overconfident
    assert calib.reliability_curve(softmax(logits), labels).n == len(labels)
    with pytest.raises(CalibrationError, match="no class 4"):
        reliability_curve(softmax(logits), labels, target=4)


@pytest.mark.parametrize(("n", "bins"), [(2, 2), (1000, 10), (10_000, 22), (1_000_000, 100)])
def test_default_bins_grow_as_the_cube_root(n, bins):
    assert default_bins(n) == bins


def test_histogram_counts_right_and_wrong_on_a_grid_that_does_not_depend_on_the_data():
    confidence = np.array([0.0, 0.05, 0.1, 0.95, 1.0, 1.0])
    correct = np.array([False, True, False, True, True, False])
    histogram = confidence_histogram(confidence, correct, 10)
    np.testing.assert_allclose(histogram.edges, np.linspace(0, 1, 11))
    np.testing.assert_array_equal(histogram.right, [1, 0, 0, 0, 0, 0, 0, 0, 0, 2])
    np.testing.assert_array_equal(histogram.wrong, [1, 1, 0, 0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(histogram.count, histogram.right + histogram.wrong)
    assert (histogram.density("right") * 0.1).sum() == pytest.approx(1.0)


def test_logit_histogram_keeps_saturated_confidences_in_its_end_bins():
    confidence = np.array([0.0, 0.5, 0.9, 1.0, 1.0 + 1e-9])
    histogram = confidence_histogram(confidence, np.ones(5, bool), 16, scale="logit")
    assert (histogram.edges[0], histogram.edges[-1]) == LOGIT_LIMITS
    assert histogram.right.sum() == 5 and histogram.right[0] == 1 and histogram.right[-1] == 2
    assert histogram.right[np.searchsorted(histogram.edges, np.log(9.0)) - 1] == 1  # logit .9 = log 9
    assert histogram.density("wrong").sum() == 0.0
    with pytest.raises(CalibrationError, match="scale"):
        confidence_histogram(confidence, np.ones(5, bool), scale="log")


def test_ece_interval_is_that_of_the_shared_scores_in_the_same_bins() -> None:
    logits, labels = simulate(n=3000)
    evaluation = evaluate(softmax(logits), labels)
    curve = reliability_curve(*evaluation.pair)
    expected = score_intervals(evaluation, n_resamples=500)["ECE"]
    np.testing.assert_allclose(ece_interval(curve, *evaluation.pair), expected, rtol=1e-9)


def test_ece_interval_of_an_overconfident_model_stays_above_zero(rng: np.random.Generator) -> None:
    """Its mean confidence is well above its accuracy, which no binning can hide."""
    confidence = rng.uniform(0.6, 1.0, 400)
    correct = rng.uniform(size=400) < confidence - 0.1
    curve = reliability_curve(confidence, correct, n_bins=50)
    gap = confidence.mean() - correct.mean()
    noise = 1.96 * (confidence - correct).std() / 20
    value, low, high = ece_interval(curve, confidence, correct)
    assert value >= gap
    assert low >= gap - 1.2 * noise > 0
    assert high >= gap + 0.8 * noise


def test_ece_interval_of_calibrated_confidences_reaches_zero(rng: np.random.Generator) -> None:
    confidence = rng.uniform(0.3, 1.0, 5000)
    correct = rng.uniform(size=5000) < confidence
    curve = reliability_curve(confidence, correct, n_bins=17, binning="equal_mass")
    value, low, high = ece_interval(curve, confidence, correct)
    assert low < 0.25 * value
    assert value <= high
