"""I-Max binning of log-odds: densities, the bins of one class or of all pooled, and the information that they keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import check_logits
from calib.calibrators.imax import count_between, mean_of_bins
from calib.calibrators.imax.placement import (
    SCHEMES,
    SigmoidSums,
    best_edges,
    equal_width_edges,
    scheme_edges,
)
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, logsumexp, one_vs_rest_log_odds

MOST_PAIRS = 1_000_000
"""Of more, those of every second, third, ... row are shown."""


@dataclass(frozen=True, eq=False)
class BinningPicture:
    """Bins of every scheme over the densities of the log-odds; information in nats.

    Attributes
    ----------
    target : the class whose pairs these are (class-wise); None for the pairs of all classes (shared map). Two classes
        share one map on class 1, which is then the target.
    n_rows, n_classes : of the logits that are shown.
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
    fitted_bins: Mapping[str, tuple[Floats, Floats]] | None = None,
) -> BinningPicture:
    """Bin one-vs-rest log-odds in every way and measure what each bin keeps.

    Parameters
    ----------
    logits, labels : (n, n_classes) and (n,), such as the calibration set.
    target : a class, for its own pairs (class-wise); None for the pairs of all classes (shared map).
    n_bins : number of bins of each scheme.
    fitted_bins : name -> inner edges in log-odds and representatives of further bins, such as those of a calibrator:
        ``edges`` and ``values`` of its ``maps_[0]``, or of ``maps_[target]`` for class-wise bins.
    """
    array = np.asarray(logits)
    every = max(1, -(-(array.size if target is None else len(array)) // MOST_PAIRS))
    logits = check_logits(array[::every])
    labels = np.asarray(labels)[::every]
    n_rows, n_classes = logits.shape
    if target is None and n_classes == 2:
        target = 1
    log_odds, label_log_odds = _pairs(logits, labels, target)
    if len(label_log_odds) in (0, log_odds.size):
        raise CalibrationError(
            f"{'All' if len(label_log_odds) else 'None'} of the {n_rows} rows are of class {target}, so bins have "
            "nothing to tell apart; choose another class, or all classes together."
        )
    density = log_odds_density(log_odds, label_log_odds)
    sums = SigmoidSums.from_log_odds(log_odds)
    label_log_odds = np.sort(label_log_odds)
    placed = {name: (scheme_edges(sums, name, n_bins), None) for name in SCHEMES} | dict(
        fitted_bins or {}
    )
    schemes = {
        name: binned_pairs(sums, label_log_odds, density, *bins) for name, bins in placed.items()
    }
    return BinningPicture(
        target, n_rows, n_classes, log_odds.size, density, schemes, information_of_log_odds(density)
    )


def picture_of_rows(
    target: int | None,
    n_bins: int,
    fitted_bins: Mapping[str, tuple[Floats, Floats]],
    *,
    data: Mapping[str, Any],
) -> BinningPicture:
    """:func:`binning_picture` of the logits and labels among a worker's arrays."""
    return binning_picture(data["logits"], data["labels"], target, n_bins, fitted_bins)


def _pairs(logits: Floats, labels: Ints, target: int | None) -> tuple[Floats, Floats]:
    """One-vs-rest log-odds, and those whose class is the label."""
    if target is None:
        log_odds = one_vs_rest_log_odds(logits)
        return log_odds, log_odds[np.arange(len(labels)), labels]
    log_odds = logits[:, target] - logsumexp(np.delete(logits, target, axis=1), axis=1)
    return log_odds, log_odds[labels == target]


N_CELLS = 4096
"""Cells between the lowest and the highest log-odds: narrower than any kernel that real data ask for."""

TAIL = 5.0
"""Bandwidths beyond the data at which a kernel is taken to end."""

FEW_PAIRS = 1e-3
"""With fewer expected pairs in a cell, a ratio of densities is a ratio of two kernels' tails."""


@dataclass(frozen=True, eq=False)
class LogOddsDensity:
    """Distribution of one-vs-rest log-odds where the class is the label (y = 1) and where it is not (y = 0).

    Millions of pairs are counted in narrow cells of equal width once; the Gaussian kernel density estimates
    (Patel et al. 2020, figure 3) come from the counts.

    Attributes
    ----------
    edges : (n_cells + 1,) equally spaced log-odds; the kernel's tails are inside.
    count_label, count_other : (n_cells,) pairs with y = 1 and with y = 0 in each cell.
    density_label, density_other : (n_cells,) p(log-odds | y) at the middle of each cell, per unit of log-odds;
        each integrates to one over the cells, and is 0 where there is no such pair.
    """

    edges: Floats
    count_label: Ints
    count_other: Ints
    density_label: Floats
    density_other: Floats

    @property
    def middles(self) -> Floats:
        """(n_cells,) middle of each cell, where the densities are given."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def share_label(self) -> float:
        """P(y = 1), the share of pairs whose class is the label."""
        positives = int(self.count_label.sum())
        return positives / (positives + int(self.count_other.sum()))

    @property
    def cell_width(self) -> float:
        """Width of the cells in log-odds."""
        return float(self.edges[-1] - self.edges[0]) / len(self.count_label)

    @property
    def posterior(self) -> Floats:
        """(n_cells,) P(y = 1 | log-odds) under the kernel densities; NaN where hardly any pair is near."""
        joint = self.joint()
        mass = joint.sum(axis=0)
        pairs = mass * float(self.count_label.sum() + self.count_other.sum())
        return joint[1] / np.where(pairs > FEW_PAIRS, mass, np.nan)

    def joint(self) -> Floats:
        """P(y, cell) under the kernel densities, (2, n_cells), y = 0 first; sums to one."""
        share = self.share_label
        masses = np.stack([self.density_other * (1.0 - share), self.density_label * share])
        return masses / masses.sum()


def log_odds_density(log_odds: Floats, label_log_odds: Floats) -> LogOddsDensity:
    """Count log-odds in cells and smooth the counts.

    The bandwidth of each kernel is ``sd * n^(-1/5)`` (Scott 1992).

    Parameters
    ----------
    log_odds : one-vs-rest log-odds of all pairs, any shape.
    label_log_odds : (n,) those among them whose class is the label.
    """
    low = float(log_odds.min())
    high = float(log_odds.max())
    if high - low < 1e-6:
        low = low - 0.5
        high = high + 0.5
    width = (high - low) / N_CELLS
    counts = [_counts(values, low, width) for values in (log_odds, label_log_odds)]
    bandwidths = [_bandwidth(count, width) for count in (counts[1], counts[0] - counts[1])]
    margin = int(np.ceil(TAIL * max(bandwidths) / width))
    label = np.pad(counts[1], margin)
    other = np.pad(counts[0] - counts[1], margin)
    return LogOddsDensity(
        edges=low + width * np.arange(-margin, N_CELLS + margin + 1),
        count_label=label,
        count_other=other,
        density_label=_smoothed(label, width, bandwidths[0]),
        density_other=_smoothed(other, width, bandwidths[1]),
    )


def _counts(values: Floats, low: float, width: float) -> Ints:
    """Count the values in each cell from ``low`` on, (N_CELLS,)."""
    cell = ((values.ravel() - low) / width).astype(np.intp)
    return np.bincount(np.clip(cell, 0, N_CELLS - 1), minlength=N_CELLS)


def _bandwidth(count: Ints, width: float) -> float:
    """Scott's rule on counts in cells; a cell's width for a single pair or none."""
    n = int(count.sum())
    if n < 2:
        return width
    position = np.arange(len(count))
    mean = count @ position / n
    variance = count @ (position - mean) ** 2 / (n - 1)
    return width * max(float(np.sqrt(variance)) * n**-0.2, 1.0)


def _smoothed(count: Ints, width: float, bandwidth: float) -> Floats:
    """Gaussian kernel density at the middle of each cell."""
    from scipy.ndimage import gaussian_filter1d

    smooth = gaussian_filter1d(
        count.astype(float), bandwidth / width, mode="constant", truncate=TAIL
    )
    return np.asarray(smooth) / (max(int(count.sum()), 1) * width)


def entropy(masses: Floats) -> float:
    """Entropy in nats of masses that sum to one; zero masses contribute nothing."""
    positive = masses[masses > 0]
    return float(-np.sum(positive * np.log(positive)))


def mutual_information(joint: Floats) -> float:
    """``sum_y sum_m P(y, m) log[P(y, m) / (P(y) P(m))]`` in nats.

    Parameters
    ----------
    joint : (n_labels, n_bins) masses that sum to one.
    """
    independent = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    positive = joint > 0
    return max(
        float(np.sum(joint[positive] * np.log(joint[positive] / independent[positive]))), 0.0
    )


def joint_of_bins(density: LogOddsDensity, edges: Floats) -> Floats:
    """P(y, bin) under the kernel densities, (2, n_bins), y = 0 first.

    A cell that an edge cuts is divided in proportion, which leaves no more information in the bins than in the
    cells.

    Parameters
    ----------
    edges : (n_bins - 1,) increasing inner edges in log-odds.
    """
    below = np.concatenate([np.zeros((2, 1)), np.cumsum(density.joint(), axis=1)], axis=1)
    at_edges = np.stack([np.interp(edges, density.edges, row) for row in below])
    return np.diff(at_edges, axis=1, prepend=0.0, append=below[:, -1:])


def information_of_log_odds(density: LogOddsDensity) -> float:
    """I(log-odds; y) in nats under the kernel densities: what no binning can exceed; itself at most H(y)."""
    return mutual_information(density.joint())


def uncertain_span(density: LogOddsDensity, share: float = 0.5) -> tuple[float, float]:
    """Log-odds between which this share of H(y | log-odds) lies, with as much of the rest to either side.

    It is where the label is uncertain: there edges keep most information.
    """
    joint = density.joint()
    mass = joint.sum(axis=0)
    chance = joint / np.where(mass > 0, mass, 1.0)
    below = np.cumsum(-(joint * np.log(np.where(chance > 0, chance, 1.0))).sum(axis=0))
    low, high = np.interp(
        [(1 - share) / 2 * below[-1], (1 + share) / 2 * below[-1]], below, density.middles
    )
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class BinnedPairs:
    """One-vs-rest pairs in the bins of one scheme, lowest log-odds first.

    Attributes
    ----------
    edges : (n_bins - 1,) increasing inner edges in log-odds; bin m is ``edges[m - 1] <= log-odds < edges[m]``.
    count : (n_bins,) pairs in each bin.
    positives : (n_bins,) those whose class is the label.
    predicted : (n_bins,) mean of sigmoid(log-odds), what the model says about the bin; NaN where it is empty.
    representatives : (n_bins,) what the bin says after calibration, a probability.
    label_information : I(bin; y) under the kernel densities, in nats.
    """

    edges: Floats
    count: Ints
    positives: Ints
    predicted: Floats
    representatives: Floats
    label_information: float

    @property
    def mass(self) -> Floats:
        """(n_bins,) share of all pairs in each bin."""
        return self.count / self.count.sum()

    @property
    def width(self) -> Floats:
        """(n_bins,) width in log-odds; infinite at both ends."""
        return np.diff(self.edges, prepend=-np.inf, append=np.inf)


def binned_pairs(
    sums: SigmoidSums,
    label_log_odds: Floats,
    density: LogOddsDensity,
    edges: Floats,
    representatives: Floats | None = None,
) -> BinnedPairs:
    """Count and measure the pairs in given bins.

    Parameters
    ----------
    sums : the sorted log-odds of all pairs.
    label_log_odds : (n,) those among them whose class is the label, in increasing order.
    density : of the same pairs.
    edges : (n_bins - 1,) increasing inner edges in log-odds.
    representatives : (n_bins,) what each bin says, for instance of a fitted calibrator; None for the frequencies,
        and an empty bin's middle.
    """
    cuts = sums.positions(edges)
    count = sums.counts(cuts)
    positives = count_between(label_log_odds, edges)
    positive, negative = sums.between(cuts)
    with np.errstate(invalid="ignore"):
        predicted = np.where(count > 0, positive / (positive + negative), np.nan)
    if representatives is None:
        representatives = mean_of_bins(positives, count, edges)
    return BinnedPairs(
        edges=edges,
        count=count,
        positives=positives,
        predicted=predicted,
        representatives=representatives,
        label_information=mutual_information(joint_of_bins(density, edges)),
    )


BIN_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
N_STARTS = 3
"""Of I-Max for each number of bins."""
LEAST_MASS = 1e-9
"""A cell with less can be seen in no picture, and would be lost in running sums."""


@dataclass(frozen=True, eq=False)
class InformationByBins:
    """Schemes with 2 to 64 bins (the numbers of Patel et al. 2020, figure 4b); all in nats.

    The kernel densities are taken as the truth: the bins are made on them and measured on them. No bins keep more than
    the log-odds carry, nor more than their own rate.

    Attributes
    ----------
    n_bins : (n_points,) numbers of bins.
    rate : scheme -> (n_points,) I(bin; log-odds) = H(bin).
    label_information : scheme -> (n_points,) I(bin; y).
    information : I(log-odds; y).
    """

    n_bins: Ints
    rate: dict[str, Floats]
    label_information: dict[str, Floats]
    information: float


def density_sums(density: LogOddsDensity) -> SigmoidSums:
    """Sums over the cells of the kernel densities."""
    mass = density.joint().sum(axis=0)
    inside = mass > LEAST_MASS
    return SigmoidSums.from_weighted(density.middles[inside], mass[inside])


def density_quantiles(density: LogOddsDensity, n_bins: int) -> Floats:
    """Inner edges of bins of equal mass under the kernel densities, (n_bins - 1,) log-odds."""
    below = np.concatenate([[0.0], np.cumsum(density.joint().sum(axis=0))])
    return np.interp(np.arange(1, n_bins) / n_bins * below[-1], below, density.edges)


def information_by_bins(
    density: LogOddsDensity, n_bins: Sequence[int] = BIN_COUNTS
) -> InformationByBins:
    """Place and measure the bins of every scheme for several, increasing numbers of bins."""
    sums = density_sums(density)
    place: dict[str, Callable[[int], Floats]] = {
        "imax": lambda m: best_edges(sums, m, N_STARTS),
        "equal_mass": lambda m: density_quantiles(density, m),
        "equal_width": equal_width_edges,
    }
    joint = {
        name: [joint_of_bins(density, edges(m)) for m in n_bins] for name, edges in place.items()
    }
    return InformationByBins(
        n_bins=np.array(n_bins),
        rate={
            name: np.array([entropy(table.sum(axis=0)) for table in tables])
            for name, tables in joint.items()
        },
        label_information={
            name: np.array([mutual_information(table) for table in tables])
            for name, tables in joint.items()
        },
        information=information_of_log_odds(density),
    )
