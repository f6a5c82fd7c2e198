"""The posterior over monotone maps by recursion, against sums over all maps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.bayes_iso.exact_posterior import (
    Node,
    TreePosterior,
    ValueGrid,
    knots_posterior,
    random_tree,
    value_grid,
)
from calib.calibrators.bayes_iso.importance_sampling import pav_bounds, sample_posterior
from calib.calibrators.pooled_scores import (
    TOLERANCE,
    Groups,
    even_cuts,
    group_around,
    group_ties,
    merge_violators,
    pool,
    thin,
)
from tests.calibrators.bayes_iso.naive import posterior_mean_of_two

EDGES = np.array([0.0, 0.1, 0.35, 0.6, 1.0])
TREES = {
    "middle first": [Node(0, -1, -1), Node(2, -1, -1), Node(1, 0, 2)],
    "left to right": [Node(2, -1, -1), Node(1, -1, 2), Node(0, -1, 1)],
    "last, first, middle": [Node(1, -1, -1), Node(0, -1, 1), Node(2, 0, -1)],
}


def small_grid() -> ValueGrid:
    log_chances = np.log(np.random.default_rng(3).uniform(0.05, 1, size=(3, 4)))
    return ValueGrid(EDGES, log_chances, -7.0)


def joint(nodes: list[Node], grid: ValueGrid) -> dict[tuple[int, ...], float]:
    """Prior times likelihood of every map, one knot after the other: a cell by its width among those allowed."""
    root, below = nodes[-1].knot, {node.knot: node for node in nodes}
    found = {}
    for cells in product(range(4), repeat=3):
        chance = np.exp(grid.log_scale)
        stack = [(root, 0, 3)]
        while stack:
            knot, low, high = stack.pop()
            cell = cells[knot]
            if not low <= cell <= high:
                chance = 0.0
                break
            chance *= grid.widths[cell] / grid.widths[low : high + 1].sum() * np.exp(grid.log_chances[knot, cell])
            stack += [(below[knot].left, low, cell)] if below[knot].left >= 0 else []
            stack += [(below[knot].right, cell, high)] if below[knot].right >= 0 else []
        found[cells] = chance
    return found


@pytest.mark.parametrize("order", TREES)
def test_the_evidence_is_the_sum_over_all_maps(order):
    grid = small_grid()
    expected = np.log(sum(joint(TREES[order], grid).values()))
    assert TreePosterior(TREES[order], grid).log_evidence == pytest.approx(expected)


@pytest.mark.parametrize("order", TREES)
def test_maps_are_drawn_as_often_as_they_are_likely(order):
    grid, n = small_grid(), 200_000
    chances = joint(TREES[order], grid)
    drawn = TreePosterior(TREES[order], grid).draw(n, np.random.default_rng(0))
    counts = np.bincount(drawn @ [16, 4, 1], minlength=64)
    for cells, chance in chances.items():
        share = chance / sum(chances.values())
        seen = counts[np.dot(cells, [16, 4, 1])] / n
        assert abs(seen - share) < 5 * np.sqrt(share * (1 - share) / n) + 1e-12, cells


def test_an_order_of_picking_holds_every_knot_once_and_in_place(rng):
    nodes = random_tree(40, 11, rng)
    assert sorted(node.knot for node in nodes) == list(range(40))
    below = {-1: set()}
    for node in nodes:
        assert all(knot < node.knot for knot in below[node.left])
        assert all(knot > node.knot for knot in below[node.right])
        below[node.knot] = {node.knot} | below[node.left] | below[node.right]
    assert below[nodes[-1].knot] == set(range(40))
    assert nodes[-1].knot == 11


def test_what_is_left_is_picked_from_evenly(rng):
    second = [random_tree(6, 1, rng)[-1].right for _ in range(8000)]
    np.testing.assert_allclose(np.bincount(second) / 8000, [0, 0, 0.25, 0.25, 0.25, 0.25], atol=0.025)


@pytest.mark.parametrize(("positives", "negatives"), [((1, 0), (0, 1)), ((2, 5), (6, 1)), ((9, 20), (30, 11))])
def test_two_scores_as_by_integration(positives, negatives):
    groups = Groups(np.array([0.0, 1.0]), np.add(positives, negatives), np.array(positives, dtype=float))
    posterior = knots_posterior(groups, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(posterior.mean, posterior_mean_of_two(positives, negatives), atol=0.005)


@pytest.mark.parametrize("positives", [(300, 5000), (1, 9999), (40, 90)])
def test_two_scores_far_apart_keep_their_frequencies(positives):
    """What the prior says then is next to nothing: Laplace's rule, to within a tenth of the posterior's deviation."""
    groups = Groups(np.array([0.0, 1.0]), np.array([10_000, 10_000]), np.array(positives, dtype=float))
    posterior = knots_posterior(groups, 10_000, np.random.default_rng(0))
    expected = (groups.positives + 1) / (groups.counts + 2)
    deviation = np.sqrt(expected * (1 - expected) / groups.counts)
    assert (np.abs(posterior.mean - expected) < 0.15 * deviation).all()


@pytest.mark.long
def test_many_scores_as_by_plain_sampling(rng):
    labels = (rng.random(20) < np.linspace(0.2, 0.8, 20)).astype(float)
    groups = group_ties(np.arange(20.0), labels)
    plain = sample_posterior(groups, (np.zeros(20), np.ones(20)), 400_000, rng)
    assert plain.effective_maps > 5000
    # Orders of picking are few, so a single run is coarser than its maps alone would be.
    means = [knots_posterior(groups, 3200, np.random.default_rng(seed)).mean for seed in range(8)]
    error = np.std(means, axis=0) / np.sqrt(8) + 0.003
    assert (np.abs(np.mean(means, axis=0) - plain.mean) < 4 * error).all()


def test_maps_rise_and_stay_off_the_ends(rng):
    groups = group_ties(np.arange(50.0), (np.arange(50) > 20).astype(float))
    posterior = knots_posterior(groups, 2000, rng)
    assert (np.diff(posterior.maps, axis=1) >= 0).all()
    assert posterior.mean.min() > 0
    assert posterior.mean.max() < 1
    assert posterior.weights.sum() == pytest.approx(1)
    assert 1 < posterior.effective_maps <= posterior.n_maps


def test_the_grid_is_finest_where_the_labels_are(rng):
    """A million pairs at a rate of one in a thousand: the cells there are narrower than the rate's standard error."""
    groups = Groups(np.arange(2.0), np.array([10**6, 10**6]), np.array([1e3, 1.2e3]))
    grid = value_grid(groups)
    near = (grid.edges > 0.00095) & (grid.edges < 0.00125)
    assert np.diff(grid.edges[near]).max() < np.sqrt(0.001 / 10**6)
    assert grid.edges[0] == 0
    assert grid.edges[-1] == 1
    assert (grid.widths > 0).all()
    assert grid.log_chances.max(axis=1) == pytest.approx(0)


