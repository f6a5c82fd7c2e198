"""Subgroups against loops over groups, and words that hold for all groups together."""

from __future__ import annotations

import numpy as np
import pytest

from calib import metrics
from calib.diagnostics.subgroups import folded, gaps_by_group, subgroups
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from tests.diagnostics.conftest import evaluation


def calibrated(n: int, generator: np.random.Generator) -> Evaluation:
    confidence = generator.beta(9, 1, n)
    return evaluation(confidence, generator.random(n) < confidence)


def test_each_group_is_scored_by_itself(rng) -> None:
    made = calibrated(900, rng)
    names = rng.choice(["north", "south", "west"], 900)
    found = subgroups(made, names)
    assert found.names == ("north", "south", "west")
    for k, name in enumerate(found.names):
        rows = names == name
        pair = made.confidence[rows], made.correct[rows]
        assert found.gaps.rows[k] == rows.sum()
        assert found.gaps.accuracy[k] == pytest.approx(pair[1].mean())
        assert found.gaps.confidence[k] == pytest.approx(pair[0].mean())
        assert found.gaps.gap[k] == pytest.approx(pair[0].mean() - pair[1].mean())
        assert found.ece[k] == pytest.approx(metrics.ece(*pair))
        assert found.ece_debiased[k] == pytest.approx(metrics.debiased_ece(*pair))
        outside = made.confidence[~rows].mean() - made.correct[~rows].mean()
        assert found.excess[k] == pytest.approx(found.gaps.gap[k] - outside)
        assert found.excess_low[k] < found.excess[k] < found.excess_high[k]


def test_intervals_are_wider_the_more_groups_there_are(rng) -> None:
    made = calibrated(1000, rng)
    first = np.where(np.arange(1000) < 100, "a", "b")
    more = np.where(np.arange(1000) < 100, "a", np.char.add("b", (np.arange(1000) % 9).astype(str)))
    few, many = subgroups(made, first).gaps, subgroups(made, more).gaps
    assert many.gap[0] == few.gap[0]
    assert many.gap_low[0] < few.gap_low[0]
    assert many.gap_high[0] > few.gap_high[0]


def test_the_excess_interval_is_that_of_two_independent_gaps(rng) -> None:
    """With two groups the rest of one is the other, so both excesses are the same but for the sign."""
    found = subgroups(calibrated(500, rng), np.where(np.arange(500) < 120, "a", "b"))
    assert found.excess[0] == pytest.approx(-found.excess[1])
    assert found.excess_low[0] == pytest.approx(-found.excess_high[1])
    gap, low, high = (getattr(found.gaps, name) for name in ("gap", "gap_low", "gap_high"))
    below = np.hypot(gap[0] - low[0], high[1] - gap[1])
    assert found.excess_low[0] == pytest.approx(found.excess[0] - below)


def test_calibrated_models_are_rarely_accused() -> None:
    """With 20 groups of 100 rows, single 95 % intervals would accuse some group in 64 % of runs."""
    generator = np.random.default_rng(3)
    accused, apart, runs = 0, 0, 60
    for _ in range(runs):
        found = subgroups(calibrated(2000, generator), generator.integers(0, 20, 2000).astype(str))
        accused += bool(len(found.overconfident) + len(found.underconfident))
        apart += bool(len(found.apart))
    assert accused <= 0.08 * runs
    assert apart <= 0.08 * runs


def test_a_group_that_is_off_is_found_and_leads(rng) -> None:
    made = calibrated(2000, rng)
    names = (np.arange(2000) % 10).astype(str)
    confidence, correct = made.confidence.copy(), made.correct.copy()
    correct[(names == "7") & (rng.random(2000) < 0.4)] = False
    found = subgroups(evaluation(confidence, correct), names)
    assert [found.names[k] for k in found.overconfident] == ["7"]
    assert [found.names[k] for k in found.apart] == ["7"]
    assert found.names[found.worst_first[0]] == "7"
    assert not len(found.underconfident)


def test_small_groups_are_not_judged(rng) -> None:
    confidence = np.full(100, 0.99)
    correct = np.arange(100) >= 9  # the nine rows of the small group are all wrong
    names = np.where(np.arange(100) < 9, "small", "large")
    found = subgroups(evaluation(confidence, correct), names)
    assert found.enough.tolist() == [True, False]
    assert found.names[1] == "small"
    assert 1 not in found.worst_first
    assert np.isnan(found.ece[1])
    judged = subgroups(evaluation(confidence, correct), names, least_rows=9)
    assert judged.overconfident[0] == 1


def test_one_group_has_no_rest(rng) -> None:
    found = subgroups(calibrated(50, rng), np.full(50, "all"))
    assert np.isnan(found.excess[0])
    assert not len(found.apart)


def test_others_are_pooled_in_the_last_row(rng) -> None:
    made = calibrated(600, rng)
    names = rng.choice(list("abcde"), 600)
    pooled = folded(made, names, np.array([3, 0]), tuple("abcde"), 0.99)
    by_hand = np.select([names == "d", names == "a"], [0, 1], 2)
    expected = gaps_by_group(*made.pair, by_hand, 3, 0.99)
    np.testing.assert_array_equal(pooled.rows, expected.rows)
    np.testing.assert_allclose(pooled.gap_low, expected.gap_low)


def test_one_group_for_each_row_is_needed(rng) -> None:
    with pytest.raises(CalibrationError, match="one group for each of 50 rows"):
        subgroups(calibrated(50, rng), np.full(49, "all"))
