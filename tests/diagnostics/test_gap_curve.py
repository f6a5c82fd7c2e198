"""Gaps over the ranks of the confidence, and what chance gives a calibrated model."""

from __future__ import annotations

import numpy as np
import pytest

from calib.diagnostics.judgement import MOST_BINS, gap_curve


def test_above_zero_is_overconfident_and_chance_covers_a_calibrated_model(rng: np.random.Generator) -> None:
    confidence = rng.uniform(0.3, 1.0, 20_000)
    calibrated = gap_curve(confidence, rng.random(20_000) < confidence)
    inside = (calibrated.chance_low <= calibrated.gap) & (calibrated.gap <= calibrated.chance_high)
    assert inside.mean() >= 0.75
    over = gap_curve(confidence, rng.random(20_000) < confidence - 0.1)
    assert (over.gap > over.chance_high).all()
    assert over.mean_gap == pytest.approx(0.1, abs=0.02)


def test_ranks_and_gaps_are_those_of_groups_of_equally_many_rows(rng: np.random.Generator) -> None:
    confidence = rng.permutation(np.linspace(0.1, 0.9, 1800))
    outcome = rng.random(1800) < 0.5
    curve = gap_curve(confidence, outcome)
    assert curve.count.tolist() == [150] * MOST_BINS
    order = np.argsort(confidence)
    gaps = (confidence - outcome)[order].reshape(MOST_BINS, 150).mean(axis=1)
    assert curve.gap == pytest.approx(gaps)
    assert curve.rank == pytest.approx((np.arange(MOST_BINS) + 0.5) / MOST_BINS)


@pytest.mark.parametrize("n", [2, 30, 500])
def test_few_rows_have_fewer_bins(rng: np.random.Generator, n: int) -> None:
    curve = gap_curve(rng.random(n), rng.random(n) < 0.5)
    assert 1 <= len(curve.gap) <= min(n, MOST_BINS)
    assert curve.count.sum() == n
    assert np.isfinite(curve.chance_low).all() and np.isfinite(curve.chance_high).all()
