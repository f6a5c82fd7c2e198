"""The ECE by the number of its bins and by the number of test rows (Patel et al. 2020, figure 1 and table S3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics import debiased_ece, ece
from calib.metrics.binning import BINNINGS, binned
from calib.metrics.bootstrap import drawn_units
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.confidence import Bools
from calib.numerics import Floats, Ints

BIN_COUNTS = (5, 10, 15, 25, 50, 100)
ROW_COUNTS = (100, 200, 500, 1000, 2000, 5000, 10_000)
MOST_ROWS = 20_000
"""Of more test rows, evenly spaced ones are taken."""
N_RESAMPLES = 200
N_BINS = 15
"""Of equal width, in which resamples are scored."""


@dataclass(frozen=True, eq=False)
class ErrorByBins:
    """The ECE of one model in different bins and on different numbers of rows.

    Attributes
    ----------
    n_bins : (m,) numbers of bins, increasing.
    errors : binning -> (m,) ECE in bins of this kind.
    debiased : binning -> (m,) debiased L2 calibration error in the same bins; empty for weighted rows.
    n_rows : (k,) numbers of rows, increasing; the last one is the number of rows that were used.
    mean, low, high : (k,) mean and central 95 % interval of the ECE of resamples of so many rows.
    """

    n_bins: Ints
    errors: dict[str, Floats]
    debiased: dict[str, Floats]
    n_rows: Ints
    mean: Floats
    low: Floats
    high: Floats


def error_by_bins(
    confidence: Floats, correct: Bools, weights: Any = None, clusters: Any = None
) -> ErrorByBins:
    """Compute the ECE in 5 to 100 bins of every kind, and on resamples of 100 rows to all of them.

    Few bins hide errors that cancel within them; many bins and few rows add the noise of each bin to its gap. So the
    ECE of a continuous calibrator depends on both numbers. A calibrator that gives few different confidences has the
    same ECE in all bins that keep these apart.

    Parameters
    ----------
    confidence, correct : (n,) probabilities and outcomes.
    weights : (n,) weight of each row; None counts all alike.
    clusters : (n,) what rows that belong together share; resamples draw whole clusters, about as many as hold the
        number of rows.

    Examples
    --------
    >>> confidence = np.linspace(0.5, 1, 400)
    >>> correct = np.random.default_rng(0).random(400) < confidence
    >>> found = error_by_bins(confidence, correct)
    >>> found.errors["equal_width"][0] < found.errors["equal_width"][-1]  # noise grows with the number of bins
    np.True_
    >>> found.n_rows.tolist(), bool(found.mean[0] > found.mean[-1])  # and falls with the number of rows
    ([100, 200, 400], True)
    """
    rows = slice(None, None, max(1, -(-len(correct) // MOST_ROWS)))
    confidence, correct = confidence[rows], correct[rows]
    weights, clusters = (None if part is None else part[rows] for part in (weights, clusters))
    scheme = [(binning, n_bins) for binning in BINNINGS for n_bins in BIN_COUNTS]
    errors = {
        (binning, n_bins): ece(
            confidence=confidence, correct=correct, n_bins=n_bins, binning=binning, weights=weights
        )
        for binning, n_bins in scheme
    }
    debiased = {
        (binning, n_bins): debiased_ece(
            confidence=confidence, correct=correct, n_bins=n_bins, binning=binning
        )
        for binning, n_bins in scheme
        if weights is None
    }
    n = len(correct)
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    unit, n_units, _ = drawn_units(n, clusters)
    n_rows = np.array([*(size for size in ROW_COUNTS if n / n_units <= size < n), n])
    draws = [
        errors_of_resamples(confidence, correct, weight, unit, round(n_units * size / n))
        for size in n_rows
    ]
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    return ErrorByBins(
        n_bins=np.array(BIN_COUNTS),
        errors=_by_binning(errors),
        debiased=_by_binning(debiased),
        n_rows=n_rows,
        mean=np.mean(draws, axis=1),
        low=low,
        high=high,
    )


def _by_binning(values: dict[tuple[str, int], float]) -> dict[str, Floats]:
    """Binning -> values in the order of ``BIN_COUNTS``."""
    kinds = dict.fromkeys(binning for binning, _ in values)
    return {kind: np.array([values[kind, n_bins] for n_bins in BIN_COUNTS]) for kind in kinds}


def errors_of_resamples(
    confidence: Floats, correct: Bools, weight: Floats, unit: Ints, n_drawn: int
) -> Floats:
    """ECE, in 15 bins of equal width, of 200 resamples of so many rows or clusters.

    Parameters
    ----------
    confidence, correct, weight : (n,) of each row.
    unit : (n,) number of each row's cluster, or of the row.
    n_drawn : how many of them a resample draws, with replacement.
    """
    _, index = binned(confidence, N_BINS, "equal_width")
    n_units = int(unit.max()) + 1
    generator = np.random.default_rng(0)
    draws = np.empty(N_RESAMPLES)
    for i in range(N_RESAMPLES):
        times = np.bincount(generator.integers(n_units, size=n_drawn), minlength=n_units)
        drawn = weight * times[unit]
        mass = np.bincount(index, drawn, N_BINS)
        excess = np.bincount(index, drawn * (confidence - correct), N_BINS)
        gap = np.divide(excess, mass, out=np.zeros(N_BINS), where=mass > 0)
        draws[i] = norm_of_gaps(gap, mass / max(mass.sum(), np.finfo(float).tiny), 1)
    return draws
