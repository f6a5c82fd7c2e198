"""The posterior over monotone maps by recursion, against sums over all maps, integration and plain sampling."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calib.calibrators.bayes_iso.__init__ import sample_posterior
from calib.calibrators.bayes_iso.exact_posterior import (
    knots_posterior,
    marginals,
    merge_violators,
    recursion,
)
from calib.calibrators.isotonic import Tally
from tests.calibrators.bayes_iso.naive import posterior_mean_of_two, tally_of

EDGES = np.array([0.0, 0.0, 0.3, 0.6, 1.0, 1.0])
CHANCES = np.random.default_rng(3).uniform(0.05, 1, size=(3, 5)) * np.diff(EDGES)


def below(a: int, b: int) -> float:
    """Probability that a value in cell a is below one in cell b; the outermost cells are the points 0 and 1."""
    return float(a < b) if a != b else (0.5 if 0 < a < len(EDGES) - 2 else 1.0)


def every_map() -> dict[tuple[int, ...], float]:
    """Prior times likelihood of every map, summed over the orders of picking as they are told."""

    def value(cells: tuple[int, ...], first: int, stop: int, low: int, high: int) -> float:
        if first == stop:
            return below(low, high)
        distance = sum(
            below(low, v) * width * below(v, high) for v, width in enumerate(np.diff(EDGES))
        )
        if distance == 0:
            return 0.0
        total = 0.0
        for knot in range(first, stop):
            left = value(cells, first, knot, low, cells[knot])
            total += (
                left * CHANCES[knot, cells[knot]] * value(cells, knot + 1, stop, cells[knot], high)
            )
        return total / (stop - first) / distance * below(low, high)

    return {cells: value(cells, 0, 3, 0, 4) for cells in product(range(5), repeat=3)}


def test_marginals_are_sums_over_all_maps_and_orders():
    expected = np.zeros((3, 5))
    for cells, chance in every_map().items():
        expected[np.arange(3), cells] += chance
    expected /= expected[0].sum()
    np.testing.assert_allclose(marginals(*recursion(CHANCES, EDGES)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("positives", "negatives"), [((1, 0), (0, 1)), ((2, 5), (6, 1)), ((9, 20), (30, 11))]
)
def test_two_scores_as_by_integration(positives, negatives):
    posterior = knots_posterior(tally_of(positives, negatives))
    np.testing.assert_allclose(
        posterior.mean, posterior_mean_of_two(positives, negatives), atol=0.006
    )


def test_many_scores_as_by_plain_sampling(rng):
    tally = Tally.of(np.arange(16.0), rng.random(16) < np.linspace(0.2, 0.8, 16))
    maps, weights = sample_posterior(tally, (np.zeros(16), np.ones(16)), 40_000, rng)
    assert 1 / np.sum(weights**2) > 1200
    exact = knots_posterior(tally)
    np.testing.assert_allclose(exact.mean, weights @ maps, atol=0.015)
    for share in (0.05, 0.95):
        plain = np.quantile(maps, share, axis=0, weights=weights, method="inverted_cdf")
        np.testing.assert_allclose(exact.quantile(share), plain, atol=0.04)


def test_a_million_pairs_at_a_rate_of_one_in_a_thousand_are_told_apart():
    tally = tally_of([1e3, 1.2e3], [10**6 - 1e3, 10**6 - 1.2e3])
    posterior = knots_posterior(tally)
    np.testing.assert_allclose(posterior.mean, tally.positives / tally.counts, rtol=0.002)
    width = posterior.quantile(0.95) - posterior.quantile(0.05)
    np.testing.assert_allclose(width, 2 * 1.645 * np.sqrt(tally.positives) / tally.counts, rtol=0.1)


def test_scores_in_the_wrong_order_are_one_pool():
    """Two thousand pairs that fall from 0.9 to 0.1 between two that rise: no monotone map could have made them."""
    merged = merge_violators(tally_of([5, 900, 100, 95], [95, 100, 900, 5]))
    np.testing.assert_array_equal(merged.counts, [100, 2000, 100])
    np.testing.assert_array_equal(merged.positives, [5, 1000, 95])
    np.testing.assert_array_equal(merged.scores, [0, 1.5, 3])
