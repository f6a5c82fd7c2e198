"""The half-steps of I-Max against their formulas, and the bound they raise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calib.calibrators.imax.placement import fill_empty_bins
from calib.calibrators.imax.sums import SigmoidSums
from calib.calibrators.imax.updates import centres_of, edges_between, information_bound
from tests.calibrators.imax import naive

# Ties, saturated values and values no probability can tell apart are met.
log_odds_sets = hnp.arrays(
    np.float64,
    st.integers(2, 60),
    elements=st.one_of(st.sampled_from([-1e3, -40.0, -1.0, 0.0, 1.0, 40.0, 1e3]), st.floats(-50.0, 50.0)),
)
edge_lists = st.lists(st.floats(-45.0, 45.0), min_size=1, max_size=8, unique=True).map(lambda e: np.array(sorted(e)))


def test_running_sums_are_those_of_the_pairs(rng):
    log_odds = rng.normal(size=(40, 5)) * 6
    edges = np.array([-8.0, -1.0, 0.0, 2.5, 30.0])
    sums = SigmoidSums.of(log_odds)
    one, zero = sums.between(sums.positions(edges))
    bins = naive.bins_of(log_odds, edges)
    np.testing.assert_allclose(one, [np.sum(1 / (1 + np.exp(-np.array(x)))) for x in bins], rtol=1e-12)
    np.testing.assert_allclose(zero, [np.sum(1 / (1 + np.exp(np.array(x)))) for x in bins], rtol=1e-12)


def test_weights_stand_for_repeated_pairs(rng):
    values, times = np.sort(rng.normal(size=20) * 4), rng.integers(1, 6, 20)
    once = SigmoidSums.of_weighted(values, times.astype(float))
    repeated = SigmoidSums.of(np.repeat(values, times))
    edges = np.array([-3.0, 0.1, 2.0])
    for weighted, plain in zip(
        once.between(once.positions(edges)), repeated.between(repeated.positions(edges)), strict=True
    ):
        np.testing.assert_allclose(weighted, plain, rtol=1e-12)


def test_sums_keep_their_digits_far_from_zero():
    log_odds = np.concatenate([np.full(1000, -600.0), np.zeros(1000), np.full(1000, 600.0)])
    sums = SigmoidSums.of(log_odds)
    centres = centres_of(sums, sums.positions(np.array([-300.0, 300.0])))
    np.testing.assert_allclose(centres, [-600.0, 0.0, 600.0], rtol=1e-12, atol=1e-12)


def test_half_steps_are_the_papers_formulas(rng):
    log_odds = rng.normal(size=300) * 5 - 2
    edges = np.array([-9.0, -5.0, -2.5, -0.3, 1.0, 4.0])
    sums = SigmoidSums.of(log_odds)
    cuts = sums.positions(edges)
    centres = centres_of(sums, cuts)
    np.testing.assert_allclose(centres, naive.centres(log_odds, edges), rtol=1e-10)
    np.testing.assert_allclose(edges_between(centres), naive.edges(centres), rtol=1e-9)
    shifted = centres + rng.normal(size=7) * 0.3
    bound = information_bound(*sums.between(cuts), shifted)
    assert bound == pytest.approx(naive.bound(log_odds, edges, shifted), abs=1e-12)


def test_the_bound_with_its_best_centres_is_the_models_information(rng):
    log_odds = rng.normal(size=200) * 4
    edges = np.array([-4.0, -1.0, 2.0])
    sums = SigmoidSums.of(log_odds)
    cuts = sums.positions(edges)
    bound = information_bound(*sums.between(cuts), centres_of(sums, cuts))
    assert bound == pytest.approx(naive.model_information(log_odds, edges), abs=1e-12)


@given(log_odds_sets, edge_lists, st.randoms(use_true_random=False))
def test_neither_half_step_lowers_the_bound(log_odds, edges, random):
    sums = SigmoidSums.of(log_odds)
    edges, cuts = fill_empty_bins(sums, edges, len(edges) + 1)
    some = np.array([random.uniform(-40, 40) for _ in range(len(edges) + 1)])
    before = information_bound(*sums.between(cuts), some)
    centres = centres_of(sums, cuts)
    between = information_bound(*sums.between(cuts), centres)
    assert between >= before - 1e-12 * (1 + abs(before))
    cuts = sums.positions(edges_between(centres))  # bins may be empty now: the same centres still bound
    after = information_bound(*sums.between(cuts), centres)
    assert after >= between - 1e-12


@given(st.lists(st.floats(-700.0, 700.0), min_size=2, max_size=10, unique=True))
def test_edges_lie_between_their_centres(centres):
    centres = np.array(sorted(centres))
    edges = edges_between(centres)
    assert (edges > centres[:-1]).all()
    assert (edges <= centres[1:]).all()


@given(log_odds_sets, edge_lists, st.integers(1, 12))
def test_no_bin_stays_empty_and_their_number_is_reached(log_odds, edges, n_bins):
    edges = edges[: n_bins - 1]
    sums = SigmoidSums.of(log_odds)
    filled, cuts = fill_empty_bins(sums, edges, n_bins)
    assert (np.diff(cuts) > 0).all()
    np.testing.assert_array_equal(cuts, sums.positions(filled))
    assert (np.diff(filled) > 0).all()
    assert len(filled) <= n_bins - 1
    if len(np.unique(np.round(log_odds))) >= 3 * n_bins and np.abs(log_odds).max() <= 50:
        assert len(filled) == n_bins - 1


def test_an_empty_bin_is_placed_where_it_helps_most():
    log_odds = np.concatenate([np.linspace(-20, -15, 50), [-1.0, 2.0]])
    sums = SigmoidSums.of(log_odds)
    edges, _ = fill_empty_bins(sums, np.array([-10.0, 10.0]), 3)  # nothing lies above 10
    assert edges[0] == -10.0
    assert -1.0 < edges[1] < 2.0
