"""Class-wise calibration error: every column of the probabilities against its own indicator."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.base import CalibrationError, check_labels
from calib.metrics.binning import bins_of
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.top_label import check_probs
from calib.numerics import blocks

COLUMNS_AT_ONCE = 64


def classwise_ece(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    threshold: str | float | None = None,
    binning: str = "equal_width",
    norm: float = 1,
) -> float:
    """Calibration error of each class's probability, averaged over classes (Kull et al. 2019, section 3).

    Parameters
    ----------
    probs : (n, n_classes) probabilities.
    labels : (n,) integers in [0, n_classes).
    n_bins : number of bins.
    threshold : only probabilities above it count, because with many classes nearly all are about 0 and swamp
        the rest (Patel et al. 2020, section 4); "1/K" for one over the number of classes. The shares of the bins are
        then of the count kept; a class with nothing kept contributes 0. None keeps all.
    binning : "equal_width" on [0, 1], "equal_mass", "kmeans" or "imax".
    norm : 1, 2 or ``inf``, for each class.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.
    """
    array = check_probs(probs)
    labels = check_labels(labels, array.shape)
    n_classes = array.shape[1]
    above = _threshold(threshold, n_classes)
    total = 0.0
    for block in blocks(n_classes, entries=COLUMNS_AT_ONCE):
        # Columns of a row-major array lie far apart in memory: turn a few at a time.
        columns = np.ascontiguousarray(array[:, block].T, dtype=np.float64)
        for k, values in enumerate(columns, start=block.start):
            outcome = labels == k
            if above is not None:
                kept = values > above
                if not kept.any():
                    continue
                values, outcome = values[kept], outcome[kept]
            bins = bins_of(values, outcome, n_bins, binning)
            total += norm_of_gaps(bins.gap, bins.weight, norm)
    return total / n_classes


def _threshold(threshold: str | float | None, n_classes: int) -> float | None:
    if threshold is None:
        return None
    if threshold == "1/K":
        return 1.0 / n_classes
    if isinstance(threshold, str) or not 0.0 <= threshold < 1.0:
        raise CalibrationError(f"threshold={threshold!r} must be None, '1/K' or a number in [0, 1).")
    return float(threshold)
