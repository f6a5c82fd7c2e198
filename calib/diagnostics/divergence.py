"""Whether pooling the classes costs more in bias than it saves in noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, Ints

N_CELLS = 30
N_SIZES = 8
MOST_CLASSES = 12
FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class SharingDivergence:
    """Distance of class-wise and of pooled calibration sets from the truth of a class (Patel et al. 2020, figure S1).

    For a class k and n rows, the distribution of its log-odds where it is the label (y = 1) is estimated from the
    rows of class k alone (CW) and from the rows of all classes (sCW). Each is compared with a baseline of that
    class from rows kept apart, by the square root of the Jensen-Shannon divergence to base 2: 0 is the same
    distribution, 1 no overlap.

    Attributes
    ----------
    classes : (n_chosen,) the classes compared.
    n_rows : (n_sizes,) increasing sizes of the calibration set.
    classwise, shared : (n_chosen, n_sizes) mean distance over the draws; NaN where no row of the class was drawn.
    n_baseline : (n_chosen,) rows behind each baseline.
    """

    classes: Ints
    n_rows: Ints
    classwise: Floats
    shared: Floats
    n_baseline: Ints


def sharing_divergence(
    label_log_odds: Any,
    labels: Any,
    classes: Sequence[int] | None = None,
    n_rows: Sequence[int] | None = None,
    n_draws: int = 20,
    random_state: int = 0,
) -> SharingDivergence:
    """Compare class-wise and pooled calibration sets of growing size with the truth.

    Half of the rows, drawn at random, are the baseline; calibration sets are drawn from the other half. Distributions
    are histograms of 30 cells of equal width.

    Parameters
    ----------
    label_log_odds : (n,) one-vs-rest log-odds of the label of each row.
    labels : (n,) integers.
    classes : the classes to compare; None for the most frequent ones, up to 12.
    n_rows : increasing sizes of calibration sets; None for 8 sizes up to half of the rows.
    n_draws : sets of each size.
    random_state : seed of the draws.

    Raises
    ------
    CalibrationError
        With fewer than 20 rows, or sizes beyond half of the rows.
    """
    label_log_odds, labels = np.asarray(label_log_odds), np.asarray(labels)
    n = len(labels)
    if n < 2 * FEWEST_ROWS:
        raise CalibrationError(f"{n} rows are too few to be divided; this comparison needs {2 * FEWEST_ROWS}.")
    n_drawn = n - n // 2
    sizes = _sizes(n_drawn) if n_rows is None else np.array(n_rows)
    if sizes.min() < 1 or sizes.max() > n_drawn:
        raise CalibrationError(
            f"Calibration sets here hold 1 to {n_drawn} rows, half of all; {sizes.max()} is no such size."
        )
    generator = np.random.default_rng(random_state)
    order = generator.permutation(n)
    cells = _cells(label_log_odds)
    table = labels * N_CELLS + cells
    n_classes = int(labels.max()) + 1
    baseline = _counts(table[order[: n // 2]], n_classes)
    chosen = _frequent(baseline) if classes is None else np.array(classes)
    classwise = np.full((n_draws, len(chosen), len(sizes)), np.nan)
    shared = np.full_like(classwise, np.nan)
    for draw in range(n_draws):
        rows = generator.permutation(order[n // 2 :])
        for i, size in enumerate(sizes):
            counts = _counts(table[rows[:size]], n_classes)
            classwise[draw, :, i] = distance(counts[chosen], baseline[chosen])
            shared[draw, :, i] = distance(counts.sum(axis=0), baseline[chosen])
    return SharingDivergence(
        classes=chosen,
        n_rows=sizes,
        classwise=_mean(classwise),
        shared=_mean(shared),
        n_baseline=baseline[chosen].sum(axis=1),
    )


def distance(counts: Ints, others: Ints) -> Floats:
    """Square root of the Jensen-Shannon divergence to base 2 of two histograms over the last axis; NaN of an empty one.

    In [0, 1], and a metric.
    """
    totals = [np.where(total := c.sum(axis=-1, keepdims=True), total, np.nan) for c in (counts, others)]
    p, q = counts / totals[0], others / totals[1]
    middle = (p + q) / 2
    return np.sqrt(np.clip(_entropy(middle) - (_entropy(p) + _entropy(q)) / 2, 0.0, 1.0))


def _entropy(masses: Floats) -> Floats:
    """Entropy in bits over the last axis."""
    return -np.sum(masses * np.log2(np.where(masses > 0, masses, 1.0)), axis=-1)


def _sizes(n_drawn: int) -> Ints:
    return np.unique(np.geomspace(min(FEWEST_ROWS, n_drawn), n_drawn, N_SIZES).round().astype(int))


def _cells(values: Floats) -> Ints:
    low, high = float(values.min()), float(values.max())
    width = max(high - low, 1e-9) / N_CELLS
    return np.minimum(((values - low) / width).astype(np.intp), N_CELLS - 1)


def _counts(table: Ints, n_classes: int) -> Ints:
    return np.bincount(table, minlength=n_classes * N_CELLS).reshape(n_classes, N_CELLS)


def _frequent(baseline: Ints) -> Ints:
    """The most frequent classes, in their own order."""
    frequency = baseline.sum(axis=1)
    most = np.argsort(-frequency, kind="stable")[:MOST_CLASSES]
    return np.sort(most[frequency[most] > 0])


def _mean(draws: Floats) -> Floats:
    """Mean over the first axis of what is not NaN."""
    known = np.isfinite(draws)
    count = known.sum(axis=0)
    return np.where(known, draws, 0.0).sum(axis=0) / np.where(count, count, np.nan)
