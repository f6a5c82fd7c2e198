"""E-processes: exact means under the null, naive references, published numbers, and what they find."""

from __future__ import annotations

import csv
from itertools import product

import numpy as np
import pytest
from scipy.optimize import brentq

from calib.diagnostics.sequential_tests import (
    EFFECTS,
    WEIGHTS,
    batches_of,
    conditional_ratios,
    confidence_sequence,
    default_size,
    log_mixture,
    o_e_ratios,
    sequential_tests,
    slope_of,
    slope_ratios,
    start_weights,
    weekly_lines,
)
from calib.errors import CalibrationError
from calib.numerics import sigmoid


def probability_of(outcomes: np.ndarray, chances: np.ndarray) -> float:
    return float(np.prod(np.where(outcomes, chances, 1.0 - chances)))


def all_outcomes(n: int) -> list[np.ndarray]:
    return [np.array(values, dtype=bool) for values in product((0, 1), repeat=n)]


def test_weights_are_those_of_a_mixture() -> None:
    assert WEIGHTS.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(EFFECTS, -EFFECTS[::-1])
    assert start_weights(10**6).sum() == pytest.approx(1.0, abs=1e-4)
    assert start_weights(1).tolist() == [0.5]
    assert (np.diff(start_weights(500)[1:]) < 0).all()


def test_the_o_e_ratio_is_the_likelihood_ratio_of_shifted_log_odds(rng) -> None:
    probs, came = rng.uniform(0.05, 0.9, 7), rng.random(7) < 0.5
    shifted = sigmoid(np.log(probs / (1 - probs)) + EFFECTS[:, None])
    naive = [np.log(probability_of(came, of) / probability_of(came, probs)) for of in shifted]
    np.testing.assert_allclose(o_e_ratios(probs, came, np.zeros(7, int), 1)[0], naive, atol=1e-12)


@pytest.mark.parametrize("intercept", [-2.0, 0.0, 1.5])
def test_the_mean_of_both_ratios_is_one_under_their_null(rng, intercept: float) -> None:
    """All outcomes of eight rows, each with its probability: the slope's ratio has this mean at any intercept."""
    probs = rng.uniform(0.03, 0.97, 8)
    logits = np.log(probs / (1 - probs))
    mean = np.zeros((2, len(EFFECTS)))
    for came in all_outcomes(8):
        mean[0] += probability_of(came, probs) * np.exp(o_e_ratios(probs, came, np.zeros(8, int), 1)[0])
        chance = probability_of(came, sigmoid(intercept + logits))
        mean[1] += chance * np.exp(conditional_ratios(logits[None], came[None], np.ones((1, 8), bool))[0])
    np.testing.assert_allclose(mean, 1.0, atol=1e-9)


def test_the_slope_ratio_is_that_of_outcomes_given_their_sum(rng) -> None:
    logits, came = rng.normal(-1, 1.5, 9), rng.random(9) < 0.4
    same_sum = [other for other in all_outcomes(9) if other.sum() == came.sum()]

    def given_sum(slope: float) -> float:
        weight = np.array([np.exp(slope * logits[other].sum()) for other in same_sum])
        return float(np.log(np.exp(slope * logits[came].sum()) / weight.sum()))

    naive = [given_sum(slope) - given_sum(1.0) for slope in np.exp(EFFECTS)]
    there = np.r_[np.ones(9, bool), np.zeros(3, bool)]  # rows that only fill up are no rows
    padded = np.r_[logits, 5.0, 0.0, -5.0], np.r_[came, True, False, False]
    for shift in (0.0, 4.0):  # the intercept is of no matter
        found = conditional_ratios(padded[0][None] + shift, padded[1][None], there[None])[0]
        expected = naive if not shift else [
            _by_hand(logits + shift, came, same_sum, slope) - _by_hand(logits + shift, came, same_sum, 1.0)
            for slope in np.exp(EFFECTS)
        ]  # fmt: skip
        np.testing.assert_allclose(found, expected, atol=1e-9)
    flipped = conditional_ratios(-logits[None], ~came[None], np.ones((1, 9), bool))[0]
    np.testing.assert_allclose(flipped, naive, atol=1e-9)


