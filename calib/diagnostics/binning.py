"""I-Max binning of log-odds: the bins of one class, or of all classes pooled, beside other schemes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import check_labels, check_logits
from calib.calibrators.imax.placement import SCHEMES, scheme_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.diagnostics.log_odds_density import (
    BinnedPairs,
    LogOddsDensity,
    binned_pairs,
    count_in_cells,
    information_of_log_odds,
    log_odds_density,
)
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, logsumexp, one_vs_rest_log_odds

MANY_PAIRS = 1_000_000
FINE_CELLS = 65_536
"""Sorting more pairs takes longer than the rest of the picture; in so many cells edges move by a thousandth."""


@dataclass(frozen=True, eq=False)
class BinningPicture:
    """Bins of every scheme over the densities of the log-odds; information in nats.

    Attributes
    ----------
    target : the class whose pairs these are (class-wise); None for the pairs of all classes (shared map). Two classes
        share one map on class 1, which is then the target.
    n_rows, n_classes : of the logits.
    n_pairs : number of one-vs-rest pairs, n_rows or n_rows * n_classes.
    density : histogram and kernel density of the log-odds for y = 0 and y = 1.
    schemes : "imax", "equal_mass" and "equal_width" -> its bins; and those that were given.
    information : I(log-odds; y) under the kernel densities, in nats: the most that any binning can keep.
    """

    target: int | None
    n_rows: int
    n_classes: int
    n_pairs: int
    density: LogOddsDensity
    schemes: dict[str, BinnedPairs]
    information: float


def binning_picture(
    logits: Any,
    labels: Any,
    target: int | None = None,
    n_bins: int = 15,
    given: Mapping[str, tuple[Floats, Floats]] | None = None,
) -> BinningPicture:
    """Bin one-vs-rest log-odds in every way and measure what each bin keeps.

    Parameters
    ----------
    logits, labels : (n, n_classes) and (n,), such as the calibration set.
    target : a class, for its own pairs (class-wise); None for the pairs of all classes (shared map).
    n_bins : number of bins of each scheme.
    given : name -> inner edges in log-odds and representatives of further bins, such as those of a fitted calibrator:
        ``edges`` and ``values`` of its ``maps_[0]``, or of ``maps_[target]`` for class-wise bins.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, there is no such class, or all pairs have the same outcome.
    """
    logits = check_logits(logits)
    labels = check_labels(labels, logits.shape)
    n_rows, n_classes = logits.shape
    if target is not None and not 0 <= target < n_classes:
        raise CalibrationError(f"There is no class {target}; the logits have {n_classes} columns.")
    if target is None and n_classes == 2:
        target = 1
    log_odds, label_log_odds = _pairs(logits, labels, target)
    if len(label_log_odds) in (0, log_odds.size):
        raise CalibrationError(
            f"{'All' if len(label_log_odds) else 'None'} of the {n_rows} rows are of class {target}, so bins have "
            "nothing to tell apart; choose another class, or all classes together."
        )
    density = log_odds_density(log_odds, label_log_odds)
    sums = _sums(log_odds)
    label_log_odds = np.sort(label_log_odds)
    schemes = {
        name: binned_pairs(sums, label_log_odds, density, scheme_edges(sums, name, n_bins), name) for name in SCHEMES
    }
    for name, (edges, representatives) in (given or {}).items():
        schemes[name] = binned_pairs(sums, label_log_odds, density, edges, name, representatives)
    return BinningPicture(target, n_rows, n_classes, log_odds.size, density, schemes, information_of_log_odds(density))


def picture_of_rows(
    target: int | None, n_bins: int, given: Mapping[str, tuple[Floats, Floats]], *, data: Mapping[str, Any]
) -> BinningPicture:
    """:func:`binning_picture` of the logits and labels among a worker's arrays."""
    return binning_picture(data["logits"], data["labels"], target, n_bins, given)


def _sums(log_odds: Floats) -> SigmoidSums:
    """Running sums of the log-odds, or of where they lie in narrow cells if there are very many."""
    if log_odds.size <= MANY_PAIRS:
        return SigmoidSums.from_log_odds(log_odds)
    low, high = float(log_odds.min()), float(log_odds.max())
    width = max(high - low, 1e-6) / FINE_CELLS
    count = count_in_cells(log_odds, low, width, FINE_CELLS)
    held = np.flatnonzero(count)
    return SigmoidSums.from_weighted(low + width * (held + 0.5), count[held])


def _pairs(logits: Floats, labels: Ints, target: int | None) -> tuple[Floats, Floats]:
    """One-vs-rest log-odds, and those whose class is the label."""
    if target is None:
        log_odds = one_vs_rest_log_odds(logits)
        return log_odds, log_odds[np.arange(len(labels)), labels]
    log_odds = logits[:, target] - logsumexp(np.delete(logits, target, axis=1), axis=1)
    return log_odds, log_odds[labels == target]
