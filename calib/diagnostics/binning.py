"""Everything the picture of the bins shows, for all classes together or for one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.calibrators.imax.bins import BinnedPairs, binned_pairs
from calib.calibrators.imax.density import LogOddsDensity, count_in_cells, log_odds_density
from calib.calibrators.imax.information import information_along, information_of_log_odds, label_entropy
from calib.calibrators.imax.placement import EdgeTrace, best_traces
from calib.calibrators.imax.schemes import SCHEMES, scheme_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.checked_arrays import check_labels, check_logits
from calib.diagnostics.ranks import RankHistogram, rank_histogram
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
    target : the class whose pairs these are (CW); None where all classes are pooled (sCW). Of two classes, both
        pooled would show each pair twice: the target is then class 1.
    n_rows, n_classes : of the logits.
    n_pairs : number of one-vs-rest pairs, n_rows or n_rows * n_classes.
    density : histogram and kernel density of the log-odds for y = 0 and y = 1.
    schemes : "imax", "equal_mass" and "equal_size" -> its bins; and those that were given.
    traces : the iterations of I-Max, the best from each kind of start, the highest first; ``schemes["imax"]`` is
        where that ends.
    trace_information : (n_steps,) I(bin; y) under the kernel densities along each of ``traces``, in nats.
    ranks : log-odds by rank; None for one class.
    information : I(log-odds; y) under the kernel densities, in nats: the most that any binning can keep.
    label_entropy : H(y) in nats, which bounds that in turn.
    """

    target: int | None
    n_rows: int
    n_classes: int
    n_pairs: int
    density: LogOddsDensity
    schemes: dict[str, BinnedPairs]
    traces: tuple[EdgeTrace, ...]
    trace_information: tuple[Floats, ...]
    ranks: RankHistogram | None
    information: float
    label_entropy: float

    @property
    def best(self) -> EdgeTrace:
        """The iterations that led to the bins of I-Max."""
        return self.traces[0]


def binning_picture(
    logits: Any,
    labels: Any,
    target: int | None = None,
    n_bins: int = 15,
    given: Mapping[str, tuple[Floats, Floats]] | None = None,
    n_starts: int = 8,
    random_state: int = 0,
) -> BinningPicture:
    """Bin one-vs-rest log-odds in every way and measure what each bin keeps.

    Parameters
    ----------
    logits, labels : (n, n_classes) and (n,), such as the calibration set.
    target : a class, for its own pairs (CW); None pools all classes (sCW).
    n_bins : number of bins of each scheme.
    given : name -> inner edges in log-odds and representatives of further bins, such as those of a fitted calibrator:
        ``(state["edges"], state["values"])`` of its ``maps_[0]``, or of ``maps_[target]`` for class-wise bins.
    n_starts, random_state : of I-Max, see :func:`~calib.calibrators.imax.placement.best_traces`; as many starts as a fit has by
        default, whose edges the picture then shows.

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
    traces = _best_of_each_kind(best_traces(sums, n_bins, n_starts, random_state))
    edges = {name: scheme_edges(sums, name, n_bins) for name in SCHEMES if name != "imax"}
    schemes = {
        name: binned_pairs(sums, label_log_odds, density, edges.get(name, traces[0].edges[-1]), name)
        for name in SCHEMES
    }
    for name, (own_edges, representatives) in (given or {}).items():
        schemes[name] = binned_pairs(sums, label_log_odds, density, own_edges, name, representatives)
    return BinningPicture(
        target=target,
        n_rows=n_rows,
        n_classes=n_classes,
        n_pairs=log_odds.size,
        density=density,
        schemes=schemes,
        traces=traces,
        trace_information=tuple(information_along(density, trace.edges) for trace in traces),
        ranks=rank_histogram(log_odds, density) if target is None else None,
        information=information_of_log_odds(density),
        label_entropy=label_entropy(density),
    )


def _best_of_each_kind(traces: Sequence[EdgeTrace]) -> tuple[EdgeTrace, ...]:
    """The first trace from k-means++, from equal mass and from equal size, in the order given."""
    first: dict[str, EdgeTrace] = {}
    for trace in traces:
        first.setdefault(trace.start, trace)
    return tuple(first.values())


def _sums(log_odds: Floats) -> SigmoidSums:
    """Running sums of the log-odds, or of where they lie in narrow cells if there are very many."""
    if log_odds.size <= MANY_PAIRS:
        return SigmoidSums.of(log_odds)
    low, high = float(log_odds.min()), float(log_odds.max())
    width = max(high - low, 1e-6) / FINE_CELLS
    count = count_in_cells(log_odds, low, width, FINE_CELLS)
    held = np.flatnonzero(count)
    return SigmoidSums.of_weighted(low + width * (held + 0.5), count[held])


def _pairs(logits: Floats, labels: Ints, target: int | None) -> tuple[Floats, Floats]:
    """One-vs-rest log-odds, and those whose class is the label."""
    if target is None:
        log_odds = one_vs_rest_log_odds(logits)
        return log_odds, log_odds[np.arange(len(labels)), labels]
    log_odds = logits[:, target] - logsumexp(np.delete(logits, target, axis=1), axis=1)
    return log_odds, log_odds[labels == target]
