"""Rows that a validation needs: the published formulas, and intervals that come out as wide as was asked for."""

from __future__ import annotations

from math import ceil, log, sqrt

import numpy as np
import pytest

from calib.decisions.recalibration import recalibrate
from calib.decisions.sample_size import (
    WIDTHS,
    rows_for_auroc,
    rows_for_net_benefit,
    rows_for_o_e,
    rows_for_slope,
    rows_needed,
)
from calib.errors import CalibrationError
from calib.numerics import log_odds_of, sigmoid
from tests.published import risks


def loans(n: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    probs = sigmoid(generator.normal(-2.5, 1.2, n))
    return probs, generator.random(n) < probs


def test_the_interval_of_o_e_is_as_wide_as_was_asked_for() -> None:
    """``exp(+-1.96 SE)`` with the SE of ln O:E at so many rows."""
    for rate, width in ((0.02, 0.3), (0.3, 0.1)):
        n = rows_for_o_e(rate, width)
        error = sqrt((1 - rate) / (n * rate))
        assert np.exp(1.96 * error) - np.exp(-1.96 * error) == pytest.approx(width, rel=1e-3)
        assert rows_for_o_e(rate, 2 * width) < n


def test_the_interval_of_the_slope_is_as_wide_as_was_asked_for(rng) -> None:
    """The spread of fitted slopes over simulated data sets of that size."""
    pool, _ = loans(20_000, rng)
    n = round(rows_for_slope(pool, 0.6))
    slopes = []
    for _ in range(200):
        probs = rng.choice(pool, n)
        slopes.append(recalibrate(log_odds_of(probs), rng.random(n) < probs)[1])
    assert 2 * 1.96 * np.std(slopes) == pytest.approx(0.6, rel=0.15)


def test_the_quadratic_of_the_auroc_is_solved() -> None:
    rate, concordance, width = 0.2, 0.8, 0.08
    n = ceil(rows_for_auroc(rate, concordance, width))

    def variance(
        rows: int,
    ) -> float:  # Newcombe's method 4, as in Riley et al., with half of the rows less one
        spread = (1 - concordance) / (2 - concordance) + concordance / (1 + concordance)
        half = rows / 2 - 1
        return concordance * (1 - concordance) * (1 + half * spread) / (rows**2 * rate * (1 - rate))

    assert 2 * 1.96 * sqrt(variance(n)) <= width < 2 * 1.96 * sqrt(variance(n - 1))


def test_the_net_benefit_of_treating_all_varies_as_its_formula_says(rng) -> None:
    """With everybody above the threshold, the standardised net benefit is 1 - w' / rate: only the rate varies."""
    n, rate, threshold = round(rows_for_net_benefit(0.3, 1.0, 0.0, 0.1, 0.2)), 0.3, 0.1
    rates = rng.binomial(n, rate, 20_000) / n
    benefit = 1 - (1 - rates) / rates * threshold / (1 - threshold)
    assert 2 * 1.96 * benefit.std() == pytest.approx(0.2, rel=0.1)


def test_all_targets_from_rows_at_hand(rng) -> None:
    probs, came = loans(4000, rng)
    found = {one.target: one for one in rows_needed(probs, came, threshold=0.1)}
    assert list(found) == list(WIDTHS)
    rate = came.mean()
    assert all(abs(one.events - one.rows * rate) <= 1 for one in found.values())
    assert found["O:E"].rows == ceil(rows_for_o_e(rate, 0.2))
    assert found["slope"].rows == ceil(rows_for_slope(probs, 0.2))
    wide = {one.target: one for one in rows_needed(probs, came, 0.1, widths={"slope": 0.4})}
    assert wide["slope"].rows == pytest.approx(found["slope"].rows / 4, abs=1)
    assert wide["O:E"] == found["O:E"]
    assert "net benefit" not in {one.target for one in rows_needed(probs, came)}


def test_clusters_need_more_rows(rng) -> None:
    probs, cluster = np.repeat(0.2, 4000), np.arange(4000) // 40
    same, apart = np.repeat(rng.random(100) < 0.2, 40), rng.random(4000) < 0.2
    (plain, clustered), (loose, looser) = (
        [rows_needed(probs, came, clusters=given)[0].rows for given in (None, cluster)]
        for came in (same, apart)
    )
    assert clustered == pytest.approx(40.0 * plain, rel=0.05)
    assert looser < 1.5 * loose


def test_the_numbers_of_credit() -> None:
    """Computed independently from the paper's formulas; the package pmvalsampsize 0.2.1 gives 4483, 5625, 1306, 1475.

    It rounds the standard error of ln O:E, takes normal log-odds, and another sensitivity and specificity.
    """
    probs, came = risks("credit")
    assert [one.rows for one in rows_needed(probs, came, 0.1)] == [4494, 5618, 1306, 1479]
    assert ceil(rows_for_o_e(0.079, 0.1)) == 17930
    assert log(rows_for_o_e(0.079, 0.1) / 4483) > 0


@pytest.mark.filterwarnings("error")
def test_risks_that_do_not_determine_a_target_leave_it_out(rng) -> None:
    came = rng.random(500) < 0.3
    for probs in (
        np.zeros(500),
        came.astype(float),
        0.3 + 1e-12 * rng.random(500),
        1e-200 * rng.random(500),
        np.where(came, 1e-310, 2e-310),
    ):
        assert "slope" not in [one.target for one in rows_needed(probs, came)]
    log_odds = np.array([0.0, 1e-6])  # whose spread is small, and known
    exact = 1.0 / ((0.2 / 3.92) ** 2 * np.prod(sigmoid(np.array([0.0, 0.0]))) * log_odds.var())
    assert rows_for_slope(sigmoid(log_odds), 0.2) == pytest.approx(exact, rel=1e-6)


def test_what_cannot_be_is_refused() -> None:
    for wrong in (
        {"labels": [0, 0, 0]},
        *({"threshold": t} for t in (0, 1.0, "a", np.array([0.1, 0.2]))),
        {"widths": {"auroc": 0.1}},
        {"labels": ["no", "yes", "maybe"]},
    ):
        with pytest.raises(CalibrationError, match=r"\.$"):
            rows_needed([0.2, 0.4, 0.7], **{"labels": [0, 1, 0], **wrong})
