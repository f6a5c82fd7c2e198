"""Subgroups against loops over groups, and words that hold for all groups together."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.subgroups import GroupGap, folded, gap_sentence, gaps_by_group, subgroups
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.metrics.bootstrap import Interval
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


def test_intervals_are_wider_the_more_groups_there_are(rng) -> None:
    made = calibrated(1000, rng)
    first = np.where(np.arange(1000) < 100, "a", "b")
    more = np.where(np.arange(1000) < 100, "a", np.char.add("b", (np.arange(1000) % 9).astype(str)))
    few, many = subgroups(made, first).gaps, subgroups(made, more).gaps
    assert many.gap[0] == few.gap[0]
    assert many.gap_low[0] < few.gap_low[0]
    assert many.gap_high[0] > few.gap_high[0]


def test_calibrated_models_are_rarely_accused() -> None:
    """With 20 groups of 100 rows, single 95 % intervals would accuse some group in 64 % of runs."""
    generator = np.random.default_rng(3)
    accused, runs = 0, 60
    for _ in range(runs):
        found = subgroups(calibrated(2000, generator), generator.integers(0, 20, 2000).astype(str))
        accused += bool(len(found.overconfident) + len(found.underconfident))
    assert accused <= 0.08 * runs


def test_a_group_that_is_off_is_found_and_leads(rng) -> None:
    made = calibrated(2000, rng)
    names = (np.arange(2000) % 10).astype(str)
    confidence, correct = made.confidence.copy(), made.correct.copy()
    correct[(names == "7") & (rng.random(2000) < 0.4)] = False
    found = subgroups(evaluation(confidence, correct), names)
    assert [found.names[k] for k in found.overconfident] == ["7"]
    assert [group.name for group in found.off] == ["7"]
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
    judged = subgroups(evaluation(confidence, correct), names, least_rows=9)
    assert judged.overconfident[0] == 1


def test_groups_of_a_model_that_is_off_everywhere_are_named_where_they_are_more_so(rng) -> None:
    confidence = rng.uniform(0.6, 1.0, 6000)
    names = rng.choice(list("abc"), 6000)
    correct = rng.random(6000) < confidence - np.where(names == "b", 0.3, 0.1)
    found = subgroups(evaluation(confidence, correct), names)
    assert len(found.overconfident) == 3
    assert [group.name for group in found.off] == ["b"]
    (group,) = found.off
    assert (group.rows, group.gap.value) == ((names == "b").sum(), pytest.approx(group.predicted - group.observed))
    assert found.average.low < confidence.mean() - correct.mean() < found.average.high


def test_the_sentence_is_that_of_its_numbers() -> None:
    chemistry = GroupGap("chemistry", 412, 0.9, 0.8, Interval(0.1, 0.04, 0.16))
    sport = GroupGap("sport", 88, 0.5, 0.625, Interval(-0.125, -0.18, -0.07))
    fine, off = Interval(0.002, -0.01, 0.014), Interval(0.05, 0.04, 0.06)
    assert gap_sentence(fine, [chemistry, sport], 9) == (
        "Fine on average, but chemistry +10.0 points (+4.0 to +16.0), 412 rows; "
        "sport −12.5 points (−18.0 to −7.0), 88 rows."
    )
    assert gap_sentence(fine, [], 9) == "Fine on average, and no significant gap in any of 9 groups."
    assert gap_sentence(off, [], 9).startswith("+5.0 points (+4.0 to +6.0) on average, and not significantly more in")
    assert gap_sentence(off, [chemistry] * 5, 9).endswith("; and 2 more.")


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
