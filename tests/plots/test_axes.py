from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logit

from calib.diagnostics.histogram import confidence_histogram
from calib.plots.axes import confidence_edges, from_scale, logit_ends, on_scale, probability_axis, regrid


def naive_regrid(edges: np.ndarray, counts: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Spread each bin over 20,000 points and count them."""
    points = [np.linspace(a, b, 20_001)[:-1] + (b - a) / 40_000 for a, b in pairwise(edges)]
    return sum(c * np.histogram(p, grid)[0] / 20_000 for c, p in zip(counts, points, strict=True))


def test_regrid_agrees_with_spreading_points(rng: np.random.Generator) -> None:
    edges = np.sort(np.r_[0, rng.random(6), 1])
    counts = rng.integers(0, 100, 7)
    grid = np.linspace(0, 1, 14)
    np.testing.assert_allclose(regrid(edges, counts, grid), naive_regrid(edges, counts, grid), atol=0.05)


@given(arrays(float, 6, elements=st.floats(0, 1)), arrays(int, 5, elements=st.integers(0, 1000)))
def test_regrid_keeps_the_total_also_of_bins_without_width(edges: np.ndarray, counts: np.ndarray) -> None:
    cells = regrid(np.sort(edges), counts, np.linspace(0, 1, 41))
    assert cells.sum() == pytest.approx(counts.sum(), rel=1e-6, abs=1e-6)


def test_logit_scale_is_the_logit_and_clips() -> None:
    limits = (0.1, 0.99)
    np.testing.assert_allclose(on_scale(np.array([0.1, 0.5, 0.99]), "logit", limits), logit([0.1, 0.5, 0.99]))
    np.testing.assert_allclose(on_scale(np.array([0.0, 1.0]), "logit", limits), logit(limits))
    np.testing.assert_allclose(from_scale(np.array([-3.0, 2.0]), "logit"), expit([-3.0, 2.0]))


def test_logit_ends_lie_outside_the_values_but_for_zero_and_one() -> None:
    for lowest in (0.5, 0.3, 0.11, 0.02):
        low, high = logit_ends(np.array([0.0, lowest, 1.0]))
        assert 0 < low <= lowest
        assert 0.999 < high < 1
    assert logit_ends(np.array([]))[0] < logit_ends(np.array([]))[1]


def test_logit_axis_shows_the_ticks_of_good_classifiers() -> None:
    axis = probability_axis("logit", (0.2, 0.9995))
    assert axis["ticktext"] == ["0.5", "0.9", "0.99", "0.999"]
    np.testing.assert_allclose(axis["tickvals"], logit([0.5, 0.9, 0.99, 0.999]))


def test_edges_of_both_histogram_scales_span_all_probabilities(rng: np.random.Generator) -> None:
    pair = rng.random(50), rng.random(50) > 0.5
    for scale in ("linear", "logit"):
        edges = confidence_edges(confidence_histogram(*pair, scale=scale))
        assert (edges[0], edges[-1]) == (0, 1)
        assert np.all(np.diff(edges) > 0)
