"""Rows on both sides of a threshold, as the figure counts them."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.histograms import sided_counts, threshold_counts


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("threshold", [0.0001, 1 / 3, 0.9999])
def test_each_row_is_counted_once_on_its_own_side_of_a_threshold(rng, scale, threshold):
    probs = np.r_[rng.beta(1, 6, 500), 0.0, 1.0, threshold, np.full(20, 1 / 3)]
    event = rng.random(len(probs)) < probs
    found = threshold_counts(probs, event, threshold, scale)
    assert np.all(np.diff(found.edges) > 0)
    assert len(found.edges) <= 47
    for counts, rows in ((found.right, event), (found.wrong, ~event)):
        assert counts.sum() == rows.sum()
        assert counts[found.reached].sum() == (probs[rows] >= threshold).sum()


@pytest.mark.parametrize("value", [0.0, -2.0, 1e-30, 1e18])
def test_values_that_differ_by_rounding_alone_are_counted(value) -> None:
    found = sided_counts(np.array([value, np.nextafter(value, 1e20)]), np.array([True, False]), 0.0)
    assert found.right.sum() == found.wrong.sum() == 1
    assert (found.right + found.wrong)[found.reached].sum() == 2 * (value >= 0)
