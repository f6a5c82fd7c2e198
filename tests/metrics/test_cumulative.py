"""The cumulative test against a loop, another package's numbers, another series and simulated calibrated models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from calib.metrics import cumulative_test
from calib.metrics.distances import brownian_beyond, brownian_range_beyond
from tests.published import known, risks


@pytest.mark.parametrize("name", ["breast", "credit"])
def test_the_largest_difference_is_that_of_another_package(name):
    theirs = known("risk_model")[name]["packages"]["probcal"]["ecce_max"]
    assert cumulative_test(*risks(name)).kolmogorov == pytest.approx(theirs, abs=1e-10)


def test_it_is_the_walk_of_a_loop_and_equal_probabilities_have_no_order():
    generator = np.random.default_rng(0)
    said, came = generator.choice([0.1, 0.4, 0.7], 90), generator.random(90) < 0.4
    walk, places = 0.0, [0.0]
    for value in (0.1, 0.4, 0.7):
        walk += float((came[said == value] - value).sum())
        places.append(walk)
    found = cumulative_test(said, came)
    assert found.kolmogorov == pytest.approx(max(map(abs, places)) / 90)
    assert found.kuiper == pytest.approx((max(places) - min(places)) / 90)
    shuffled = generator.permutation(90)
    again = cumulative_test(said[shuffled], came[shuffled])
    assert (again.kolmogorov, again.kuiper) == pytest.approx((found.kolmogorov, found.kuiper))


@pytest.mark.parametrize("distance", [0.5, 0.8, 1.2, 2.0, 3.5])
def test_the_series_agree_with_those_that_converge_at_the_other_end(distance):
    k = np.arange(1, 200)
    reflected = 2 * np.sum((-1.0) ** (k - 1) * 2 * stats.norm.sf((2 * k - 1) * distance))
    assert brownian_beyond(distance) == pytest.approx(reflected, abs=1e-10)
    of_range = 8 * np.sum((-1.0) ** (k - 1) * k * stats.norm.sf(k * distance))
    assert brownian_range_beyond(distance) == pytest.approx(of_range, abs=1e-10)


def test_calibrated_models_are_refused_as_often_as_promised_and_others_nearly_always():
    generator = np.random.default_rng(1)
    ps, off = [], 0
    for _ in range(400):
        risk = generator.beta(1, 4, 800)
        came = generator.random(800) < risk
        found = cumulative_test(risk, came)
        ps.append([found.kolmogorov_p, found.kuiper_p])
        off += cumulative_test(risk**0.7, came).kuiper_p < 0.05
    refused = (np.array(ps) < 0.05).mean(axis=0)
    assert ((refused > 0.015) & (refused < 0.085)).all()  # 5 % of 400, within three standard errors
    assert off > 390


def test_sure_probabilities_are_right_or_impossible():
    sure = np.array([0.0, 1.0])
    assert cumulative_test(sure, np.array([False, True])).kuiper_p == 1.0
    assert cumulative_test(sure, np.array([False, False])).kuiper_p == 0.0
