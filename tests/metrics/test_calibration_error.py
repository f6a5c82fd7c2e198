"""Calibration errors against loops, closed forms, and properties that hold for any data.

Class-wise calibration error, with and without the threshold.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from calib import metrics
from calib.errors import CalibrationError
from calib.metrics.bootstrap import groups_of_units, interval_of_draws, reflect
from tests.metrics.conftest import binnings, pair, rows

NORMS = st.sampled_from([1, 1.5, 2, np.inf])


def ece_by_loop(confidence, correct, n_bins, norm):
    gaps, shares = [], []
    for b in range(n_bins):
        inside = [
            i
            for i, c in enumerate(confidence)
            if b / n_bins <= c < (b + 1) / n_bins or (c == 1 and b == n_bins - 1)
        ]
        if inside:
            gaps.append(
                abs(
                    np.mean([confidence[i] for i in inside]) - np.mean([correct[i] for i in inside])
                )
            )
            shares.append(len(inside) / len(confidence))
    if norm == np.inf:
        return max(gaps)
    return sum(w * g**norm for w, g in zip(shares, gaps, strict=True)) ** (1 / norm)


@given(
    rows, st.sampled_from([1, 2, 4, 8, 16]), NORMS
)  # powers of 2, so that the edges are exact in the loop too
def test_ece_is_the_weighted_norm_of_the_gaps_of_the_bins(rows, n_bins, norm):
    confidence, correct = pair(rows)
    expected = ece_by_loop(confidence, correct, n_bins, norm)
    assert metrics.ece(
        confidence=confidence, correct=correct, n_bins=n_bins, norm=norm
    ) == pytest.approx(expected, abs=1e-12)


@given(rows, st.integers(1, 20), NORMS, binnings)
def test_ece_lies_between_0_and_1_and_ignores_the_order_of_rows(rows, n_bins, norm, binning):
    confidence, correct = pair(rows)
    options = {"n_bins": n_bins, "norm": norm, "binning": binning}
    value = metrics.ece(confidence=confidence, correct=correct, **options)
    assert 0.0 <= value <= 1.0 + 1e-12
    back = metrics.ece(confidence=confidence[::-1], correct=correct[::-1], **options)
    assert back == pytest.approx(value, abs=1e-12)


def smooth_error_by_quadrature(confidence, correct, width):
    grid = (np.arange(2000) + 0.5) / 2000
    images = (confidence, -confidence, 2.0 - confidence, confidence - 2.0, confidence + 2.0)
    kernel = sum(norm.pdf(grid[:, None], image, width) for image in images)
    return np.abs(kernel @ (correct - confidence) / len(confidence)).mean()


@pytest.mark.parametrize("power", [1.0, 2.0, 6.0])
def test_smooth_ece_is_the_fixed_point_of_the_definition(rng, power):
    confidence = rng.uniform(0.05, 0.95, 400)
    correct = rng.random(400) < confidence**power
    value = metrics.smooth_ece(confidence, correct)
    assert smooth_error_by_quadrature(confidence, correct, value) == pytest.approx(value, abs=2e-4)


@pytest.mark.parametrize(("confidence", "error"), [(0.9, 0.3), (1.0, 0.4), (0.0, 0.6)])
def test_residuals_of_one_sign_are_their_own_smooth_error(confidence, error):
    correct = np.arange(100) < 60
    assert metrics.smooth_ece(np.full(100, confidence), correct) == pytest.approx(error, abs=1e-9)
    assert metrics.smooth_ece(np.ones(3), np.full(3, False)) == pytest.approx(1.0)


def debiased_by_loop(confidence, correct, n_bins):
    total = 0.0
    for b in range(n_bins):
        rows = [i for i, c in enumerate(confidence) if min(int(c * n_bins), n_bins - 1) == b]
        if len(rows) > 1:
            accuracy = np.mean([correct[i] for i in rows])
            noise = np.var([float(correct[i]) for i in rows], ddof=1) / len(rows)
            total += (
                len(rows)
                / len(confidence)
                * ((np.mean([confidence[i] for i in rows]) - accuracy) ** 2 - noise)
            )
    return max(total, 0.0) ** 0.5


@given(rows, st.sampled_from([1, 2, 4, 8]))
def test_the_debiased_error_subtracts_the_variance_of_each_accuracy(rows, n_bins):
    confidence, correct = pair(rows)
    found = metrics.debiased_ece(confidence, correct, n_bins=n_bins, binning="equal_width")
    assert found == pytest.approx(debiased_by_loop(confidence, correct, n_bins), abs=1e-8)


def test_the_debiased_error_of_few_rows_is_that_of_many(rng):
    squares = []
    for _ in range(300):
        confidence = rng.choice([0.5, 0.7, 0.9], 90)
        correct = rng.random(90) < confidence - 0.2
        squares.append(metrics.debiased_ece(confidence, correct, n_bins=3) ** 2)
    assert np.mean(squares) == pytest.approx(
        0.04, abs=0.004
    )  # with its noise the squared error would be 0.046


def classwise_by_loop(probs, labels, n_bins, above, divide_by):
    n, n_classes = probs.shape
    total = 0.0
    for k in range(n_classes):
        kept = probs[:, k] > above
        if not kept.any():
            continue
        values, hits = probs[kept, k], labels[kept] == k
        cell = np.minimum((values * n_bins).astype(int), n_bins - 1)
        for b in set(cell):
            inside = cell == b
            share = inside.sum() / (kept.sum() if divide_by == "kept" else n)
            total += share * abs(values[inside].mean() - hits[inside].mean())
    return total / n_classes


@pytest.mark.parametrize(("threshold", "above"), [(0, -1.0), ("1/K", 0.25), (0.6, 0.6)])
def test_classwise_ece_is_the_mean_over_classes(sample, threshold, above):
    probs, labels = sample
    expected = classwise_by_loop(probs, labels, 16, above, "kept")
    assert metrics.calibration_error.classwise_ece(probs, labels, 16, threshold) == pytest.approx(
        expected, abs=1e-12
    )
    weights = 1 + np.arange(len(labels)) % 3
    repeated = metrics.calibration_error.classwise_ece(
        np.repeat(probs, weights, axis=0), np.repeat(labels, weights), 16, threshold
    )
    assert metrics.calibration_error.classwise_ece(
        probs, labels, 16, threshold, weights=weights
    ) == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("threshold", [0, 0.3])
@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("n_bins", [1, 6])
@pytest.mark.parametrize("binning", sorted(metrics.binning.BINNINGS))
def test_the_error_of_a_class_is_the_ece_of_its_probability(
    sample, threshold, norm, n_bins, binning
):
    probs, labels = (each[:200] for each in sample)
    weights = (np.arange(200) % 4) / 7
    expected = []
    for k in range(4):
        kept = probs[:, k] > (threshold or -1.0)
        of_class = probs[kept, k], labels[kept] == k
        options = {"n_bins": n_bins, "norm": norm, "binning": binning, "weights": weights[kept]}
        expected.append(metrics.ece(*of_class, **options) if kept.any() else 0.0)
    found = metrics.calibration_error.classwise_ece(
        probs, labels, n_bins, threshold, binning, norm, weights
    )
    assert found == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.parametrize("threshold", ["2/K", -0.1, 1.0, np.array([0.1, 0.2])])
def test_wrong_thresholds_are_refused(sample, threshold):
    with pytest.raises(CalibrationError, match="threshold"):
        metrics.calibration_error.classwise_ece(*sample, threshold=threshold)


def event_rows(n, rng, n_classes=2):
    probs = rng.dirichlet(np.ones(n_classes), n)
    labels = np.array([rng.choice(n_classes, p=p**2 / (p**2).sum()) for p in probs])
    return probs, labels


def test_the_event_of_two_classes_has_one_ece_however_it_is_written(rng):
    probs, labels = event_rows(400, rng)
    risk = probs[:, 1]
    expected = ece_by_loop(risk, labels == 1, 16, 1)
    for rows_of in ((risk, labels), (risk, labels == 1), (probs, labels)):
        assert metrics.ece(*rows_of, n_bins=16) == pytest.approx(expected, abs=1e-12)
        assert metrics.ece(*rows_of, n_bins=16, of="event") == pytest.approx(expected, abs=1e-12)
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    expected = ece_by_loop(top, right, 16, 1)
    for rows_of in ((risk, labels), (probs, labels)):
        assert metrics.ece(*rows_of, n_bins=16, of="top") == pytest.approx(expected, abs=1e-12)
    assert metrics.ece(confidence=top, correct=right, n_bins=16) == pytest.approx(
        expected, abs=1e-12
    )
    assert metrics.accuracy(risk, labels) == metrics.accuracy(probs, labels) == right.mean()
    for score in (metrics.smooth_ece, metrics.debiased_ece, metrics.scoring_rules.sharpness,
                  metrics.confidence_gap, metrics.overconfidence, metrics.underconfidence):  # fmt: skip
        assert score(risk, labels) == pytest.approx(score(probs, labels), abs=1e-12)
        assert score(confidence=top, correct=right) != pytest.approx(score(risk, labels), abs=1e-4)
    with pytest.raises(CalibrationError, match="An event has two outcomes; got 3 columns"):
        metrics.ece(*event_rows(20, rng, 3), of="event")


def test_of_more_classes_it_is_that_of_the_predicted_one_or_of_each(rng):
    probs, labels = event_rows(300, rng, 3)
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    assert metrics.ece(probs, labels, n_bins=8) == pytest.approx(ece_by_loop(top, right, 8, 1))
    of_each = [ece_by_loop(probs[:, k], labels == k, 8, 1) for k in range(3)]
    found = metrics.ece(probs, labels, n_bins=8, of="classwise")
    assert found == pytest.approx(np.mean(of_each), abs=1e-12)
    assert found == metrics.calibration_error.classwise_ece(probs, labels, 8)
    above = top > 0.5
    expected = ece_by_loop(top[above], right[above], 8, 1)
    assert metrics.ece(probs, labels, n_bins=8, threshold=0.5) == pytest.approx(expected)


def ece_draws_by_loop(columns, unit, n_bins, weights):
    """Errors of resamples in which each unit stands as often as it is drawn, by sums over repeated rows."""
    found = []
    for times in weights:
        rows = np.repeat(np.arange(len(unit)), times[unit])
        found.append(np.mean([ece_by_loop(p[rows], y[rows], n_bins, 1) for p, y in columns]))
    return np.array(found)


@pytest.mark.parametrize("of", ["event", "classwise"])
@pytest.mark.parametrize("clustered", [False, True])
def test_its_interval_is_the_reflected_bootstrap_of_units(rng, monkeypatch, of, clustered):
    monkeypatch.setattr("calib.metrics.calibration_error.N_RESAMPLES", 20)
    probs, labels = event_rows(80, rng)
    clusters = np.arange(80) // 2 if clustered else None
    unit = np.arange(80) if clusters is None else clusters
    drawn = groups_of_units(80, clusters).counts(20).astype(int)
    columns = [(probs[:, 1], labels == 1)] + [(probs[:, 0], labels == 0)] * (of == "classwise")
    value, low, high = metrics.ece(probs, labels, n_bins=4, of=of, clusters=clusters, ci=True)
    draws = reflect(value, ece_draws_by_loop(columns, unit, 4, drawn))
    expected = interval_of_draws(value, draws, low=0.0, high=1.0)
    assert value == pytest.approx(np.mean([ece_by_loop(*c, 4, 1) for c in columns]))
    # Of one column the gap of all rows bounds both ends from below.
    assert low >= expected.low - 1e-12 and high >= expected.high - 1e-12
    if of == "classwise":
        assert (low, high) == pytest.approx(expected[1:], abs=1e-12)


def test_a_score_takes_one_pair(rng):
    probs, labels = event_rows(20, rng)
    for wrong in (
        {"probs": probs},
        {"confidence": probs[:, 0]},
        {"probs": probs, "labels": labels, "confidence": probs[:, 0], "correct": labels},
    ):
        with pytest.raises(CalibrationError, match="give one of these pairs"):
            metrics.ece(**wrong)
    with pytest.raises(CalibrationError, match=r"confidence must have shape \(n,\)"):
        metrics.ece(confidence=probs, correct=labels)
    with pytest.raises(CalibrationError, match="of='all' must be"):
        metrics.ece(probs, labels, of="all")
