"""The one binning of the project: pictures, calibration errors and class-wise errors all use it.

A scheme gives ``n_bins + 1`` edges; bin b holds ``edges[b] <= value < edges[b + 1]`` and the last bin its
upper edge too, so a confidence of exactly 1 lies in the last bin. A new scheme is one function and one
entry in ``BINNINGS``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.arrays import check_number
from calib.calibrators.imax.placement import SigmoidSums, best_edges
from calib.errors import CalibrationError
from calib.metrics.confidence import Bools, check_weights
from calib.numerics import Floats, Ints, bin_index, log_odds_of, sigmoid

KMEANS_ITERATIONS = 300
IMAX_ITERATIONS = 200
SATURATED = 37.0
"""Log-odds beyond which a probability is 1 in double precision."""


MOST_BINS = 1_000_000
"""Far more than can be told apart, and few enough for any memory."""


ON_EDGE = 1e-6
"""Values this little below an edge are on it: a 0.6 that went through logarithms or float32 stays in its bin."""


def equal_width_edges(_: Floats, n_bins: int, __: Floats | None = None) -> Floats:
    """Bins of equal width on [0, 1], with inner edges a trifle lower, so that rounded values lie in one bin all."""
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    edges[1:-1] -= ON_EDGE
    return edges


def equal_width_index(values: Floats, n_bins: int) -> Ints:
    """Bins of (n,) values between :func:`equal_width_edges`, found without searching."""
    return np.minimum(((values + ON_EDGE) * n_bins).astype(np.int32), n_bins - 1)


def equal_mass_edges(values: Floats, n_bins: int, weights: Floats | None = None) -> Floats:
    """Bins that hold about equally many rows, or equal sums of weights.

    Equal values stay together: a cut that would fall inside a run of ties moves to the nearer end of the
    run, which may leave a bin empty. So the bins depend on the values alone, not on the order of the rows.
    """
    order = np.argsort(values)
    ordered = values[order]
    last = np.flatnonzero(np.diff(ordered, append=np.inf))  # of each run of ties
    upto = 1.0 + last if weights is None else np.cumsum(weights[order])[last]
    cuts = (
        np.arange(1, n_bins) * (upto[-1] / n_bins) * (1.0 - 1e-9)
    )  # a rounding error of the sums does not count
    run = np.searchsorted(upto, cuts, side="right")
    end = upto[run]
    start = np.append(0.0, upto)[run]
    go_up = (run < len(last) - 1) & ((run == 0) | (end - cuts < cuts - start))
    return _with_ends(ordered[last[run + go_up]], n_bins)


def kmeans_edges(values: Floats, n_bins: int, weights: Floats | None = None) -> Floats:
    """Midpoints between the centres of one-dimensional k-means, started at quantiles of the distinct values."""
    weights = np.ones(len(values)) if weights is None else weights
    distinct = np.unique(values)
    centres = np.unique(np.quantile(distinct, (np.arange(n_bins) + 0.5) / n_bins, method="nearest"))
    for _ in range(KMEANS_ITERATIONS):
        nearest = np.searchsorted((centres[1:] + centres[:-1]) / 2, values, side="right")
        count = np.bincount(nearest, weights)
        moved = np.bincount(nearest, weights * values)[count > 0] / count[count > 0]
        if np.array_equal(moved, centres):
            break
        centres = moved
    return _with_ends((centres[1:] + centres[:-1]) / 2, n_bins)


def imax_edges(values: Floats, n_bins: int, weights: Floats | None = None) -> Floats:
    """Bins of the values' log-odds that keep the most information about the outcome (Patel et al. 2020, table S3)."""
    log_odds = np.clip(log_odds_of(values), -SATURATED, SATURATED)
    order = np.argsort(log_odds)
    weight = np.ones(len(order)) if weights is None else weights[order]
    sums = SigmoidSums.from_weighted(log_odds[order], weight)
    return _with_ends(
        sigmoid(best_edges(sums, n_bins, n_starts=1, max_steps=IMAX_ITERATIONS)), n_bins
    )


def _with_ends(inner: Floats, n_bins: int) -> Floats:
    # Fewer distinct values than bins: the missing bins are empty ones at the top.
    return np.concatenate([[0.0], np.minimum(inner, 1.0), np.ones(n_bins - len(inner))])


BINNINGS: dict[str, Callable[[Floats, int, Floats | None], Floats]] = {
    "equal_width": equal_width_edges,
    "equal_mass": equal_mass_edges,
    "kmeans": kmeans_edges,
    "imax": imax_edges,
}
"""Name of a scheme -> function of (values, n_bins, positive weights or None) that gives the ``n_bins + 1`` edges."""


def bin_edges(values: Floats, n_bins: int, binning: str, weights: Floats | None = None) -> Floats:
    """Edges of a scheme, shape (n_bins + 1,), from 0 to 1, for values whose weights, if any, are above 0."""
    if binning not in tuple(BINNINGS):
        raise CalibrationError(
            f"There is no binning {binning!r}; choose from {', '.join(BINNINGS)}."
        )
    check_number("n_bins", n_bins, 1, MOST_BINS, whole=True)
    return BINNINGS[binning](values, n_bins, weights)


def binned(
    values: Floats, n_bins: int, binning: str, weights: Floats | None = None
) -> tuple[Floats, Ints]:
    """Edges of a scheme and the bin of each of (n,) values; the edges are those of the values with a weight above 0."""
    weighty = slice(None) if weights is None else weights > 0
    edges = bin_edges(
        values[weighty], n_bins, binning, None if weights is None else weights[weighty]
    )
    if binning == "equal_width":
        return edges, equal_width_index(values, len(edges) - 1)
    return edges, bin_index(values, edges)


@dataclass(frozen=True, eq=False)
class Bins:
    """Means over bins, all bins kept, the empty ones as NaN.

    Attributes
    ----------
    edges : (n_bins + 1,) float array
    index : (n,) bin of each row.
    count : (n_bins,) rows in each bin.
    value : (n_bins,) mean value (confidence) of each bin.
    outcome : (n_bins,) mean outcome (accuracy) of each bin.
    mass : (n_bins,) sum of the weights in each bin; the count where rows have none.
    """

    edges: Floats
    index: Ints
    count: Ints
    value: Floats
    outcome: Floats
    mass: Ints | Floats

    @property
    def nonempty(self) -> Ints:
        """Numbers of the bins that are not empty."""
        return np.flatnonzero(self.mass)

    @property
    def gap(self) -> Floats:
        """Mean value minus mean outcome of the bins that are not empty; positive is overconfident."""
        return (self.value - self.outcome)[self.nonempty]

    @property
    def weight(self) -> Floats:
        """Share of the rows, or of their weights, in each bin that is not empty."""
        return self.mass[self.nonempty] / self.mass.sum()


def bins_of(
    values: Floats, outcomes: Bools, n_bins: int, binning: str, weights: Any = None
) -> Bins:
    """Bin values and average values and outcomes in each bin, as if rows stood there as often as their weights say."""
    checked = check_weights(weights, len(values))
    edges, index = binned(values, n_bins, binning, checked)
    count = np.bincount(index, minlength=len(edges) - 1)
    mass: Ints | Floats = count
    totals: tuple[Floats | Bools, ...] = (values, outcomes)
    if checked is not None:
        mass = np.bincount(index, checked, len(count))
        totals = (checked * values, checked * outcomes)
    rows = np.where(mass, mass, np.nan)
    value, outcome = (
        np.bincount(index, weights=total, minlength=len(count)) / rows for total in totals
    )
    return Bins(edges=edges, index=index, count=count, value=value, outcome=outcome, mass=mass)
