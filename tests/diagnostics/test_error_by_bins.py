"""The ECE by bins and rows against the metric itself, resamples in loops and models whose bins are known."""

from __future__ import annotations

import numpy as np
import pytest

import calib
from calib.diagnostics.bins import (
    BIN_COUNTS,
    N_RESAMPLES,
    error_by_bins,
    errors_of_resamples,
)
from calib.metrics import debiased_ece


def pairs(n: int, power: float = 1.4) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    confidence = generator.uniform(0.5, 1, n)
    return confidence, generator.random(n) < confidence**power


def test_each_error_is_the_metric_in_these_bins() -> None:
    confidence, correct = pairs(250)
    found = error_by_bins(confidence, correct)
    pair = {"confidence": confidence, "correct": correct}
    for place, n_bins in enumerate(BIN_COUNTS):
        for binning, errors in found.errors.items():
            scheme = {"n_bins": n_bins, "binning": binning}
            assert errors[place] == calib.ece(**pair, **scheme)
            assert found.debiased[binning][place] == debiased_ece(**pair, **scheme)
    assert found.n_rows.tolist() == [100, 200, 250]


def test_a_model_of_three_confidences_has_one_error_in_all_bins() -> None:
    """Histogram binning's error does not depend on the bins it is measured in (Patel et al. 2020, section 1)."""
    confidence = np.repeat([0.55, 0.7, 0.95], 200)
    correct = np.tile(np.arange(10) < 6, 60)
    found = error_by_bins(confidence, correct)
    for errors in found.errors.values():
        np.testing.assert_allclose(errors, (0.05 + 0.1 + 0.35) / 3, atol=1e-12)


def test_resamples_are_those_of_rows_repeated() -> None:
    confidence, correct = pairs(300)
    generator = np.random.default_rng(0)
    weight = np.random.default_rng(1).uniform(0, 2, 300)
    draws = errors_of_resamples(confidence, correct, weight, np.arange(300), 120)
    assert len(draws) == N_RESAMPLES
    for draw in draws[:20]:
        rows = generator.integers(300, size=120)
        own = {"confidence": confidence[rows], "correct": correct[rows], "weights": weight[rows]}
        assert draw == pytest.approx(calib.ece(**own))


def test_a_calibrated_model_has_an_error_that_falls_with_the_root_of_the_rows() -> None:
    confidence, correct = pairs(20_000, power=1.0)
    weight, unit = np.ones(20_000), np.arange(20_000)
    few, many = (
        errors_of_resamples(confidence, correct, weight, unit, n_rows).mean()
        for n_rows in (100, 1000)
    )
    assert few / many == pytest.approx(10**0.5, rel=0.1)


def test_whole_clusters_are_drawn_and_sizes_below_one_are_left_out() -> None:
    confidence, correct = pairs(400)
    clusters = np.arange(400) // 150
    found = error_by_bins(confidence, correct, clusters=clusters)
    assert found.n_rows.tolist() == [200, 400]
    alone = error_by_bins(confidence, correct)
    assert found.high[0] - found.low[0] != alone.high[1] - alone.low[1]
    assert (alone.low <= alone.mean).all() and (alone.mean <= alone.high).all()


def test_weights_count_as_repeated_rows_and_leave_the_debiased_error_out() -> None:
    confidence, correct = pairs(200)
    times = np.random.default_rng(2).integers(1, 4, 200)
    weighted = error_by_bins(confidence, correct, weights=times.astype(float))
    repeated = error_by_bins(np.repeat(confidence, times), np.repeat(correct, times))
    np.testing.assert_allclose(
        weighted.errors["equal_width"], repeated.errors["equal_width"], atol=1e-12
    )
    assert not weighted.debiased
