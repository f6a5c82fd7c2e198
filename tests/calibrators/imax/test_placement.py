"""Starts, iterations and where they end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.special import expit

from calib.calibrators.imax.placement import best_traces, iterate
from calib.calibrators.imax.schemes import scheme_edges
from calib.calibrators.imax.starts import divergence, equal_mass_edges, equal_size_edges, kmeans_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.calibrators.imax.updates import centres_of, edges_between
from tests.calibrators.imax import naive


def some_log_odds(n: int = 3000, seed: int = 0) -> np.ndarray:
    """Many far below zero and few above, as of one class against the rest."""
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(-9, 4, n), generator.normal(4, 4, n // 20)])


@given(st.integers(0, 30), st.integers(2, 20), st.sampled_from(["imax", "equal_mass", "equal_size"]))
def test_the_bound_never_falls_and_the_end_is_a_fixed_point(seed, n_bins, start):
    generator = np.random.default_rng(seed)
    sums = SigmoidSums.of(generator.standard_t(2, size=400) * generator.uniform(0.5, 8) + generator.normal())
    edges = scheme_edges(sums, start, n_bins, max_steps=1)
    trace = iterate(sums, n_bins, edges, start, max_steps=100_000)
    assert (np.diff(trace.bound) >= -1e-13).all()
    assert trace.converged
    end = trace.edges[-1]
    np.testing.assert_allclose(edges_between(centres_of(sums, sums.positions(end))), end, rtol=0, atol=1e-12)
    assert len(end) == n_bins - 1
    assert len(trace.edges) == len(trace.bound)


def test_each_step_of_the_trace_has_the_bound_of_its_edges():
    log_odds = some_log_odds(300)
    trace = iterate(SigmoidSums.of(log_odds), 6, equal_size_edges(6))
    for step in (0, 1, len(trace.bound) // 2, -1):
        assert trace.bound[step] == pytest.approx(naive.model_information(log_odds, trace.edges[step]), abs=1e-12)
    assert trace.bound[-1] > trace.bound[0]


def test_two_bins_are_split_where_no_other_split_is_better():
    log_odds = some_log_odds(200)
    best = best_traces(SigmoidSums.of(log_odds), 2)[0].bound[-1]
    every = [naive.model_information(log_odds, np.array([edge])) for edge in np.unique(log_odds)[1:]]
    assert best == pytest.approx(max(every), rel=1e-9)


def test_more_starts_are_never_worse_and_the_best_comes_first():
    sums = SigmoidSums.of(some_log_odds())
    few, many = best_traces(sums, 12, n_starts=2), best_traces(sums, 12, n_starts=7)
    assert {trace.start for trace in few} == {"kmeans", "equal_mass"}
    assert len(many) == 7
    bounds = [trace.bound[-1] for trace in many]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] >= few[0].bound[-1]


def test_steps_are_limited():
    trace = iterate(SigmoidSums.of(some_log_odds()), 15, equal_size_edges(15), max_steps=3)
    assert not trace.converged
    assert len(trace.bound) == 4


def test_fewer_distinct_log_odds_than_bins_have_a_bin_each():
    for values in ([1.0, 1.0, 1.0], [-3.0, 2.0, 2.0], [-1.0, 0.0, 1.0]):
        sums = SigmoidSums.of(np.array(values))
        for scheme in ("imax", "equal_mass"):
            edges = scheme_edges(sums, scheme, 10)
            held = np.diff(sums.positions(edges))
            assert (held > 0).all()
        assert len(scheme_edges(sums, "imax", 10)) == len(set(values)) - 1


def test_equal_size_bins_are_equally_wide_in_probability():
    np.testing.assert_allclose(expit(equal_size_edges(15)), np.arange(1, 15) / 15, rtol=1e-14)


def test_equal_mass_bins_hold_equally_many():
    values = np.sort(some_log_odds(1000))
    sums = SigmoidSums.of(values)
    counts = np.diff(np.searchsorted(values, equal_mass_edges(sums, 15)), prepend=0, append=len(values))
    assert set(counts) <= {len(values) // 15, -(-len(values) // 15)}
    np.testing.assert_array_equal(counts, sums.counts(sums.positions(equal_mass_edges(sums, 15))))
    tied, times = np.array([-4.0, 0.0, 3.0]), np.array([80, 15, 5])
    for sums in (SigmoidSums.of(np.repeat(tied, times)), SigmoidSums.of_weighted(tied, times)):
        np.testing.assert_array_equal(equal_mass_edges(sums, 4), [0.0])


def test_divergence_is_jensen_and_shannons():
    first, second = np.array([-8.0, -1.0, 0.0, 2.0]), np.array([-2.0, -1.0, 3.0, 9.0])
    for a, b, found in zip(first, second, divergence(first, second), strict=True):
        expected = jensenshannon([expit(a), expit(-a)], [expit(b), expit(-b)]) ** 2
        assert found == pytest.approx(expected, abs=1e-14)
    np.testing.assert_array_equal(divergence(first, second), divergence(second, first))


def test_kmeans_starts_are_seeded_and_spread():
    sums = SigmoidSums.of(some_log_odds())
    drawn = [kmeans_edges(sums, 15, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    starts = [iterate(sums, 15, edges).bound[0] for edges in (drawn[0], equal_mass_edges(sums, 15))]
    assert starts[0] > starts[1]  # equal mass wastes its bins where labels are certain


@pytest.mark.parametrize("seed", range(20))
def test_kmeans_starts_find_separated_clusters(seed):
    clusters = np.concatenate([np.random.default_rng(0).normal(c, 0.1, 400) for c in (-4.0, -1.5, 0.0, 1.5, 4.0)])
    edges = kmeans_edges(SigmoidSums.of(clusters), 5, np.random.default_rng(seed))
    np.testing.assert_array_equal(np.searchsorted(edges, [-4.0, -1.5, 0.0, 1.5, 4.0]), range(5))


def test_a_scaled_model_bins_the_scaled_log_odds():
    log_odds = some_log_odds()
    sums = SigmoidSums.of(log_odds)
    scaled = scheme_edges(sums, "imax", 8, sigmoid=(0.5, -1.0))
    plain = scheme_edges(SigmoidSums.of(0.5 * log_odds - 1.0), "imax", 8)
    np.testing.assert_allclose(0.5 * scaled - 1.0, plain, rtol=1e-12)
