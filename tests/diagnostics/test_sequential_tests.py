"""The e-process: exact means under the null, naive references, published numbers, and what they find."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calib.diagnostics.sequential_tests import (
    EFFECTS,
    WEIGHTS,
    batches_of,
    confidence_sequence,
    default_size,
    log_mixture,
    o_e_ratios,
    sequential_tests,
    start_weights,
)
from calib.errors import CalibrationError
from calib.numerics import sigmoid
from tests.published import risks


def probability_of(outcomes: np.ndarray, chances: np.ndarray) -> float:
    return float(np.prod(np.where(outcomes, chances, 1.0 - chances)))


def test_the_o_e_ratio_is_the_likelihood_ratio_of_shifted_log_odds(rng) -> None:
    probs, came = rng.uniform(0.05, 0.9, 7), rng.random(7) < 0.5
    shifted = sigmoid(np.log(probs / (1 - probs)) + EFFECTS[:, None])
    naive = [np.log(probability_of(came, of) / probability_of(came, probs)) for of in shifted]
    np.testing.assert_allclose(o_e_ratios(probs, came, np.zeros(7, int), 1)[0], naive, atol=1e-12)


def test_the_mean_of_the_ratio_is_one_under_its_null(rng) -> None:
    """All outcomes of eight rows, each with its probability."""
    probs, mean = rng.uniform(0.03, 0.97, 8), np.zeros(len(EFFECTS))
    for came in np.array(list(product((False, True), repeat=8))):
        mean += probability_of(came, probs) * np.exp(
            o_e_ratios(probs, came, np.zeros(8, int), 1)[0]
        )
    np.testing.assert_allclose(mean, 1.0, atol=1e-9)


def test_extreme_probabilities_stay_finite(rng) -> None:
    probs = np.r_[0.0, 1.0, rng.beta(0.02, 0.02, 998)]
    found = sequential_tests(probs, rng.random(1000) < 0.5, np.zeros(1000, int), ["all"])
    assert np.isfinite(found.log_e).all()


def test_the_mixture_is_the_sum_over_sizes_and_starts(rng) -> None:
    ratios = rng.normal(0, 0.5, (6, len(EFFECTS)))
    starts = start_weights(6)
    naive = []
    for t in range(6):
        begun = sum(
            starts[s] * WEIGHTS @ np.exp(ratios[s : t + 1].sum(axis=0)) for s in range(t + 1)
        )
        naive.append(np.log(begun + 1.0 - starts[: t + 1].sum()))
    np.testing.assert_allclose(log_mixture(ratios), naive, atol=1e-12)
    both = log_mixture(np.stack([ratios, ratios[::-1]]))
    np.testing.assert_allclose(both[0], naive, atol=1e-12)


def test_the_confidence_sequence_is_where_the_mixture_stays_below_its_limit() -> None:
    rows, observed, expected = (
        np.array([40, 400, 4000]),
        np.array([0.0, 50.0, 420.0]),
        np.array([3.0, 40.0, 400.0]),
    )
    low, high = confidence_sequence(rows, observed, expected)
    assert low[0] == 0.0
    for n, happened, wanted, *ends in zip(rows, observed, expected, low, high, strict=True):
        assert ends[0] <= happened / wanted <= ends[1]
        for end in ends:
            if end > 0.0:
                mean = end * wanted / n
                mixture = WEIGHTS @ np.exp(
                    EFFECTS * happened - n * np.log1p(mean * np.expm1(EFFECTS))
                )
                assert mixture == pytest.approx(20.0, rel=1e-3)


def test_what_it_says_of_a_model_that_is_right_and_of_others(rng) -> None:
    probs = rng.beta(1.5, 8, 6000)
    logits = np.log(probs / (1 - probs))
    batch, names = batches_of(6000, size=100)
    right = sequential_tests(probs, rng.random(6000) < probs, batch, names)
    assert right.alarm is None and right.low[-1] < 1.0 < right.high[-1]
    assert "no alarm in 60 batches" in right.sentence
    too_few = sequential_tests(probs, rng.random(6000) < sigmoid(logits + 0.5), batch, names)
    assert too_few.alarm is not None and too_few.low[-1] > 1.0
    assert names[too_few.alarm] in too_few.sentence
    late = rng.random(6000) < np.where(np.arange(6000) < 4000, probs, sigmoid(logits + 0.7))
    assert 40 <= sequential_tests(probs, late, batch, names).alarm < 60


def test_batches_of_dates_of_numbers_and_of_rows() -> None:
    batch, names = batches_of(
        5, np.array(["2026-03-02", "2026-01-01", "2026-03-08", "2026-03-09", "2026-01-04"])
    )
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


def test_the_e_process_for_o_e_on_real_rows() -> None:
    """Natural logarithms measured independently on credit.csv: 40 shifts in [-1, 1] with weights of N(0, .4^2)."""
    probs, came = risks("credit")
    shifts = np.delete(np.linspace(-1.0, 1.0, 41), 20)
    weights = np.exp(-0.5 * (shifts / 0.4) ** 2)
    for n, log_e in ((1000, 3.594648394841406), (4000, 8.382002221168968)):
        ratios = o_e_ratios(probs[:n], came[:n], np.zeros(n, int), 1, shifts)
        assert log_mixture(ratios, weights / weights.sum(), np.ones(1))[0] == pytest.approx(
            log_e, abs=1e-9
        )
    each = o_e_ratios(probs, came, np.arange(4000), 4000, shifts)
    alone = log_mixture(each, weights / weights.sum(), np.r_[1.0, np.zeros(3999)])
    assert np.flatnonzero(alone >= np.log(20))[0] + 1 == 165
    found = sequential_tests(probs, came, *batches_of(4000, size=40))
    assert found.alarm is not None