PAIRS = st.lists(st.tuples(st.sampled_from([-7.5, -1.0, 0.0, 0.5, 2.0, 1e3]), st.booleans()), min_size=1, max_size=40)


@given(PAIRS)
def test_equal_scores_are_one_group(pairs):
    scores, labels = np.array([s for s, _ in pairs]), np.array([float(y) for _, y in pairs])
    groups = group_ties(scores, labels)
    np.testing.assert_array_equal(groups.log_odds, sorted(set(scores)))
    for score, count, hits, misses in zip(
        groups.log_odds, groups.counts, groups.positives, groups.negatives, strict=True
    ):
        assert count == sum(s == score for s, _ in pairs)
        assert hits == sum(y for s, y in pairs if s == score)
        assert misses == count - hits
    assert groups.ends[-1] == len(pairs)


def test_pools_keep_counts_and_mean_scores():
    groups = Groups(np.array([0.0, 1.0, 2.0, 10.0]), np.array([1, 3, 2, 4]), np.array([0.0, 3.0, 1.0, 2.0]))
    pooled = pool(groups, np.array([2]))
    np.testing.assert_allclose(pooled.log_odds, [0.75, 22 / 3])
    np.testing.assert_array_equal(pooled.counts, [4, 6])
    np.testing.assert_array_equal(pooled.positives, [3, 3])


def test_parts_hold_like_shares_of_each_outcome(rng):
    """A rare class at the top of the ranking is not left in one part."""
    scores = rng.normal(size=100_000)
    labels = (scores > 2.5).astype(float)
    groups = group_ties(scores, labels)
    pooled = pool(groups, even_cuts(groups, 20))
    assert len(pooled) == 20
    shares = pooled.positives / labels.sum() + pooled.negatives / (1 - labels).sum()
    np.testing.assert_allclose(shares, 2 / 20, atol=0.003)
    assert (pooled.positives > 0).sum() >= 9


