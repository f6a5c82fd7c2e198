"""Isotonic calibration and histogram binning: maps made of frequencies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

import calib
from calib.calibrators.isotonic import IsotonicCalibration, Tally, interpolate
from calib.calibrators.step_maps import even_cuts, shares_below
from tests.calibrators.conftest import as_logits, binary


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_tally_counts_the_pairs_of_each_score(weighted, digits):
    log_odds, labels = binary(200, digits=digits)
    weights = np.random.default_rng(0).uniform(0.5, 2, 200) if weighted else np.ones(200)
    tally = Tally.of(log_odds, labels == 1, weights if weighted else None)
    values = np.unique(log_odds)
    np.testing.assert_array_equal(tally.scores, values)
    np.testing.assert_allclose(tally.counts, [weights[log_odds == value].sum() for value in values])
    np.testing.assert_allclose(
        tally.positives, [(weights * labels)[log_odds == value].sum() for value in values]
    )


# -- isotonic ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", [0, 2, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_has_scikit_learns_knots(digits, weighted):
    """Steps on the way, with many ties or none; those of 0 and 1 are moved off these."""
    log_odds, labels = binary(digits=digits)
    weights = np.random.default_rng(0).uniform(0.5, 3, 300) if weighted else None
    regression = IsotonicRegression(out_of_bounds="clip").fit(
        log_odds, labels, sample_weight=weights
    )
    fitted = IsotonicCalibration().fit(as_logits(log_odds), labels, weights=weights)
    np.testing.assert_array_equal(fitted.maps_[0].knots, regression.X_thresholds_)
    margin = 1 / ((weights.sum() if weighted else 300) + 2)
    expected = np.clip(regression.y_thresholds_, margin, 1 - margin)
    np.testing.assert_allclose(fitted.maps_[0].values, expected, atol=1e-12)


SORTED = st.lists(st.floats(-5, 5), min_size=1, max_size=8, unique=True).map(sorted).map(np.array)


@given(SORTED, st.data())
def test_interpolation_is_numpys_and_monotone_to_the_last_bit(knots, data):
    values = np.array(
        sorted(data.draw(st.lists(st.floats(0, 1), min_size=len(knots), max_size=len(knots))))
    )
    near = np.concatenate(
        [np.nextafter(knots, -9), knots, np.nextafter(knots, 9), np.linspace(-6, 6, 50)]
    )
    points = np.sort(near)
    result = interpolate(points, knots, values)
    np.testing.assert_array_equal(interpolate(knots, knots, values), values)
    assert (np.diff(result) >= 0).all()
    if len(knots) == 1 or np.diff(knots).min() > 1e-6:
        np.testing.assert_allclose(result, np.interp(points, knots, values), atol=1e-8)


# -- histogram -----------------------------------------------------------------------------------------


def test_cuts_give_each_part_like_shares_of_both_outcomes():
    log_odds, labels = binary(4000, digits=9)
    tally = Tally.of(log_odds, labels == 1)
    starts = np.append(0, even_cuts(shares_below(tally), 8))
    positives, counts = (np.add.reduceat(each, starts) for each in (tally.positives, tally.counts))
    shares = positives / labels.sum() + (counts - positives) / (4000 - labels.sum())
    np.testing.assert_allclose(shares, 2 / 8, atol=2 / 1000)
    np.testing.assert_array_equal(even_cuts(np.array([0.0, 0.6]), 8), [1])  # ties swallow parts


def test_runs_of_negatives_begin_behind_positives_and_are_no_longer_than_asked():
    positives = np.array([0, 0, 1, 0, 0, 0, 0, 2.0])
    tally = Tally(np.arange(8.0), np.add(positives, [1, 1, 0, 2, 1, 1, 1, 1]), positives)
    np.testing.assert_array_equal(tally.runs(100), [0, 2, 3, 7])
    merged = tally.pooled(tally.runs(4))
    np.testing.assert_array_equal(merged.counts, [2, 1, 2, 3, 3])
    np.testing.assert_array_equal(merged.positives, [0, 1, 0, 0, 2])
    np.testing.assert_allclose(merged.scores, [0.5, 2, 3, 5, 7])


@pytest.mark.parametrize("name", ["isotonic", "histogram", "venn_abers", "scaling_binning", "bbq"])
def test_no_step_falls_between_two_ways_to_compute_a_probability(name):
    # 0.3 and 0.30000000000000004 fell on two sides of a step, and a saved calibrator computes the log-odds in another
    # way: 18 of 400 rows differed by 0.05 from the one that was fitted.
    rng = np.random.default_rng(0)
    tenths = rng.multinomial(10, [0.5, 0.3, 0.2], 400).astype(float)
    probs = np.maximum(tenths / 10, 0.01)
    logits, labels = (
        np.log(probs),
        (rng.random((400, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=2),
    )
    noise = rng.choice([-1e-16, 0.0, 1e-16], logits.shape) * 4
    made = calib.calibrator(name).fit(logits * (1 + noise), labels)
    np.testing.assert_allclose(
        made.predict_proba(logits), made.predict_proba(logits * (1 - noise)), atol=1e-9
    )
