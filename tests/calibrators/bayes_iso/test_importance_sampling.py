from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calib.calibrators.bayes_iso.importance_sampling import Posterior, log_likelihood, sample_posterior
from calib.calibrators.pooled_scores import Groups, group_ties
from tests.calibrators.bayes_iso.naive import posterior_mean_of_two


def groups_of(positives: list[float], negatives: list[float]) -> Groups:
    counts = np.add(positives, negatives)
    return Groups(np.arange(len(counts), dtype=float), counts, np.array(positives, dtype=float))


def unbounded(groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(len(groups)), np.ones(len(groups))


def test_likelihood_is_a_product_of_binomials(rng):
    groups = groups_of([0, 3, 1, 5], [2, 0, 4, 1])
    maps = np.sort(rng.random((20, 4)), axis=1)
    orders = binom.logpmf(groups.positives, groups.counts, 0.5) - groups.counts * np.log(0.5)  # of the labels in a tie
    expected = binom.logpmf(groups.positives, groups.counts, maps) - orders
    np.testing.assert_allclose(log_likelihood(maps, groups), expected.sum(axis=1))


def test_a_value_rounded_to_0_or_1_is_unlikely_and_no_error():
    groups = groups_of([1, 0, 1, 1], [0, 1, 1, 0])
    scores = log_likelihood(np.array([[0.0, 0.5, 0.5, 1.0], [0.3, 0.5, 1.0, 1.0], [0.3, 0.5, 0.6, 0.7]]), groups)
    assert np.isfinite(scores).all()
    assert scores[:2].max() < -600 < scores[2]


@pytest.mark.parametrize(("positives", "negatives"), [(0, 3), (2, 2), (40, 10)])
def test_one_score_gives_laplaces_rule(positives, negatives):
    groups = groups_of([positives], [negatives])
    posterior = sample_posterior(groups, unbounded(groups), 100_000, np.random.default_rng(0))
    expected = (positives + 1) / (positives + negatives + 2)
    assert posterior.mean[0] == pytest.approx(expected, abs=0.005)
    assert posterior.band(np.array([0]))[0][0] < expected < posterior.band(np.array([0]))[1][0]


@pytest.mark.parametrize(("positives", "negatives"), [((1, 0), (0, 1)), ((2, 5), (6, 1))])
def test_two_scores_as_by_integration(positives, negatives):
    groups = groups_of(list(positives), list(negatives))
    posterior = sample_posterior(groups, unbounded(groups), 200_000, np.random.default_rng(0))
    np.testing.assert_allclose(posterior.mean, posterior_mean_of_two(positives, negatives), atol=0.005)


def test_thousands_of_ranks_do_not_underflow(rng):
    groups = group_ties(np.arange(3000.0), (rng.random(3000) < np.linspace(0, 1, 3000)).astype(float))
    posterior = sample_posterior(groups, unbounded(groups), 300, rng)
    assert posterior.weights.sum() == pytest.approx(1)
    assert np.isfinite(posterior.mean).all()
    assert 1 <= posterior.effective_maps < 50
    assert posterior.n_maps == 300


def test_what_is_said_of_the_weights():
    maps = np.arange(8.0).reshape(4, 2)
    even = Posterior(maps, np.full(4, 0.25), 4)
    assert even.effective_maps == pytest.approx(4)
    assert not even.dominated
    assert not Posterior(maps[:2], np.array([0.5, 0.5]), 2).dominated
    uneven = Posterior(maps, np.array([0.6, 0.2, 0.1, 0.1]), 100)
    assert uneven.effective_maps == pytest.approx(1 / 0.42)
    assert uneven.dominated  # the sum of the weights is less than twice the largest


def test_the_band_is_of_weighted_shares(rng):
    maps, weights = rng.random((500, 3)), rng.random(500) ** 4
    weights /= weights.sum()
    low, high = Posterior(maps, weights, 500).band(np.array([0, 2]))
    for column, (least, most) in zip([0, 2], zip(low, high, strict=True), strict=True):
        for share, value in [(0.05, least), (0.95, most)]:
            assert weights[maps[:, column] <= value].sum() >= share - 1e-12
            assert weights[maps[:, column] < value].sum() < share


def test_maps_are_drawn_by_weight(rng):
    posterior = Posterior(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([0.2, 0.8]), 2)
    drawn = posterior.draw(20_000, np.array([1]), rng)
    assert set(drawn[:, 0]) == {0.2, 0.4}
    assert (drawn[:, 0] == 0.4).mean() == pytest.approx(0.8, abs=0.02)
