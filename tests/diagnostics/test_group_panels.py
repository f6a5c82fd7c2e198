"""The panel in each group: the panel of its rows alone at a stricter level, and how often no group is called off."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.subgroups import MEASURES, group_panels, recalibrated_by_group
from calib.errors import CalibrationError
from calib.metrics import risk_model
from calib.metrics.estimate import Rows
from calib.metrics.risk_measures import closed_form
from calib.numerics import sigmoid


def simulated(rng, n=3000):
    p = rng.uniform(0.05, 0.6, n)
    return p, rng.random(n) < p, np.array(["a", "b", "c", "tiny"])[np.minimum(rng.integers(160, size=n) // 53, 3)]


def test_each_group_has_the_panel_of_its_rows(rng):
    p, y, group = simulated(rng)
    units = rng.integers(90, size=len(p))
    for clusters in (None, units):
        found = group_panels(p, y, group, clusters=clusters)
        assert sorted(g.name for g in found.judged) == ["a", "b", "c"]
        for one in found.judged:
            rows = group == one.name
            part = None if clusters is None else clusters[rows]
            panel = risk_model(p[rows], y[rows], clusters=part, n_resamples=0, floor=1e-6)
            assert (one.rows, one.events) == (rows.sum(), y[rows].sum())
            strict = closed_form(p[rows], y[rows], Rows.with_outcome(y[rows], clusters=part), 1e-6, 1 - 0.05 / 3)[0]
            for key in MEASURES:
                assert one.measures[key] == pytest.approx(strict[key])
                assert one.measures[key].value == pytest.approx(panel[key].value)
                assert one.measures[key].low < panel[key].low < panel[key].high < one.measures[key].high
        whole = risk_model(p, y, clusters=clusters, n_resamples=0, floor=1e-6)
        assert found.overall["oe"] == pytest.approx((whole["oe"].value, whole["oe"].low, whole["oe"].high))


def test_small_groups_are_named_with_what_they_lack(rng):
    p, y, group = simulated(rng)
    group[:] = "a"
    group[np.flatnonzero(y)[:12]] = "few"
    group[np.flatnonzero(~y)[:300]] = "few"
    group[np.flatnonzero(y)[20:90]] = "none"
    found = group_panels(p, y, group)
    assert {g.name: g.too_few for g in found.small} == {"few": "12 events", "none": "0 non-events"}
    assert found.groups[0].name == "a" and not found.groups[0].too_few


def test_a_group_whose_risks_are_too_low_comes_first_and_is_off(rng):
    p, y, group = simulated(rng)
    found = group_panels(np.where(group == "b", 0.6 * p, p), y, group)
    assert [g.name for g in found.off("oe")] == ["b"] and found.groups[0].name == "b"
    assert found.groups[0].measures["oe"].low > 1


@pytest.mark.long
def test_no_group_of_a_calibrated_model_is_off_in_95_percent(rng):
    off = 0
    for _ in range(200):
        p, y, group = simulated(rng, 1200)
        off += bool(group_panels(p, y, group).off("oe"))
    assert off <= 0.05 * 200 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_rows_of_weight_0_are_left_out(rng):
    p, y, group = simulated(rng)
    weights = rng.integers(0, 3, len(p)).astype(float)
    kept = weights > 0
    found = group_panels(p, y, group, weights, "sampling")
    same = group_panels(p[kept], y[kept], group[kept], weights[kept], "sampling")
    assert found.groups[0].measures == same.groups[0].measures


def test_a_worker_fits_to_calibration_rows_and_judges_on_the_others(rng):
    group = rng.choice(["a", "b"], 6000)
    score = rng.normal(-1, 1, 6000)
    y = (rng.random(6000) < sigmoid(score + np.where(group == "a", 0.6, -0.6))).astype(int)
    logits = np.column_stack([np.zeros(6000), score])
    data = {"logits": logits[:3000], "labels": y[:3000], "groups": group[:3000]}
    data |= {f"test_{name}": part for name, part in
             (("logits", logits[3000:]), ("labels", y[3000:]), ("groups", group[3000:]))}  # fmt: skip
    found = recalibrated_by_group(1, data=data)
    assert found.pays and found.n == 3000 and found.made.rows.sum() == 3000


def test_groups_that_do_not_fit_are_refused():
    with pytest.raises(CalibrationError, match="one group for each"):
        group_panels([0.2, 0.4], [0, 1], ["a"])
