"""Rows on both sides of a threshold: every row is counted once, on its own side."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.judged_decisions import threshold_counts


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("threshold", [0.0001, 0.07, 1 / 3, 0.5, 0.9999])
def test_each_row_is_counted_once_on_its_own_side(rng, scale, threshold):
    probs = np.r_[rng.beta(1, 6, 500), 0.0, 1.0, threshold, np.full(20, 1 / 3)]
    event = rng.random(len(probs)) < probs
    found = threshold_counts(probs, event, threshold, scale)
    assert np.all(np.diff(found.edges) > 0)
    for counts, rows in ((found.right, event), (found.wrong, ~event)):
        assert counts.sum() == rows.sum()
        assert counts[found.reached].sum() == (probs[rows] >= threshold).sum()


def test_equal_probabilities_have_a_cell():
    found = threshold_counts(np.full(7, 0.4), np.arange(7) < 3, 0.4)
    assert found.right.sum() == 3 and found.wrong[found.reached].sum() == 4