@given(PAIRS.filter(lambda pairs: len({y for _, y in pairs}) == 2), st.integers(1, 8))
def test_cuts_leave_no_part_empty(pairs, n_parts):
    groups = group_ties(np.array([s for s, _ in pairs]), np.array([float(y) for _, y in pairs]))
    cuts = even_cuts(groups, n_parts)
    assert len(cuts) < n_parts or n_parts >= len(groups)
    sizes = np.diff(cuts, prepend=0, append=len(groups))
    assert (sizes > 0).all()


@given(st.integers(0, 10_000), st.integers(2, 2000), st.integers(2, 128), st.sampled_from([None, 0, 1, 2]))
def test_merged_negatives_change_no_part_no_fit_and_no_bound(seed, n, n_parts, digits):
    """Rare positives and frequent ones, ties, softened targets: all that is computed from groups of single scores."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=n) * 3
    scores = scores if digits is None else np.round(scores, digits)
    positives = generator.random(n) < 1 / (1 + np.exp(generator.normal() * 3 - scores))
    positives[generator.choice(n, 2, replace=False)] = [False, True]
    targets = (0.0, 1.0) if seed % 2 else (1 / (n + 2), 1 - 1 / (n + 2))
    whole = group_ties(scores, np.where(positives, targets[1], targets[0]))
    merged = group_around(scores.copy(), positives, targets, (99, n_parts))
    for k in (99, n_parts):
        cuts, of_merged = even_cuts(whole, k), even_cuts(merged, k)
        np.testing.assert_array_equal(whole.ends[cuts - 1], merged.ends[of_merged - 1])
        for name in ("log_odds", "counts", "positives"):
            parts = (getattr(pool(groups, each), name) for groups, each in ((whole, cuts), (merged, of_merged)))
            np.testing.assert_allclose(*parts, rtol=1e-10, atol=1e-10)
        shown, of_merged = (np.append(cuts, len(g) - 1) for g, cuts in ((whole, cuts), (merged, of_merged)))
        np.testing.assert_array_equal(whole.log_odds[shown], merged.log_odds[of_merged])
        np.testing.assert_array_equal(whole.counts[shown], merged.counts[of_merged])
        for bound, other in zip(pav_bounds(whole), pav_bounds(merged), strict=True):
            np.testing.assert_allclose(bound[shown], other[of_merged], atol=1e-12)


def test_scores_in_the_wrong_order_are_one_group():
    """Two thousand pairs that fall from 0.9 to 0.1 between two that rise: no monotone map could have made them."""
    counts, positives = np.array([100, 1000, 1000, 100]), np.array([5.0, 900.0, 100.0, 95.0])
    merged = merge_violators(Groups(np.arange(4.0), counts, positives))
    np.testing.assert_array_equal(merged.counts, [100, 2000, 100])
    np.testing.assert_array_equal(merged.positives, [5, 1000, 95])
    np.testing.assert_array_equal(merged.log_odds, [0, 1.5, 3])


def test_what_chance_can_do_is_left_alone():
    groups = Groups(np.arange(4.0), np.array([100, 100, 100, 100]), np.array([0.0, 55.0, 45.0, 100.0]))
    np.testing.assert_array_equal(merge_violators(groups).counts, groups.counts)


@given(st.lists(st.floats(1e-9, 1 - 1e-9), min_size=1, max_size=60))
def test_what_is_left_says_nearly_the_same(values):
    values = np.sort(np.array(values))
    knots = np.cumsum(np.random.default_rng(0).random(len(values)) + 0.01)
    kept = thin(knots, values)
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    off = np.interp(knots, knots[kept], values[kept]) - values
    assert (off**2 <= TOLERANCE * values * (1 - values) * (1 + 1e-9)).all()


def test_a_line_needs_its_ends_and_a_bend_one_more():
    knots = np.linspace(0, 1, 1001)
    np.testing.assert_array_equal(thin(knots, 0.2 + 0.5 * knots), [0, 1000])
    np.testing.assert_array_equal(thin(knots, 0.2 + 0.5 * np.maximum(knots, 0.4)), [0, 400, 1000])


def test_a_smooth_map_of_many_knots_keeps_few():
    knots = np.linspace(-8, 8, 100_000)
    assert len(thin(knots, 1 / (1 + np.exp(-knots)))) < 200
