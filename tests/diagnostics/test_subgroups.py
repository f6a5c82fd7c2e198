"""Subgroups against loops over groups, and words that hold for all groups together."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.gaps import GroupGap, gap_sentence, subgroups
from calib.diagnostics.group_panels import MEASURES, group_panels
from calib.errors import CalibrationError
from calib.evaluation import Evaluation
from calib.metrics.bootstrap import Interval
from calib.metrics.estimate import Rows
from calib.metrics.risk_measures import closed_form
from tests.diagnostics.conftest import evaluation


def calibrated(n: int, generator: np.random.Generator) -> Evaluation:
    confidence = generator.beta(9, 1, n)
    return evaluation(confidence, generator.random(n) < confidence)


def test_calibrated_models_are_rarely_accused() -> None:
    """With 20 groups of 100 rows, single 95 % intervals would accuse some group in 64 % of runs."""
    generator = np.random.default_rng(3)
    accused, runs = 0, 60
    for _ in range(runs):
        found = subgroups(calibrated(2000, generator), generator.integers(0, 20, 2000).astype(str))
        accused += bool((found.enough & (found.gaps.sure_gap > 0)).any())
    assert accused <= 0.08 * runs


def test_small_groups_are_not_judged(rng) -> None:
    confidence = np.full(100, 0.99)
    correct = np.arange(100) >= 9  # the nine rows of the small group are all wrong
    names = np.where(np.arange(100) < 9, "small", "large")
    found = subgroups(evaluation(confidence, correct), names)
    assert found.enough.tolist() == [True, False]
    assert found.names[1] == "small"
    assert 1 not in found.worst_first
    last = found.in_order()[-1]
    assert (last.name, last.rows, last.observed) == ("small", 9, 0.0) and np.isnan(last.gap.low)
    judged = subgroups(evaluation(confidence, correct), names, least_rows=9)
    assert [group.name for group in judged.in_order()] == ["small", "large"]
    assert [group.name for group in judged.in_order(found)] == ["large", "small"]
    assert judged.worst_first[0] == 1 and judged.gaps.gap_low[1] > 0


def test_groups_of_a_model_that_is_off_everywhere_are_named_where_they_are_more_so(rng) -> None:
    confidence = rng.uniform(0.6, 1.0, 6000)
    names = rng.choice(list("abc"), 6000)
    correct = rng.random(6000) < confidence - np.where(names == "b", 0.3, 0.1)
    found = subgroups(evaluation(confidence, correct), names)
    assert (found.gaps.gap_low > 0).sum() == 3
    assert [group.name for group in found.off] == ["b"]
    (group,) = found.off
    assert (group.rows, group.gap.value) == (
        (names == "b").sum(),
        pytest.approx(group.predicted - group.observed),
    )
    assert found.average.low < confidence.mean() - correct.mean() < found.average.high


def test_the_sentence_is_that_of_its_numbers() -> None:
    chemistry = GroupGap("chemistry", 412, 0.9, 0.8, Interval(0.1, 0.04, 0.16))
    sport = GroupGap("sport", 88, 0.5, 0.625, Interval(-0.125, -0.18, -0.07))
    fine, off = Interval(0.002, -0.01, 0.014), Interval(0.05, 0.04, 0.06)
    assert gap_sentence(fine, [chemistry, sport], 9) == (
        "Fine on average, but chemistry +10.0 points (+4.0 to +16.0), 412 rows; "
        "sport −12.5 points (−18.0 to −7.0), 88 rows."
    )
    assert (
        gap_sentence(fine, [], 9) == "Fine on average, and no significant gap in any of 9 groups."
    )
    assert gap_sentence(off, [], 9).startswith(
        "+5.0 points (+4.0 to +6.0) on average, and not significantly more in"
    )
    assert gap_sentence(off, [chemistry] * 5, 9).endswith("; and 2 more.")
    few = gap_sentence(Interval(-0.2, -0.9, 0.5), [], 0)
    assert few == "−20.0 points (−90.0 to +50.0) on average; no group has enough rows to be judged."


def test_one_group_for_each_row_is_needed() -> None:
    with pytest.raises(CalibrationError, match="one group for each"):
        group_panels([0.2, 0.4], [0, 1], ["a"])


def simulated(rng, n=3000):
    p = rng.uniform(0.05, 0.6, n)
    return (
        p,
        rng.random(n) < p,
        np.array(["a", "b", "c", "tiny"])[np.minimum(rng.integers(160, size=n) // 53, 3)],
    )


def test_each_group_has_the_panel_of_its_rows(rng):
    p, y, group = simulated(rng)
    units = rng.integers(90, size=len(p))
    for clusters in (None, units):
        found = group_panels(p, y, group, clusters=clusters)
        assert sorted(g.name for g in found if g.measures) == ["a", "b", "c"]
        for one in (g for g in found if g.measures):
            rows = group == one.name
            part = None if clusters is None else clusters[rows]
            assert (one.rows, one.events) == (rows.sum(), y[rows].sum())
            sample = Rows.with_outcome(y[rows], clusters=part)
            single, strict = (
                closed_form(p[rows], y[rows], sample, 1e-6, level)[0]
                for level in (0.95, 1 - 0.05 / 3)
            )
            for key in MEASURES:
                assert one.measures[key] == pytest.approx(strict[key])
                assert one.measures[key].value == pytest.approx(single[key].value)
                assert (
                    one.measures[key].low
                    < single[key].low
                    < single[key].high
                    < one.measures[key].high
                )


def test_small_groups_are_named_with_what_they_lack(rng):
    p, y, group = simulated(rng)
    group[:] = "a"
    group[np.flatnonzero(y)[:12]] = "few"
    group[np.flatnonzero(~y)[:300]] = "few"
    group[np.flatnonzero(y)[20:90]] = "none"
    found = group_panels(p, y, group)
    assert {g.name: g.too_few for g in found[1:]} == {"few": "12 events", "none": "0 non-events"}
    assert found[0].name == "a" and not found[0].too_few


def test_a_group_whose_risks_are_too_low_comes_first_and_is_off(rng):
    p, y, group = simulated(rng)
    found = group_panels(np.where(group == "b", 0.6 * p, p), y, group)
    assert [g.name for g in found if g.off("oe")] == ["b"] and found[0].name == "b"
    assert found[0].measures["oe"].low > 1


def test_rows_of_weight_0_are_left_out(rng):
    p, y, group = simulated(rng)
    weights = rng.integers(0, 3, len(p)).astype(float)
    kept = weights > 0
    found = group_panels(p, y, group, weights, "sampling")
    same = group_panels(p[kept], y[kept], group[kept], weights[kept], "sampling")
    assert found[0].measures == same[0].measures
