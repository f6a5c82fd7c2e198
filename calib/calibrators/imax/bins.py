"""Counts, information and representatives of the bins of a scheme."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.imax.density import LogOddsDensity, entropy, joint_of_bins, mutual_information
from calib.calibrators.imax.placement import information_bound
from calib.calibrators.imax.sums import SigmoidSums
from calib.numerics import Floats, Ints, sigmoid


@dataclass(frozen=True, eq=False)
class BinnedPairs:
    """One-vs-rest pairs in the bins of one scheme, lowest log-odds first.

    Attributes
    ----------
    scheme : "imax", "equal_mass" or "equal_width".
    edges : (n_bins - 1,) increasing inner edges in log-odds; bin m is ``edges[m - 1] <= log-odds < edges[m]``.
    count : (n_bins,) pairs in each bin.
    positives : (n_bins,) those whose class is the label.
    predicted : (n_bins,) mean of sigmoid(log-odds), what the model says about the bin; NaN where it is empty.
    representatives : (n_bins,) what the bin says after calibration, a probability.
    bound : lower bound of I(bin; y) under P(y = 1 | log-odds) = sigmoid(log-odds), in nats.
    label_information : I(bin; y) under the kernel densities, in nats.
    rate : I(bin; log-odds) = H(bin) under the kernel densities, in nats: what it costs to name the bin.
    """

    scheme: str
    edges: Floats
    count: Ints
    positives: Ints
    predicted: Floats
    representatives: Floats
    bound: float
    label_information: float
    rate: float

    @property
    def mass(self) -> Floats:
        """(n_bins,) share of all pairs in each bin."""
        return self.count / self.count.sum()

    @property
    def frequency(self) -> Floats:
        """(n_bins,) share of a bin's pairs whose class is the label; NaN where it is empty."""
        return self.positives / np.where(self.count, self.count, np.nan)

    @property
    def width(self) -> Floats:
        """(n_bins,) width in log-odds; infinite at both ends."""
        return np.diff(self.edges, prepend=-np.inf, append=np.inf)


def binned_pairs(
    sums: SigmoidSums,
    label_log_odds: Floats,
    density: LogOddsDensity,
    edges: Floats,
    scheme: str,
    representatives: Floats | None = None,
) -> BinnedPairs:
    """Count and measure the pairs in given bins.

    Parameters
    ----------
    sums : the sorted log-odds of all pairs.
    label_log_odds : (n,) those among them whose class is the label, in increasing order.
    density : of the same pairs.
    edges : (n_bins - 1,) increasing inner edges in log-odds.
    scheme : where the edges come from.
    representatives : (n_bins,) what each bin says, for instance of a fitted calibrator; None for the frequencies,
        and an empty bin's middle.
    """
    cuts = sums.positions(edges)
    count, positives = sums.counts(cuts), count_between(label_log_odds, edges)
    one, zero = sums.between(cuts)
    held = count > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        centres = np.log(one) - np.log(zero)
        predicted = np.where(held, one / (one + zero), np.nan)
    if representatives is None:
        representatives = np.divide(positives, count, out=middle_of_bins(edges), where=held)
    joint = joint_of_bins(density, edges)
    return BinnedPairs(
        scheme=scheme,
        edges=edges,
        count=count,
        positives=positives,
        predicted=predicted,
        representatives=representatives,
        bound=information_bound(one[held], zero[held], centres[held]),
        label_information=mutual_information(joint),
        rate=entropy(joint.sum(axis=0)),
    )


def count_between(ordered: Floats, edges: Floats) -> Ints:
    """How many of the increasing log-odds lie in each bin, (n_bins,)."""
    return np.diff(ordered.searchsorted(edges), prepend=0, append=len(ordered))


def middle_of_bins(edges: Floats) -> Floats:
    """The probability midway between the ends of each bin, (n_bins,), for bins that nothing else is known of."""
    ends = np.concatenate([[0.0], sigmoid(edges), [1.0]])
    return (ends[1:] + ends[:-1]) / 2


def monotone_representatives(values: Floats, weights: Floats | Ints) -> Floats:
    """The non-decreasing values nearest to ``values`` in weighted squares: neighbours in the wrong order are pooled.

    Parameters
    ----------
    values : (n_bins,) representatives of neighbouring bins.
    weights : (n_bins,) pairs in each bin; an empty bin gives way to its neighbours.
    """
    from scipy.optimize import isotonic_regression

    return isotonic_regression(values, weights=np.maximum(weights, 1e-9)).x
