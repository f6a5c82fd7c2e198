"""Venn-Abers against isotonic regression refitted for each row, and what its pair promises."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from calib.calibrators import venn_abers
from calib.calibrators.temperature import TemperatureScaling
from calib.calibrators.venn_abers import VennAbers
from calib.errors import CalibrationError
from tests.calibrators.conftest import as_logits, binary, learned
from tests.conftest import simulate


def refitted(scores: np.ndarray, labels: np.ndarray, score: float, label: int) -> float:
    """The isotonic value of one more row."""
    fit = IsotonicRegression().fit(np.append(scores, score), np.append(labels, label))
    return float(fit.predict([score])[0])


@pytest.mark.parametrize(("n", "digits", "seed"), [(40, 0, 0), (40, 1, 1), (15, 9, 2)])
def test_the_pair_is_that_of_two_refitted_isotonic_regressions(n, digits, seed):
    log_odds, labels = binary(n, seed, digits=digits)
    fitted = VennAbers().fit(as_logits(log_odds), labels)
    test = np.concatenate(
        [log_odds, [-99.0, 0.05, 0.5, 99.0]]
    )  # at calibration scores, between and beyond them
    pair = fitted.predict_pair(as_logits(test))
    expected = [[refitted(log_odds, labels, score, label) for score in test] for label in (0, 1)]
    np.testing.assert_allclose(pair, expected, atol=1e-12)
    p0, p1 = np.array(expected)
    np.testing.assert_allclose(
        fitted.predict_proba(as_logits(test))[:, 1], p1 / (1 - p0 + p1), atol=1e-12
    )


@pytest.mark.parametrize("unit", [1, 1e12])
def test_rounding_does_not_part_a_score_from_the_calibration_score_that_it_equals(unit):
    log_odds, labels = binary(60, digits=1)
    log_odds *= unit
    fitted = VennAbers().fit(as_logits(log_odds), labels)
    expected = fitted.predict_pair(as_logits(log_odds))
    for moved in (log_odds * (1 + 1e-13), log_odds * (1 - 1e-13), log_odds.astype(np.float32)):
        np.testing.assert_array_equal(fitted.predict_pair(as_logits(moved)), expected)


def test_classes_share_one_map_after_temperature_and_keep_their_predictions():
    logits, labels = simulate(150, 4)
    fitted = VennAbers(normalize=False).fit(logits, labels)
    temperature = TemperatureScaling().fit(logits, labels)
    assert fitted.temperature_ == pytest.approx(temperature.temperature_)
    scaled = temperature.predict_proba(logits)
    row = np.random.default_rng(1).integers(0, 150, 5)
    pooled, truth = scaled.ravel(), np.eye(4)[labels].ravel()
    for n in row:
        p0, p1 = (
            [refitted(pooled, truth, score, label) for score in scaled[n]] for label in (0, 1)
        )
        merged = np.array(p1) / (1 - np.array(p0) + np.array(p1))
        np.testing.assert_allclose(fitted.predict_proba(logits[[n]])[0], merged, atol=1e-9)
    test, _ = simulate(500, 4, seed=3)
    np.testing.assert_array_equal(fitted.predict(test), test.argmax(axis=1))
    with pytest.raises(CalibrationError, match="two classes"):
        fitted.predict_pair(test)


def test_neighbouring_scores_are_merged_above_a_bound(monkeypatch):
    log_odds, labels = binary(4000, digits=9)
    test = np.linspace(-9, 9, 999)
    exact = learned(VennAbers(), log_odds, labels, test)
    monkeypatch.setattr(venn_abers, "MOST_SCORES", 500)
    fitted = VennAbers()
    merged = learned(fitted, log_odds, labels, test)
    assert len(fitted.maps_[0].high) <= 501
    divergence = exact * np.log(exact / merged) + (1 - exact) * np.log((1 - exact) / (1 - merged))
    assert 0 < divergence.mean() < 0.001


def test_rows_of_one_class_have_no_pair():
    fitted = VennAbers().fit(as_logits(np.arange(5.0)), np.zeros(5, dtype=int))
    with pytest.raises(CalibrationError, match="rows of both"):
        fitted.predict_pair(as_logits(np.arange(2.0)))
