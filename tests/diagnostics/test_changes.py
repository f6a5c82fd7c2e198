from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.changes import changes, departure
from calib.diagnostics.effect_summary import effect_curve
from tests.diagnostics.test_latent_effect import straight


def test_each_group_has_its_mean_change_and_its_spread():
    effect = straight(np.concatenate([np.full(10, 0.95), np.full(30, 0.7), np.full(10, 0.2)]), slope=0.9)
    found = changes(effect)
    assert [(group.low, group.high, group.count) for group in found] == [(0.9, 1.0, 10), (0.5, 0.9, 30), (0, 0.5, 10)]
    for group, level in zip(found, (0.95, 0.7, 0.2), strict=True):
        assert group.change == pytest.approx(-0.1 * level)
        assert group.sd == pytest.approx((effect.draws.std(axis=1) / effect.before)[0] * level)


def test_few_rows_are_not_spoken_of():
    effect = straight(np.concatenate([np.full(4, 0.95), np.full(5, 0.7)]))
    assert [group.count for group in changes(effect)] == [5]


def test_a_rounded_one_is_above_nine_tenths():
    assert changes(straight(np.full(9, 1.0 + 1e-15)))[0].count == 9


@pytest.mark.parametrize(("slope", "certain"), [(0.5, True), (0.95, False)])
def test_a_change_within_two_standard_deviations_is_not_certain(slope, certain):
    assert changes(straight(np.full(9, 0.8), slope=slope))[0].certain is certain


def test_departure_counts_the_rows_outside_the_band():
    curve = effect_curve(straight(np.repeat([0.3, 0.6, 0.9], [10, 20, 70])))
    other = curve.after.copy()
    assert departure(curve, other).share == 0.0
    other[1] = 0.9
    found = departure(curve, other)
    assert found.share == pytest.approx(0.2)
    assert (found.before, found.difference) == pytest.approx((0.6, 0.6))