def _by_hand(logits, came, same_sum, slope):
    return slope * logits[came].sum() - np.log(sum(np.exp(slope * logits[other].sum()) for other in same_sum))


def test_a_batch_with_equal_outcomes_says_nothing_of_the_slope(rng) -> None:
    probs = rng.uniform(0.1, 0.9, 30)
    for came in (np.zeros(30, bool), np.ones(30, bool)):
        assert not slope_ratios(probs, came, np.arange(30) // 10, 3).any()


def test_long_batches_and_extreme_probabilities_stay_finite(rng) -> None:
    probs = np.r_[0.0, 1.0, rng.beta(0.02, 0.02, 998)]
    came = rng.random(1000) < 0.5
    found = sequential_tests(probs, came, np.zeros(1000, int), ["all"])
    assert np.isfinite(found.log_e_o_e).all()
    assert np.isfinite(found.log_e_slope).all()
    assert found.log_e_slope[0] > np.log(20)  # half of the outcomes are against what was said


def test_the_mixture_is_the_sum_over_sizes_and_starts(rng) -> None:
    ratios = rng.normal(0, 0.5, (6, len(EFFECTS)))
    starts = start_weights(6)
    naive = []
    for t in range(6):
        begun = sum(starts[s] * WEIGHTS @ np.exp(ratios[s : t + 1].sum(axis=0)) for s in range(t + 1))
        naive.append(np.log(begun + 1.0 - starts[: t + 1].sum()))
    np.testing.assert_allclose(log_mixture(ratios), naive, atol=1e-12)
    both = log_mixture(np.stack([ratios, ratios[::-1]]))
    np.testing.assert_allclose(both[0], naive, atol=1e-12)


def test_the_confidence_sequence_is_where_the_mixture_stays_below_its_limit() -> None:
    rows, observed, expected = np.array([40, 400, 4000]), np.array([0.0, 50.0, 420.0]), np.array([3.0, 40.0, 400.0])
    low, high = confidence_sequence(rows, observed, expected)
    assert low[0] == 0.0
    for n, happened, wanted, *ends in zip(rows, observed, expected, low, high, strict=True):
        assert ends[0] <= happened / wanted <= ends[1]
        for end in ends:
            if end > 0.0:
                mean = end * wanted / n
                mixture = WEIGHTS @ np.exp(EFFECTS * happened - n * np.log1p(mean * np.expm1(EFFECTS)))
                assert mixture == pytest.approx(20.0, rel=1e-3)


def test_what_it_says_of_a_model_that_is_right_and_of_others(rng) -> None:
    probs = rng.beta(1.5, 8, 6000)
    logits = np.log(probs / (1 - probs))
    batch, names = batches_of(6000, size=100)
    right = sequential_tests(probs, rng.random(6000) < probs, batch, names)
    assert right.alarms == {"O:E": None, "slope": None}
    assert right.low[-1] < 1.0 < right.high[-1]
    too_few = sequential_tests(probs, rng.random(6000) < sigmoid(logits + 0.5), batch, names)
    assert too_few.alarms["O:E"] is not None
    assert too_few.alarms["slope"] is None
    assert too_few.low[-1] > 1.0
    steep = sequential_tests(probs, rng.random(6000) < sigmoid(-0.7 + 0.6 * logits), batch, names)
    assert steep.alarms["slope"] is not None
    assert steep.slope.high < 1.0
    said = list(weekly_lines(steep))
    assert names[steep.alarms["slope"]] in said[1]
    late = rng.random(6000) < np.where(np.arange(6000) < 4000, probs, sigmoid(logits + 0.7))
    found = sequential_tests(probs, late, batch, names).alarms["O:E"]
    assert 40 <= found < 60


def test_the_order_within_a_batch_changes_no_number_of_o_e_and_little_of_the_slope(rng) -> None:
    """A file that is sorted by its outcomes within each batch must not look miscalibrated."""
    probs = rng.uniform(0.05, 0.6, 5000)
    came = rng.random(5000) < probs
    batch = np.arange(5000) // 500
    order = np.lexsort((came, batch))
    found = sequential_tests(probs[order], came[order], batch, [str(k) for k in range(10)])
    assert found.alarms == {"O:E": None, "slope": None}
    unsorted = sequential_tests(probs, came, batch, [str(k) for k in range(10)])
    np.testing.assert_allclose(found.log_e_o_e, unsorted.log_e_o_e)


def test_the_slope_is_that_of_a_logistic_regression(rng) -> None:
    """Its score equations hold: residuals sum to zero, alone and times the log-odds."""
    probs = rng.uniform(0.05, 0.9, 2000)
    logits = np.log(probs / (1 - probs))
    came = rng.random(2000) < sigmoid(0.3 + 0.8 * logits)
    slope = slope_of(probs, came)
    intercept = brentq(lambda a: np.sum(came - sigmoid(a + slope.value * logits)), -5, 5)
    residual = came - sigmoid(intercept + slope.value * logits)
    assert residual @ logits == pytest.approx(0.0, abs=1e-3)
    assert slope.low < 0.8 < slope.high
    assert np.isnan(slope_of(probs, np.ones(2000)).value)


def test_batches_of_dates_of_numbers_and_of_rows() -> None:
    batch, names = batches_of(5, np.array(["2026-03-02", "2026-01-01", "2026-03-08", "2026-03-09", "2026-01-04"]))
    assert names == ("2025-12-29", "2026-03-02", "2026-03-09")
    assert batch.tolist() == [1, 0, 1, 2, 0]
    batch, names = batches_of(4, np.array(["10", "9", "10", "2.5"]))
    assert (batch.tolist(), names) == ([2, 1, 2, 0], ("2.5", "9", "10"))
    batch, names = batches_of(3, np.array(["2026-03-02", "2026-03-03", "2026-03-02"]))
    assert names == ("2026-03-02", "2026-03-03")
    batch, names = batches_of(2500, size=1000)
    assert names == ("1 to 1,000", "1,001 to 2,000", "2,001 to 2,500")
    assert np.bincount(batch).tolist() == [1000, 1000, 500]
    assert [default_size(n) for n in (100, 2000, 4000, 90_000)] == [20, 50, 100, 2000]
    with pytest.raises(CalibrationError, match="3,000 batches"):
        batches_of(3000, np.arange(3000).astype(str))


def test_the_e_process_for_o_e_on_real_rows(reference_data) -> None:
    """Natural logarithms measured independently on credit.csv: 40 shifts in [-1, 1] with weights of N(0, .4^2)."""
    with (reference_data / "credit.csv").open() as file:
        rows = list(csv.DictReader(file))
    probs, came = (np.array([float(row[name]) for row in rows]) for name in ("pd", "default"))
    shifts = np.delete(np.linspace(-1.0, 1.0, 41), 20)
    weights = np.exp(-0.5 * (shifts / 0.4) ** 2)
    for n, log_e in ((1000, 3.594648394841406), (4000, 8.382002221168968)):
        ratios = o_e_ratios(probs[:n], came[:n], np.zeros(n, int), 1, shifts)
        assert log_mixture(ratios, weights / weights.sum(), np.ones(1))[0] == pytest.approx(log_e, abs=1e-9)
    each = o_e_ratios(probs, came, np.arange(4000), 4000, shifts)
    alone = log_mixture(each, weights / weights.sum(), np.r_[1.0, np.zeros(3999)])
    assert np.flatnonzero(alone >= np.log(20))[0] + 1 == 165
    found = sequential_tests(probs, came, *batches_of(4000, size=40))
    assert None not in found.alarms.values()
    assert found.slope.value == pytest.approx(0.6753757, abs=1e-6)
