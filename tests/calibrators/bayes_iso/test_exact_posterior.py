from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from calib.calibrators.bayes_iso.exact_posterior import Node, TreePosterior, knots_posterior, random_tree
from calib.calibrators.bayes_iso.importance_sampling import sample_posterior
from calib.calibrators.bayes_iso.value_grid import ValueGrid, value_grid
from calib.calibrators.pooled_scores import Groups, group_ties
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
