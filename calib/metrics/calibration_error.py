"""Expected calibration error: of the predicted class and class-wise."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.binning import bins_of
from calib.metrics.confidence import check_columns, check_scored, check_weights, top_label
from calib.numerics import Floats
from calib.parameters import number_fault, shown


def norm_of_gaps(gap: Floats, weight: Floats, norm: float | str) -> float:
    """Weighted p-norm ``(sum_b w_b |gap_b|^p)^(1/p)``; the largest gap for ``norm=inf`` (or ``"inf"``)."""
    is_largest = norm in (np.inf, "inf")
    if not is_largest and number_fault(norm, False, 1, None):
        raise CalibrationError(f"norm={shown(norm)} must be at least 1: 1 and 2 are usual, inf is the largest gap.")
    size = np.abs(gap)
    largest = float(size.max())
    if is_largest or not largest:
        return largest
    power = float(norm)
    return largest * float((weight @ (size / largest) ** power) ** (1.0 / power))


def ece(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    norm: float | str = 1,
    binning: str = "equal_width",
    weights: Any = None,
) -> float:
    """Expected calibration error of the predicted class, the one that pages, tables, scorers and reports show.

    ``(sum_b count_b / n * |mean confidence_b - accuracy_b|^norm)^(1/norm)`` over the bins that are not
    empty, 15 of equal width (Guo et al. 2017, eq. 3, for norm 1; Wenger et al. 2020, eq. 2). Of an event's probability
    and whether it happened, two (n,) arrays, it is the error of P(event), as in the event view.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : int, default 15
        Number of bins.
    norm : {1, 2, inf, "inf"}, default 1
        Norm of the gaps; ``inf`` is the largest gap of any bin, also called MCE.
    binning : {"equal_width", "equal_mass", "kmeans", "imax"}, default "equal_width"
        How bins are made; those of equal width lie on [0, 1].
    weights : array_like of shape (n,) or None, default None
        Weight of each row in the means and shares of the bins, and in those edges that depend on the rows; None counts
        all alike.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.

    Examples
    --------
    >>> import calib
    >>> round(calib.ece([0.9, 0.9, 0.9, 0.6], [True, True, False, True]), 3)  # 3/4 |.9 - 2/3| + 1/4 |.6 - 1|
    0.275
    """
    bins = bins_of(*top_label(probs, labels), n_bins, binning, weights)
    return norm_of_gaps(bins.gap, bins.weight, norm)


def classwise_ece(
    probs: Any,
    labels: Any,
    n_bins: int = 15,
    threshold: str | float | None = None,
    binning: str = "equal_width",
    norm: float = 1,
    weights: Any = None,
) -> float:
    """Calibration error of each class's probability, averaged over classes (Kull et al. 2019, section 3).

    Parameters
    ----------
    probs : array_like of shape (n, n_classes)
        Probabilities; rows need not sum to one, since each class is looked at by itself.
    labels : array_like of shape (n,)
        Integers in [0, n_classes).
    n_bins : int, default 15
        Number of bins.
    threshold : float, "1/K" or None, default None
        Only probabilities above it count, because with many classes nearly all are about 0 and swamp the rest (Patel et
        al. 2020, section 4); "1/K" for one over the number of classes. The shares of the bins are then of the count
        kept; a class with nothing kept contributes 0. None keeps all.
    binning : {"equal_width", "equal_mass", "kmeans", "imax"}, default "equal_width"
        How bins are made; those of equal width lie on [0, 1].
    norm : {1, 2, inf}, default 1
        Norm of the gaps of each class.
    weights : array_like of shape (n,) or None, default None
        Weight of each row, as for :func:`ece`.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.
    """
    check_columns(probs)
    array, labels = check_scored(probs, labels, sums=False)
    n_classes, of_rows = array.shape[1], check_weights(weights, len(array))
    above = 1.0 / n_classes if isinstance(threshold, str) and threshold == "1/K" else threshold
    if above is not None and (isinstance(above, str) or number_fault(above, False, 0, 1) or above == 1):
        raise CalibrationError(f"threshold={threshold!r} must be None, '1/K' or a number in [0, 1).")
    total = 0.0
    for k in range(n_classes):
        values, outcome, counted = array[:, k].astype(np.float64), labels == k, of_rows
        if above is not None:
            kept = values > above
            counted = None if of_rows is None else of_rows[kept]
            if not kept.any() or (counted is not None and not counted.any()):
                continue
            values, outcome = values[kept], outcome[kept]
        bins = bins_of(values, outcome, n_bins, binning, counted)
        total += norm_of_gaps(bins.gap, bins.weight, norm)
    return total / n_classes
