"""Frequencies of a class in bins of its scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from calib.diagnostics.class_frequencies import balanced_edges, class_frequencies, most_by_chance
from calib.metrics.bootstrap import wilson_interval

pairs = st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=1, max_size=60)


@given(pairs, pairs, st.integers(2, 9))
def test_every_pair_is_in_one_bin_and_no_bin_is_empty(fitted, counted, n_bins) -> None:
    edges = balanced_edges(*unzipped(fitted), n_bins)
    log_odds, positives = unzipped(counted)
    seen = class_frequencies(log_odds, positives, edges)
    assert (np.diff(edges) > 0).all()
    assert set(seen.edges) <= set(edges)
    assert len(seen.count) == len(seen.edges) + 1 <= n_bins
    assert (seen.count > 0).all()
    for k, (low, high) in enumerate(zip([-np.inf, *seen.edges], [*seen.edges, np.inf], strict=True)):
        inside = (log_odds >= low) & (log_odds < high)
        assert (seen.count[k], seen.positives[k]) == (inside.sum(), positives[inside].sum())
        assert seen.log_odds[k] == np.median(log_odds[inside])
        assert seen.means(log_odds, log_odds)[k] == pytest.approx(log_odds[inside].mean())
    np.testing.assert_array_equal((seen.low, seen.high), wilson_interval(seen.positives, seen.count))


def unzipped(given_pairs: list[tuple[int, bool]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([score for score, _ in given_pairs], dtype=float), np.array([hit for _, hit in given_pairs])


def test_bins_of_balanced_classes_hold_about_equally_many(rng) -> None:
    log_odds = rng.normal(size=2000)
    edges = balanced_edges(log_odds, np.arange(2000) % 2 == 0, 10)
    np.testing.assert_allclose(class_frequencies(log_odds, log_odds > 0, edges).count, 200, atol=2)


def test_half_of_the_bins_are_where_the_few_positives_are(rng) -> None:
    log_odds = rng.normal(size=5000)
    positives = log_odds > np.sort(log_odds)[-20]
    edges = balanced_edges(log_odds, positives, 10)
    assert (edges >= log_odds[positives].min()).sum() == pytest.approx(5, abs=1)


def test_outside_is_outside_the_interval() -> None:
    seen = class_frequencies(np.arange(20.0), np.arange(20) >= 10, np.array([10.0]))
    assert seen.outside(np.array([0.0, 0.5])).tolist() == [False, True]
    assert seen.outside(np.array([0.5, 1.0])).tolist() == [True, False]


@pytest.mark.parametrize("n", [1, 2, 5, 10, 15, 20, 100])
def test_chance_is_binomial(n: int) -> None:
    assert most_by_chance(n) == binom.ppf(0.95, n, 0.05)
