"""Reliability curves in bins and by isotonic regression, with their consistency bands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.isotonic import IsotonicRegression

import calib
from calib import metrics
from calib.diagnostics.histograms import LOGIT_LIMITS, confidence_histogram
from calib.diagnostics.reliability import (
    binned_consistency,
    corp_curve,
    default_bins,
    reliability_curve,
)
from calib.evaluation import evaluate
from calib.numerics import softmax
from calib.sklearn import ReliabilityDisplay
from tests.conftest import compare_evaluations, simulate
from tests.metrics.conftest import pair, rows


@given(rows, st.integers(1, 20), st.sampled_from(sorted(metrics.binning.BINNINGS)))
def test_curve_error_and_rows_belong_together(rows, n_bins, binning):
    confidence, correct = pair(rows)
    curve = reliability_curve(confidence, correct, n_bins, binning)
    assert curve.ece == metrics.ece(confidence, correct)
    assert curve.n == curve.count.sum() == len(rows)
    assert (curve.count > 0).all()
    assert (np.diff(curve.confidence) > 0).all()
    assert ((curve.low <= curve.accuracy) & (curve.accuracy <= curve.high)).all()
    np.testing.assert_array_equal(np.bincount(curve.bin_of_row), curve.count)
    for values, means in ((confidence, curve.confidence), (correct, curve.accuracy)):
        np.testing.assert_allclose(
            np.bincount(curve.bin_of_row, values) / curve.count, means, atol=1e-12
        )
    assert curve.mean_confidence == pytest.approx(
        curve.count @ curve.confidence / curve.n, abs=1e-12
    )
    assert curve.mean_accuracy == pytest.approx(curve.count @ curve.accuracy / curve.n, abs=1e-12)


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


def test_logit_histogram_keeps_saturated_confidences_in_its_end_bins():
    confidence = np.array([0.0, 0.5, 0.9, 1.0, 1.0 + 1e-9])
    histogram = confidence_histogram(confidence, np.ones(5, bool), 16, scale="logit")
    assert (histogram.edges[0], histogram.edges[-1]) == LOGIT_LIMITS
    assert histogram.right.sum() == 5 and histogram.right[0] == 1 and histogram.right[-1] == 2
    assert (
        histogram.right[np.searchsorted(histogram.edges, np.log(9.0)) - 1] == 1
    )  # logit .9 = log 9


def test_there_is_one_ece_whatever_the_bins_of_a_picture(rng: np.random.Generator) -> None:
    logits, labels = simulate(n=700, n_classes=3)
    probs = softmax(logits)
    expected = calib.ece(probs, labels)
    assert expected == calib.metrics.ece(probs, labels, n_bins=15, binning="equal_width")
    for n_bins, binning in ((9, "equal_mass"), (15, "equal_width"), (100, "kmeans")):
        curve = reliability_curve(probs, labels, n_bins=n_bins, binning=binning)
        assert curve.ece == expected and len(curve.edges) == n_bins + 1
    assert ReliabilityDisplay.from_predictions(labels, probs).curve.ece == expected
    table = compare_evaluations({"identity": evaluate(probs, labels)})
    raw = table[table["method"] == "identity"].set_index("score")
    assert raw.loc["ECE", "value"] == pytest.approx(expected, rel=1e-12)
    weights = rng.integers(1, 4, 700)
    written = np.repeat(probs, weights, axis=0), np.repeat(labels, weights)
    assert reliability_curve(probs, labels, 7, weights=weights).ece == pytest.approx(
        calib.ece(*written)
    )


def test_a_bin_of_rows_without_weight_is_an_empty_one() -> None:
    confidence, correct = np.array([0.1, 0.12, 0.9, 0.95]), np.array([False, True, True, True])
    for clusters in (None, [0, 1, 2, 3]):
        curve = reliability_curve(confidence, correct, 5, weights=[0, 0, 1, 1], clusters=clusters)
        alone = reliability_curve(
            confidence[2:], correct[2:], 5, clusters=clusters and clusters[2:]
        )
        assert curve.bin_of_row.tolist() == [-1, -1, 0, 0]
        for name in ("confidence", "accuracy", "count", "low", "high"):
            np.testing.assert_array_equal(getattr(curve, name), getattr(alone, name))


@given(
    st.lists(
        st.tuples(st.sampled_from(np.linspace(0, 1, 21).tolist()), st.booleans()),
        min_size=1,
        max_size=60,
    )
)
def test_steps_are_the_isotonic_regression(tied):
    confidence, correct = pair(tied)
    curve = corp_curve(confidence, correct)
    fit = IsotonicRegression().fit(confidence, correct)
    np.testing.assert_allclose(curve.accuracy, fit.predict(curve.confidence), atol=1e-12)
    assert (np.diff(curve.confidence) > 0).all() and (np.diff(curve.accuracy) >= 0).all()
    for level in np.unique(curve.accuracy):
        pooled = np.isclose(fit.predict(confidence), level, atol=1e-12)
        step = curve.accuracy == level
        assert (curve.count[step] == pooled.sum()).all()
        assert curve.confidence[step].min() == confidence[pooled].min()
        assert curve.confidence[step].max() == confidence[pooled].max()
        assert correct[pooled].mean() == pytest.approx(level)


def test_many_steps_stay_few_points(rng):
    confidence = rng.random(300_000)
    curve = corp_curve(confidence, rng.random(300_000) < confidence)
    assert 100 < len(curve.confidence) <= 200
    assert curve.confidence[0] == confidence.min() and curve.confidence[-1] == confidence.max()
    assert (np.diff(curve.accuracy) >= 0).all()


def share_inside(confidence, correct):
    curve = reliability_curve(confidence, correct, 15, "equal_mass")
    band = binned_consistency(curve, confidence)
    return ((band.low - 1e-9 <= curve.accuracy) & (curve.accuracy <= band.high + 1e-9)).mean()


def test_curves_of_calibrated_models_lie_inside_about_as_often_as_the_band_says(rng):
    inside = []
    for _ in range(30):
        confidence = rng.beta(5, 2, 500)
        inside.append(share_inside(confidence, rng.random(500) < confidence))
    assert 0.92 <= np.mean(inside) <= 0.985, np.mean(inside)


def test_curves_of_overconfident_models_lie_outside(rng):
    confidence = rng.beta(5, 2, 5000)
    assert share_inside(confidence, rng.random(5000) < confidence**2) < 0.4


def test_band_of_tied_confidences_is_the_binomials(rng):
    confidence = np.full(200, 0.8)
    curve = reliability_curve(confidence, rng.random(200) < 0.8, 5)
    band = binned_consistency(curve, confidence)
    np.testing.assert_allclose(
        [band.low[0], band.high[0]], binom(200, 0.8).ppf([0.025, 0.975]) / 200, atol=0.011
    )
