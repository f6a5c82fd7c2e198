"""Recalibration by group: lme4's numbers, shrinkage, and rows that neither map has seen."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from calib.decisions.recalibration import judge_groups, recalibrate_groups
from calib.errors import CalibrationError
from calib.metrics import nll
from tests.published import known, risks, table


def simulated(n: int, spread: float, seed: int = 0, n_groups: int = 20, slope: float = 0.7):
    """Raw probabilities, outcomes, groups of unequal size and the true departures."""
    rng = np.random.default_rng(seed)
    departures = rng.normal(0.0, spread, n_groups)
    share = np.arange(1, n_groups + 1) / np.arange(1, n_groups + 1).sum()
    group = rng.choice(n_groups, size=n, p=share)
    score = rng.normal(-1.0, 1.2, n)
    event = rng.random(n) < expit(-0.3 + slope * score + departures[group])
    return expit(score), event, np.array([f"g{k:02d}" for k in range(n_groups)])[group], departures


def test_departures_are_found_and_shrunk_the_more_the_fewer_rows():
    probs, event, group, true = simulated(20_000, 0.6)
    found = recalibrate_groups(probs, event, group)
    assert found.spread == pytest.approx(
        true.std(), rel=0.25
    ) and found.group_slope == pytest.approx(0.7, abs=0.05)
    assert np.corrcoef(found.offsets, true)[0, 1] > 0.95
    assert found.rows.sum() == 20_000 and found.events.sum() == event.sum()
    expected = expit(found.centre + found.group_slope * np.log(probs / (1 - probs))[:3])
    np.testing.assert_allclose(found.by_group(probs[:3], ["new"] * 3), expected)
    few = recalibrate_groups(*(part[:400] for part in (probs, event, group)))
    own = []  # the departure of each group by itself, without shrinkage
    for name in few.names:
        rows = group[:400] == name
        line = few.centre + few.group_slope * np.log(probs[:400][rows] / (1 - probs[:400][rows]))
        at = np.linspace(-8, 8, 4001)
        z = line[:, None] + at
        own.append(at[np.argmax((event[:400][rows][:, None] * z - np.logaddexp(0, z)).sum(axis=0))])
    ratio = np.abs(few.offsets) / np.maximum(np.abs(own), 1e-9)
    assert np.all(ratio < 1.0)
    order = np.argsort(few.rows)
    assert ratio[order[:5]].mean() < ratio[order[-5:]].mean()


def test_groups_that_do_not_depart_have_the_shared_map():
    probs, event, group, _ = simulated(3000, 0.0, seed=3)
    found = recalibrate_groups(probs, event, group)
    assert found.spread < 0.15
    if not found.spread:
        np.testing.assert_array_equal(found.by_group(probs, group), found.shared(probs))
    one = recalibrate_groups(probs, event, np.zeros(len(probs)))
    np.testing.assert_allclose(
        one.by_group(probs, np.zeros(len(probs))), one.shared(probs), atol=0.02
    )
    with pytest.raises(CalibrationError, match="one group for each"):
        recalibrate_groups([0.2, 0.4], [0, 1], ["a"])
    with pytest.raises(CalibrationError, match="one group for each"):
        one.by_group([0.2, 0.4], ["a"])
    with pytest.raises(CalibrationError, match="All probabilities are equal"):
        recalibrate_groups([0.3, 0.3], [0, 1], ["a", "b"])
    with pytest.raises(CalibrationError, match="leave 0 to 1"):
        one.shared([2.0])


def test_groups_pay_on_other_rows_where_they_depart_and_not_elsewhere():
    for spread, pays in ((0.9, True), (0.0, None)):
        probs, event, group, _ = simulated(6000, spread, seed=1)
        made = recalibrate_groups(probs[:3000], event[:3000], group[:3000])
        gain = judge_groups(made, probs[3000:], event[3000:], group[3000:])
        assert gain.pays is pays and gain.n == 3000
        y, shared, own = (
            event[3000:],
            made.shared(probs[3000:]),
            made.by_group(probs[3000:], group[3000:]),
        )
        losses = [-np.where(y, np.log(p), np.log1p(-p)) for p in (own, shared)]
        difference = losses[0] - losses[1]
        half = 1.959964 * difference.std(ddof=1) / np.sqrt(3000)
        assert gain.log_loss == pytest.approx(
            (difference.mean(), difference.mean() - half, difference.mean() + half)
        )


def test_the_log_loss_is_the_nll_also_where_risks_are_written_with_one_decimal(rng):
    # Recalibrated risks were moved away from 0 and 1 by half the step in which the raw ones are written.
    probs = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], 2000)
    event = rng.random(2000) < np.clip(3 * (probs - 0.5) + 0.5, 0.002, 0.998)
    made = recalibrate_groups(probs, event, rng.integers(3, size=2000))
    gain = judge_groups(made, probs, event, rng.integers(3, size=2000))
    assert made.shared(probs).min() < made.floor  # where it was clipped
    assert gain.shared_loss == pytest.approx(nll(made.shared(probs), event), rel=1e-12)


def test_intercepts_of_branches_are_those_of_lme4():
    mixed = known("risk_model")["credit"]["cluster"]["mixed"]["recalibration"]
    found = recalibrate_groups(*risks("credit"), table("credit")["branch"])
    assert (found.centre, found.group_slope) == pytest.approx(mixed["intercept_slope"], abs=0.02)
    assert found.spread == pytest.approx(mixed["sd_branch"], rel=0.1)
