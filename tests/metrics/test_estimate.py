"""Estimates against closed forms, the rows written out, and a bootstrap of rows or clusters."""

import numpy as np
import pytest

from calib.errors import CalibrationError
from calib.metrics.estimate import LOG, LOGIT, Estimate, Rows, Shares, shares_of_rows
from calib.numerics import sigmoid


def test_a_difference_is_the_paired_one(rng):
    one, other = rng.normal(size=(2, 300))
    rows = Rows.of(300)
    paired, direct = rows.mean_of(one) - rows.mean_of(other), rows.mean_of(one - other)
    assert paired.value == pytest.approx(direct.value)
    assert paired.error == pytest.approx(direct.error)


def test_frequencies_are_rows_written_out(rng):
    values, often = rng.normal(size=40), rng.integers(1, 6, 40)
    counted = Rows.with_outcome(np.ones(40, dtype=bool), often, "frequency").mean_of(values)
    written = Rows.of(int(often.sum())).mean_of(np.repeat(values, often))
    assert counted.interval() == pytest.approx(written.interval())


@pytest.mark.parametrize("clustered", [False, True])
def test_errors_are_those_of_a_bootstrap(rng, clustered):
    n, units = 1200, 60
    unit = np.arange(n) % units if clustered else np.arange(n)
    risk = sigmoid(rng.normal(-1, 1, n) + (rng.normal(0, 0.5, units)[unit] if clustered else 0.0))
    event = rng.random(n) < risk
    rows = Rows.with_outcome(event, clusters=unit if clustered else None)
    ratio = event.mean() / risk.mean()
    estimates = {
        "mean": rows.mean_of(risk),
        "ratio": rows.estimate(ratio, (event - ratio * risk) / risk.sum()),
        "gap": rows.mean_of(risk) - rows.mean_of(event),
    }
    again = []
    for _ in range(800):
        drawn = np.bincount(rng.integers(unit.max() + 1, size=unit.max() + 1), minlength=n)[unit]
        said, came = (np.average(values, weights=drawn) for values in (risk, event))
        again.append((said, came / said, said - came))
    for estimate, spread in zip(estimates.values(), np.std(again, axis=0), strict=True):
        assert estimate.error == pytest.approx(spread, rel=0.15)


def test_scales_keep_an_interval_where_it_belongs():
    area = Estimate(0.95, np.array([0.03, 0.04]))  # a standard error of 0.05
    assert area.interval().high > 1
    low, high = np.log(0.95 / 0.05) + np.array([-1, 1]) * 1.959964 * 0.05 / (0.95 * 0.05)
    assert area.interval(scale=LOGIT)[1:] == pytest.approx((sigmoid(low), sigmoid(high)))
    assert Estimate(1.0, np.array([0.3, 0.4])).interval(scale=LOG).low == pytest.approx(
        np.exp(-1.959964 * 0.5)
    )
    assert area.interval(critical=2.0) == pytest.approx((0.95, 0.85, 1.05))


def test_the_largest_of_several_deviations(rng):
    table = rng.normal(size=(500, 4))
    rows = Rows.of(500)
    each = rows.estimate(table.mean(axis=0), (table - table.mean(axis=0)) / 500)
    assert each.joint_critical() == pytest.approx(
        2.49, abs=0.06
    )  # Sidak: Phi(c) = (1 + .95 ** (1 / 4)) / 2
    same = rows.estimate(np.zeros(3), (table[:, :1] - table[:, :1].mean()).repeat(3, axis=1) / 500)
    assert same.joint_critical() == pytest.approx(1.96, abs=0.06)  # of one statistic three times


def test_shares_are_the_covariance_of_a_multinomial():
    cell = np.repeat([0, 1, 2], [50, 30, 20])
    found = shares_of_rows(cell, np.eye(3))
    p = np.array([0.5, 0.3, 0.2])
    np.testing.assert_allclose(found.covariance, (np.diag(p) - np.outer(p, p)) / 100, atol=1e-15)
    assert isinstance(found, Shares)


def test_weights_of_0_are_left_out_and_weights_need_their_meaning(rng):
    event = rng.random(6) < 0.5
    weights = np.array([1.0, 0, 2, 3, 0, 1])
    kept, rows = Rows.checked(event, weights, "sampling", np.arange(6))
    assert kept.tolist() == [True, False, True, True, False, True] and rows.n_units == 4
    for wrong in ({"kind": None}, {"kind": "sampling", "clusters": np.arange(5)}):
        with pytest.raises(CalibrationError):
            Rows.checked(event, weights, **({"clusters": None} | wrong))
