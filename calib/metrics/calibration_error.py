"""Expected calibration error: of the predicted class, debiased, smooth and class-wise."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.binning import bin_edges, binned, bins_of, equal_width_index
from calib.metrics.confidence import Bools, check_columns, check_scored, check_weights, top_label
from calib.numerics import Floats, Ints, blocks
from calib.parameters import number_fault, shown

CLASS_BINS = 15
"""Of equal width, for each class."""
SMOOTH_STEPS = 1000
"""Steps of the grid on [0, 1] on which residuals are smoothed."""


def norm_of_gaps(gap: Floats, weight: Floats, norm: float | str) -> Floats:
    """Weighted p-norm ``(sum_b w_b |gap_b|^p)^(1/p)`` over the last axis; the largest gap for ``norm=inf``."""
    is_largest = norm in (np.inf, "inf")
    if not is_largest and number_fault(norm, False, 1, None):
        raise CalibrationError(
            f"norm={shown(norm)} must be at least 1: 1 and 2 are usual, inf is the largest gap."
        )
    size = np.abs(gap)
    largest = size.max(axis=-1)
    if is_largest:
        return np.asarray(largest)
    power = float(norm)
    share = size / np.where(largest > 0, largest, 1.0)[..., None]
    return np.asarray(largest * (weight * share**power).sum(axis=-1) ** (1.0 / power))


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
    return float(norm_of_gaps(bins.gap, bins.weight, norm))


def debiased_ece(probs: Any, labels: Any, n_bins: int = 15, binning: str = "equal_mass") -> float:
    """L2 calibration error of the predicted class without the bias of finite bins (Kumar, Liang and Ma 2019).

    ``sqrt(max(0, sum_b count_b / n * (gap_b^2 - a_b (1 - a_b) / (count_b - 1))))`` over the bins of at least two rows,
    where a is the accuracy: what noise adds to a squared gap on average is subtracted. It is the L2 error of
    :func:`ece` with ``norm=2`` in the limit of many rows, and near 0 for a calibrated model of few.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : int, default 15
        Number of bins.
    binning : {"equal_width", "equal_mass", "kmeans", "imax"}, default "equal_mass"
        How bins are made; those of equal mass are the authors'.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    CalibrationError
        For unknown options or arrays that do not fit together.
    """
    bins = bins_of(*top_label(probs, labels), n_bins, binning)
    noisy = bins.count > 1
    accuracy = bins.outcome[noisy]
    noise = accuracy * (1.0 - accuracy) / (bins.count[noisy] - 1)
    squares = (bins.value[noisy] - accuracy) ** 2 - noise
    return float(max(bins.count[noisy] @ squares / bins.count.sum(), 0.0) ** 0.5)


def smooth_ece(probs: Any, labels: Any, weights: Any = None) -> float:
    """Smooth ECE of the predicted class, which has no bins (Błasiok and Nakkiran 2023), as relplot computes it.

    ``smECE_s`` is the mean size of the residuals, correct minus confidence, smoothed over the confidence by a Gaussian
    of standard deviation s that is reflected at 0 and 1. It falls as s grows, and the smooth ECE is the s with
    ``smECE_s = s``. Rows are divided between the two nearest of 1,001 grid points. Those at the ends count half,
    as in relplot.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    CalibrationError
        For arrays that do not fit together.
    """
    from scipy.fft import dct, idct
    from scipy.optimize import brentq

    confidence, correct = top_label(probs, labels)
    checked = check_weights(weights, len(confidence))
    weight = np.ones(len(confidence)) if checked is None else checked
    place = confidence * SMOOTH_STEPS
    left = np.minimum(place.astype(np.int64), SMOOTH_STEPS - 1)

    def spectrum(values: Floats) -> Floats:
        cells = np.bincount(left, values * (left + 1 - place), SMOOTH_STEPS + 1)
        cells += np.bincount(left + 1, values * (place - left), SMOOTH_STEPS + 1)
        return np.asarray(dct(cells, type=1))

    residuals = spectrum(weight * (correct - confidence))
    rows = spectrum(weight)
    frequency = np.pi * np.arange(SMOOTH_STEPS + 1)

    def error(width: float) -> float:
        damping = np.exp(-0.5 * (frequency * width) ** 2)
        smoothed = idct(damping * residuals, type=1)
        density = idct(damping * rows, type=1)
        return float(np.abs(smoothed).sum() / density.sum())

    if error(1.0 / SMOOTH_STEPS) <= 1.0 / SMOOTH_STEPS:
        return error(1.0 / SMOOTH_STEPS)
    return float(brentq(lambda width: error(width) - width, 1.0 / SMOOTH_STEPS, 2.0))


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
    n_classes = array.shape[1]
    if (checked := check_weights(weights, len(array))) is not None:
        array, labels, checked = (each[checked > 0] for each in (array, labels, checked))
    above = 1.0 / n_classes if isinstance(threshold, str) and threshold == "1/K" else threshold
    if above is not None and (
        isinstance(above, str) or number_fault(above, False, 0, 1) or above == 1
    ):
        raise CalibrationError(
            f"threshold={threshold!r} must be None, '1/K' or a number in [0, 1)."
        )
    first_edge = bin_edges(array[:, 0], n_bins, "equal_width")[1]
    mass, gap = np.zeros((2, n_classes, int(n_bins)))
    parts = [(slice(None), slice(k, k + 1)) for k in range(n_classes)]
    if binning == "equal_width":  # all classes have the same bins
        parts = [(rows, slice(0, n_classes)) for rows in blocks(len(array), n_classes)]
    # Nearly all probabilities of many classes lie in the first bin, whose sums are what the other bins leave.
    in_sum = above is None and binning == "equal_width"
    least = np.nextafter(first_edge, 0.0) if in_sum else -1.0 if above is None else above
    for rows, classes in parts:
        row, k, values, outcome = pairs_above(
            array[rows, classes], labels[rows] - classes.start, least
        )
        if not len(row):
            continue
        weight = None if checked is None else checked[rows][row]
        cell = (k + classes.start) * gap.shape[1] + binned(values, n_bins, binning, weight)[1]
        excess = values - outcome
        mass += np.bincount(cell, weight, mass.size).reshape(mass.shape)
        gap += np.bincount(cell, excess if weight is None else weight * excess, gap.size).reshape(
            gap.shape
        )
    if in_sum:
        each = np.ones(len(array)) if checked is None else checked
        total = float(each.sum())
        left = total - mass[:, 1:].sum(axis=1)
        mass[:, 0] = np.where(left > 1e-9 * total, left, 0.0)
        sums = np.einsum("n,nk->k", each, array, dtype=np.float64, casting="unsafe")
        gap[:, 0] = sums - np.bincount(labels, each, n_classes) - gap[:, 1:].sum(axis=1)
    gap = np.divide(gap, mass, out=np.zeros_like(gap), where=mass > 0)
    kept = mass.sum(axis=1, keepdims=True)
    return float(norm_of_gaps(gap, mass / np.where(kept > 0, kept, 1.0), norm).mean())


def pairs_above(probs: Floats, labels: Ints, threshold: float) -> tuple[Ints, Ints, Floats, Bools]:
    """Row, class, probability and outcome (whether it is the label's) of each probability above a threshold."""
    place = np.flatnonzero(probs > np.float64(threshold))
    row = place // probs.shape[1]
    k = place - row * probs.shape[1]
    return row, k, probs.ravel()[place].astype(np.float64), labels[row] == k


def classwise_by_row(
    row: Ints,
    k: Ints,
    values: Floats,
    outcome: Bools,
    n: int,
    n_classes: int,
    clusters: Ints | None = None,
    weights: Floats | None = None,
) -> tuple[Floats, float]:
    """(n,) values whose weighted mean is the class-wise ECE of pairs of a row and a class, and what noise adds to it.

    Rows take the signs that the gaps of their cells have. Noise of variance v adds ``sqrt(2 v / pi)`` on average to the
    size of a sum that is 0 in truth, and less to others; cells take the variance of all classes in their bin.

    Parameters
    ----------
    row, k, values, outcome : of each pair, as from :func:`pairs_above`.
    clusters : (n,) number of each row's cluster, or None.
    weights : (n,) weight of each row; None counts all alike.
    """
    weight = np.ones(n) if weights is None else weights
    cell = k * CLASS_BINS + equal_width_index(values, CLASS_BINS)
    excess = values - outcome
    shape = n_classes, CLASS_BINS
    weighted = weight[row] * excess
    sums = np.bincount(cell, weighted, n_classes * CLASS_BINS)
    count = np.bincount(cell, weight[row], len(sums)).reshape(shape)
    squares = np.bincount(cell, weighted**2, len(sums))
    if clusters is not None:
        n_clusters = int(clusters.max()) + 1
        known, unit = np.unique(cell * n_clusters + clusters[row], return_inverse=True)
        squares = np.bincount(known // n_clusters, np.bincount(unit, weighted) ** 2, len(sums))
    in_bin = count.sum(axis=0)
    of_class = count.sum(axis=1)
    variance = count * squares.reshape(shape).sum(axis=0) / np.where(in_bin > 0, in_bin, 1.0)
    share = 1.0 / (n_classes * np.where(of_class > 0, of_class, 1.0))
    by_row = float(weight.sum()) * np.bincount(
        row, (np.sign(sums) * np.repeat(share, CLASS_BINS))[cell] * excess, n
    )
    return by_row, float(share @ np.sqrt(2.0 / np.pi * variance).sum(axis=1))
