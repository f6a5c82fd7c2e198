"""The iterations of I-Max: their starts, each half-step against its formula, and the bound that they raise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.distance import jensenshannon
from scipy.special import expit

from calib.calibrators.imax.placement import (
    SigmoidSums,
    best_edges,
    centres_of,
    divergence,
    edges_between,
    equal_mass_edges,
    information_bound,
    iterate,
    kmeans_edges,
    scheme_edges,
    without_empty_bins,
)
from tests.calibrators.imax import naive


def some_log_odds(n: int = 3000, seed: int = 0) -> np.ndarray:
    """Many far below zero and few above, as of one class against the rest."""
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(-9, 4, n), generator.normal(4, 4, n // 20)])


@given(
    st.integers(0, 30), st.integers(2, 20), st.sampled_from(["imax", "equal_mass", "equal_width"])
)
def test_the_bound_never_falls_and_the_end_is_a_fixed_point(seed, n_bins, start):
    generator = np.random.default_rng(seed)
    sums = SigmoidSums.from_log_odds(
        generator.standard_t(2, size=400) * generator.uniform(0.5, 8) + generator.normal()
    )
    edges = (
        kmeans_edges(sums, n_bins, generator)
        if start == "imax"
        else scheme_edges(sums, start, n_bins)
    )
    end, bound = iterate(sums, edges, max_steps=100_000)
    bounds = [-np.inf]
    while bounds[-1] < bound - 1e-13:
        edges, reached = iterate(sums, edges, max_steps=1)
        assert reached >= bounds[-1] - 1e-13
        bounds.append(reached)
    np.testing.assert_allclose(
        edges_between(centres_of(sums, sums.positions(end))), end, rtol=0, atol=1e-12
    )
    assert len(end) == n_bins - 1 or start == "equal_width"  # whose empty bins go
    assert (np.diff(sums.positions(end)) > 0).all()


def test_two_bins_are_split_where_no_other_split_is_better():
    log_odds = some_log_odds(200)
    best = naive.model_information(log_odds, best_edges(SigmoidSums.from_log_odds(log_odds), 2))
    every = [
        naive.model_information(log_odds, np.array([edge])) for edge in np.unique(log_odds)[1:]
    ]
    assert best == pytest.approx(max(every), rel=1e-9)


def test_fewer_distinct_log_odds_than_bins_have_a_bin_each():
    for values in ([1.0, 1.0, 1.0], [-3.0, 2.0, 2.0], [-1.0, 0.0, 1.0]):
        sums = SigmoidSums.from_log_odds(np.array(values))
        for scheme in ("imax", "equal_mass"):
            edges = scheme_edges(sums, scheme, 10)
            held = np.diff(sums.positions(edges))
            assert (held > 0).all()
        assert len(scheme_edges(sums, "imax", 10)) == len(set(values)) - 1


def test_equal_mass_bins_hold_equally_many():
    values = np.sort(some_log_odds(1000))
    sums = SigmoidSums.from_log_odds(values)
    counts = np.diff(
        np.searchsorted(values, equal_mass_edges(sums, 15)), prepend=0, append=len(values)
    )
    assert set(counts) <= {len(values) // 15, -(-len(values) // 15)}
    np.testing.assert_array_equal(counts, sums.counts(sums.positions(equal_mass_edges(sums, 15))))
    tied, times = np.array([-4.0, 0.0, 3.0]), np.array([80, 15, 5])
    for sums in (
        SigmoidSums.from_log_odds(np.repeat(tied, times)),
        SigmoidSums.from_weighted(tied, times),
    ):
        np.testing.assert_allclose(equal_mass_edges(sums, 4), [0.0], atol=1e-6)


def test_divergence_is_jensen_and_shannons():
    first, second = np.array([-8.0, -1.0, 0.0, 2.0]), np.array([-2.0, -1.0, 3.0, 9.0])
    for a, b, found in zip(first, second, divergence(first, second), strict=True):
        expected = jensenshannon([expit(a), expit(-a)], [expit(b), expit(-b)]) ** 2
        assert found == pytest.approx(expected, abs=1e-14)
    np.testing.assert_array_equal(divergence(first, second), divergence(second, first))


@pytest.mark.parametrize("seed", range(3))
def test_kmeans_starts_find_separated_clusters(seed):
    clusters = np.concatenate(
        [np.random.default_rng(0).normal(c, 0.1, 400) for c in (-4.0, -1.5, 0.0, 1.5, 4.0)]
    )
    edges = kmeans_edges(SigmoidSums.from_log_odds(clusters), 5, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.searchsorted(edges, [-4.0, -1.5, 0.0, 1.5, 4.0]), range(5))


def test_a_scaled_model_bins_the_scaled_log_odds():
    log_odds = some_log_odds()
    sums = SigmoidSums.from_log_odds(log_odds)
    scaled = scheme_edges(sums, "imax", 8, sigmoid=(0.5, -1.0))
    plain = scheme_edges(SigmoidSums.from_log_odds(0.5 * log_odds - 1.0), "imax", 8)
    np.testing.assert_allclose(0.5 * scaled - 1.0, plain, rtol=1e-12)


# Ties, saturated values and values no probability can tell apart are met.
log_odds_sets = hnp.arrays(
    np.float64,
    st.integers(2, 60),
    elements=st.one_of(
        st.sampled_from([-1e3, -40.0, -1.0, 0.0, 1.0, 40.0, 1e3]), st.floats(-50.0, 50.0)
    ),
)
edge_lists = st.lists(st.floats(-45.0, 45.0), min_size=1, max_size=8, unique=True).map(
    lambda e: np.array(sorted(e))
)


def test_running_sums_are_those_of_the_pairs(rng):
    log_odds = rng.normal(size=(40, 5)) * 6
    edges = np.array([-8.0, -1.0, 0.0, 2.5, 30.0])
    sums = SigmoidSums.from_log_odds(log_odds)
    one, zero = sums.between(sums.positions(edges))
    bins = naive.bins_of(log_odds, edges)
    np.testing.assert_allclose(
        one, [np.sum(1 / (1 + np.exp(-np.array(x)))) for x in bins], rtol=1e-12
    )
    np.testing.assert_allclose(
        zero, [np.sum(1 / (1 + np.exp(np.array(x)))) for x in bins], rtol=1e-12
    )


def test_weights_stand_for_repeated_pairs(rng):
    values, times = np.sort(rng.normal(size=20) * 4), rng.integers(1, 6, 20)
    once = SigmoidSums.from_weighted(values, times.astype(float))
    repeated = SigmoidSums.from_log_odds(np.repeat(values, times))
    edges = np.array([-3.0, 0.1, 2.0])
    for weighted, plain in zip(
        once.between(once.positions(edges)),
        repeated.between(repeated.positions(edges)),
        strict=True,
    ):
        np.testing.assert_allclose(weighted, plain, rtol=1e-12)


def test_sums_keep_their_digits_far_from_zero():
    log_odds = np.concatenate([np.full(1000, -600.0), np.zeros(1000), np.full(1000, 600.0)])
    sums = SigmoidSums.from_log_odds(log_odds)
    centres = centres_of(sums, sums.positions(np.array([-300.0, 300.0])))
    np.testing.assert_allclose(centres, [-600.0, 0.0, 600.0], rtol=1e-12, atol=1e-12)


def test_half_steps_are_the_papers_formulas(rng):
    log_odds = rng.normal(size=300) * 5 - 2
    edges = np.array([-9.0, -5.0, -2.5, -0.3, 1.0, 4.0])
    sums = SigmoidSums.from_log_odds(log_odds)
    cuts = sums.positions(edges)
    centres = centres_of(sums, cuts)
    np.testing.assert_allclose(centres, naive.centres(log_odds, edges), rtol=1e-10)
    np.testing.assert_allclose(edges_between(centres), naive.edges(centres), rtol=1e-9)
    shifted = centres + rng.normal(size=7) * 0.3
    bound = information_bound(*sums.between(cuts), shifted)
    assert bound == pytest.approx(naive.bound(log_odds, edges, shifted), abs=1e-12)


@given(log_odds_sets, edge_lists, st.randoms(use_true_random=False))
def test_neither_half_step_lowers_the_bound(log_odds, edges, random):
    sums = SigmoidSums.from_log_odds(log_odds)
    edges, cuts = without_empty_bins(sums, edges)
    some = np.array([random.uniform(-40, 40) for _ in range(len(edges) + 1)])
    before = information_bound(*sums.between(cuts), some)
    centres = centres_of(sums, cuts)
    between = information_bound(*sums.between(cuts), centres)
    assert between >= before - 1e-12 * (1 + abs(before))
    cuts = sums.positions(
        edges_between(centres)
    )  # bins may be empty now: the same centres still bound
    after = information_bound(*sums.between(cuts), centres)
    assert after >= between - 1e-12


@given(st.lists(st.floats(-700.0, 700.0), min_size=2, max_size=10, unique=True))
def test_edges_lie_between_their_centres(centres):
    centres = np.array(sorted(centres))
    edges = edges_between(centres)
    assert (edges > centres[:-1]).all()
    assert (edges <= centres[1:]).all()
