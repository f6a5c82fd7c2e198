"""Edges of every scheme, and which bin a value lies in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from calib.errors import CalibrationError
from calib.metrics.binning import (
    BINNINGS,
    ON_EDGE,
    bin_edges,
    bins_of,
    equal_width_edges,
    equal_width_index,
)
from calib.numerics import bin_index

# Some values are common, 0 and 1 among them, so that ties and saturation are met.
confidences = hnp.arrays(
    np.float64,
    st.integers(1, 60),
    elements=st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0.0, 1.0)),
)
schemes = st.sampled_from(sorted(BINNINGS))


@given(confidences, st.integers(1, 20), schemes)
def test_bins_hold_the_values_between_their_edges_and_have_their_means(values, n_bins, scheme):
    outcomes = np.arange(len(values)) % 3 == 0
    bins = bins_of(values, outcomes, n_bins, scheme)
    assert bins.count.sum() == len(values)
    for value, b in zip(values, bins.index, strict=True):
        assert bins.edges[b] <= value
        assert value < bins.edges[b + 1] or b == n_bins - 1
    for b in bins.nonempty:
        rows = bins.index == b
        assert bins.count[b] == rows.sum()
        assert bins.value[b] == pytest.approx(values[rows].mean(), abs=1e-12)
        assert bins.outcome[b] == pytest.approx(outcomes[rows].mean(), abs=1e-12)


@pytest.mark.parametrize("n_bins", [1, 15, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_belong_to_the_bin_above_them_however_many_there_are(n_bins, dtype):
    edges = np.sort(np.concatenate([np.linspace(0.0, 1.0, n_bins), [0.3]]))
    values = np.concatenate(
        [edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0), [-0.1, 1.1]]
    ).astype(dtype)
    expected = [sum(value >= edge for edge in edges[1:-1].tolist()) for value in values.tolist()]
    np.testing.assert_array_equal(bin_index(values, edges), expected)


@given(confidences, st.integers(1, 40))
def test_bins_of_equal_width_are_found_without_searching(values, n_bins):
    edges = equal_width_edges(values, n_bins)
    near = np.concatenate([values, *(edges[1:-1] + step for step in (-1e-9, 1e-9, ON_EDGE))])
    np.testing.assert_array_equal(equal_width_index(near, n_bins), bin_index(near, edges))


@pytest.mark.parametrize(("n", "n_bins"), [(300, 15), (301, 15), (1000, 7), (10, 10)])
def test_equal_mass_bins_hold_equally_many_rows(rng, n, n_bins):
    values = rng.random(n)
    count = np.bincount(
        bin_index(values, bin_edges(values, n_bins, "equal_mass")), minlength=n_bins
    )
    assert set(count) <= {n // n_bins, -(-n // n_bins)}


def test_equal_mass_bins_keep_ties_together_and_tell_tied_groups_apart():
    values = np.repeat([0.5, 0.9], [60, 40])
    np.testing.assert_array_equal(bins_of(values, values > 0.6, 2, "equal_mass").count, [60, 40])
    values = np.repeat([0.3, 1.0], [10, 90])
    assert sorted(bins_of(values, values > 0.6, 5, "equal_mass").count) == [0, 0, 0, 10, 90]


def test_kmeans_finds_separated_clusters_and_satisfies_lloyds_condition(rng):
    clusters = [0.05, 0.4, 0.9]
    values = np.clip(np.concatenate([rng.normal(c, 0.01, 200) for c in clusters]), 0, 1)
    bins = bins_of(values, values > 0.5, 3, "kmeans")
    np.testing.assert_array_equal(bins.count, [200, 200, 200])
    np.testing.assert_allclose(bins.edges[1:-1], (bins.value[1:] + bins.value[:-1]) / 2, atol=1e-12)
    # A local optimum for spread data too: every edge is half way between the means of its neighbours.
    bins = bins_of(rng.beta(5, 2, 2000), np.ones(2000, bool), 8, "kmeans")
    np.testing.assert_allclose(bins.edges[1:-1], (bins.value[1:] + bins.value[:-1]) / 2, atol=1e-4)


def test_imax_bins_of_saturated_and_of_few_confidences():
    values = np.array([0.0, 1e-300, 0.5, 1 - 1e-16, 1.0, 1.0])
    bins = bins_of(values, values > 0.6, 3, "imax")
    np.testing.assert_array_equal(bins.count, [2, 1, 3])
    assert sorted(bins_of(np.array([0.3, 0.3, 0.8]), np.ones(3, bool), 4, "imax").count) == [
        0,
        0,
        1,
        2,
    ]
    assert bins_of(np.float32([0.2, 0.9]), np.ones(2, bool), 1, "imax").count.tolist() == [2]


def test_schemes_that_exist_are_named():
    with pytest.raises(CalibrationError, match="equal_mass"):
        bin_edges(np.array([0.5]), 15, "equal")
