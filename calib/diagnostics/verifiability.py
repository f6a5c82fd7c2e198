"""Calibration error against the number of bins and against the number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics.calibration_error import ece
from calib.metrics.confidence import top_label
from calib.numerics import Floats, Ints

BIN_COUNTS = (5, 10, 15, 20, 30, 40, 60, 80, 100, 150, 200)
N_SIZES = 8
FEWEST_ROWS = 100


@dataclass(frozen=True, eq=False)
class ErrorByBins:
    """Top-label ECE against the number of evaluation bins (Patel et al. 2020, figure 1a).

    A method that says few distinct numbers has one ECE once each number has a bin of its own; a continuous one
    has another for every number of bins.

    Attributes
    ----------
    n_bins : (n_points,) increasing numbers of bins.
    ece : method -> (n_points,) calibration error.
    binning : the evaluation scheme.
    """

    n_bins: Ints
    ece: dict[str, Floats]
    binning: str


@dataclass(frozen=True, eq=False)
class ErrorByRows:
    """Top-label ECE against the number of evaluation rows, by bootstrap (Patel et al. 2020, figure 1b).

    Attributes
    ----------
    n_rows : (n_points,) increasing sizes of the resamples.
    ece, low, high : method -> (n_points,) mean over the resamples, and their central interval.
    n_bins, binning : of the evaluation.
    level : coverage of the interval.
    """

    n_rows: Ints
    ece: dict[str, Floats]
    low: dict[str, Floats]
    high: dict[str, Floats]
    n_bins: int
    binning: str
    level: float


def error_by_bins(
    predictions: Mapping[str, tuple[Any, Any]], n_bins: Sequence[int] = BIN_COUNTS, binning: str = "equal_width"
) -> ErrorByBins:
    """Top-label ECE of each method with several numbers of evaluation bins.

    Parameters
    ----------
    predictions : method -> (confidence, correct), each (n,); or (probs, labels).
    n_bins : increasing numbers of bins.
    binning : evaluation scheme, see :data:`calib.metrics.BINNINGS`.
    """
    pairs = {name: top_label(*given) for name, given in predictions.items()}
    errors = {
        name: np.array([ece(*pair, n_bins=bins, binning=binning) for bins in n_bins]) for name, pair in pairs.items()
    }
    return ErrorByBins(np.array(n_bins), errors, binning)


def error_by_rows(
    predictions: Mapping[str, tuple[Any, Any]],
    n_rows: Sequence[int] | None = None,
    n_bins: int = 15,
    binning: str = "equal_width",
    n_resamples: int = 50,
    level: float = 0.95,
    random_state: int = 0,
) -> ErrorByRows:
    """Top-label ECE of each method on bootstrap samples of growing size, the same rows for every method.

    Parameters
    ----------
    predictions : method -> (confidence, correct), each (n,); or (probs, labels).
    n_rows : increasing sizes of the samples; None for 8 sizes from 100 to all rows.
    n_bins, binning : of the evaluation.
    n_resamples : samples of each size.
    level : coverage of the interval over the samples.
    random_state : seed of the samples.
    """
    pairs = {name: top_label(*given) for name, given in predictions.items()}
    n = len(next(iter(pairs.values()))[0])
    if n_rows is None:
        n_rows = np.unique(np.geomspace(min(FEWEST_ROWS, n), n, N_SIZES).round().astype(int)).tolist()
    generator = np.random.default_rng(random_state)
    draws = {name: np.empty((len(n_rows), n_resamples)) for name in pairs}
    for i, size in enumerate(n_rows):
        for j in range(n_resamples):
            rows = generator.integers(n, size=size)
            for name, (confidence, correct) in pairs.items():
                draws[name][i, j] = ece(confidence[rows], correct[rows], n_bins=n_bins, binning=binning)
    tails = ((1 - level) / 2, (1 + level) / 2)
    return ErrorByRows(
        n_rows=np.array(n_rows),
        ece={name: errors.mean(axis=1) for name, errors in draws.items()},
        low={name: np.quantile(errors, tails[0], axis=1) for name, errors in draws.items()},
        high={name: np.quantile(errors, tails[1], axis=1) for name, errors in draws.items()},
        n_bins=n_bins,
        binning=binning,
        level=level,
    )
