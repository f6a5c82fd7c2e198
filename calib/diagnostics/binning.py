"""I-Max binning of log-odds: the bins of a class or of all, shared maps against class-wise ones, and ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import check_labels, check_logits
from calib.calibrators.imax.placement import SCHEMES, EdgeTrace, best_traces, scheme_edges
from calib.calibrators.imax.sums import SigmoidSums
from calib.diagnostics.log_odds_density import (
    BinnedPairs,
    LogOddsDensity,
    binned_pairs,
    count_in_cells,
    information_along,
    information_of_log_odds,
    label_entropy,
    log_odds_density,
)
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, blocks, logsumexp, one_vs_rest_log_odds


@dataclass(frozen=True, eq=False)
class RankHistogram:
    """Where the log-odds of the first, second, ... class of each row lie (Patel et al. 2020, figure S2).

    Attributes
    ----------
    edges : (n_cells + 1,) equally spaced log-odds.
    titles : one for each group of ranks, "1st", "2nd", "3rd", "4th and 5th", "below"; fewer for few classes.
    count : (n_groups, n_cells) classes of that rank in each cell.
    """

    edges: Floats
    titles: tuple[str, ...]
    count: Ints


_GROUPS = (("1st", 1), ("2nd", 2), ("3rd", 3), ("4th and 5th", 5))


def rank_histogram(log_odds: Floats, density: LogOddsDensity) -> RankHistogram:
    """Count log-odds by rank in the cells of their density.

    Parameters
    ----------
    log_odds : (n, n_classes) one-vs-rest log-odds; they rank the classes of a row as its logits do.
    density : of the same log-odds.
    """
    low, width, n_cells = float(density.edges[0]), density.cell_width, len(density.count_label)
    n_classes = log_odds.shape[1]
    n_top = min(_GROUPS[-1][1], n_classes)
    ranked = np.partition(log_odds, n_classes - n_top, axis=1) if n_top < n_classes else log_odds.copy()
    ranked[:, n_classes - n_top :].sort(axis=1)
    titles, counts, end = [], [], n_classes
    for title, last in (*_GROUPS, ("below", n_classes)):
        start = max(n_classes - last, 0)
        if start < end:
            titles.append(title)
            counts.append(count_in_cells(ranked[:, start:end], low, width, n_cells))
            end = start
    return RankHistogram(density.edges, tuple(titles), np.array(counts))


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
    traces = _best_of_each_kind(best_traces(sums, n_bins))
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


def picture_of_rows(
    target: int | None, n_bins: int, given: Mapping[str, tuple[Floats, Floats]], *, data: Mapping[str, Any]
) -> BinningPicture:
    """:func:`binning_picture` of the logits and labels among a worker's arrays."""
    return binning_picture(data["logits"], data["labels"], target, n_bins, given)


def densities_of_rows(k: int, *, data: Mapping[str, Any]) -> tuple[LogOddsDensity, LogOddsDensity]:
    """Densities of the log-odds of class ``k`` alone, and of all classes pooled, of a worker's arrays."""
    log_odds, labels = one_vs_rest_log_odds(np.asarray(data["logits"])), data["labels"]
    own = log_odds[:, k]
    return (
        log_odds_density(own, own[labels == k]),
        log_odds_density(log_odds, log_odds[np.arange(len(labels)), labels]),
    )


def _best_of_each_kind(traces: Sequence[EdgeTrace]) -> tuple[EdgeTrace, ...]:
    """The first trace from k-means++, from equal mass and from equal width, in the order given."""
    first: dict[str, EdgeTrace] = {}
    for trace in traces:
        first.setdefault(trace.start, trace)
    return tuple(first.values())


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


N_CELLS = 30
N_SIZES = 8
MOST_CLASSES = 12
FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False)
class SharingDivergence:
    """Distance of class-wise and of shared calibration sets from the truth of a class (Patel et al. 2020, figure S1).

    For a class k and n rows, the distribution of its log-odds where it is the label (y = 1) is estimated from the
    rows of class k alone (class-wise) and from the rows of all classes (shared map). Each is compared with a baseline
    of that class from rows kept apart, by the square root of the Jensen-Shannon divergence to base 2: 0 is the same
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
) -> SharingDivergence:
    """Compare class-wise and shared calibration sets of growing size with the truth.

    Half of the rows, drawn at random, are the baseline; calibration sets are drawn from the other half. Distributions
    are histograms of 30 cells of equal width.

    Parameters
    ----------
    label_log_odds : (n,) one-vs-rest log-odds of the label of each row.
    labels : (n,) integers.
    classes : the classes to compare; None for the most frequent ones, up to 12.
    n_rows : increasing sizes of calibration sets; None for 8 sizes up to half of the rows.
    n_draws : sets of each size.

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
    generator = np.random.default_rng(0)
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


def sharing_of_rows(*, data: Mapping[str, Any]) -> SharingDivergence:
    """:func:`sharing_divergence` of the logits and labels among a worker's arrays."""
    return sharing_divergence(label_log_odds(data["logits"], data["labels"]), data["labels"])


def label_log_odds(logits: Any, labels: Any) -> Floats:
    """Log-odds of each row's label against the rest, (n,), of logits (n, n_classes)."""
    log_odds = np.empty(len(labels))
    for rows in blocks(*logits.shape):
        part = np.array(logits[rows], dtype=float)
        places = np.arange(len(part)), labels[rows]
        own = part[places]
        part[places] = -np.inf
        log_odds[rows] = own - logsumexp(part, axis=1)
    return log_odds


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
