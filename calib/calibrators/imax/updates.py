"""The two half-steps of I-Max and the bound that each of them raises."""

from __future__ import annotations

import numpy as np

from calib.calibrators.imax.sums import SigmoidSums
from calib.numerics import Floats, Ints, softplus


def centres_of(sums: SigmoidSums, cuts: Ints) -> Floats:
    """Log-odds of the mean of sigmoid(log-odds) in each bin (Patel et al. 2020, eq. 6, phi).

    Parameters
    ----------
    cuts : (n_bins + 1,) positions of the ends of bins that all hold something.

    Returns
    -------
    (n_bins,) strictly increasing: each lies between the lowest and the highest log-odds of its bin.
    """
    one, zero = sums.between(cuts)
    centres = np.log(one) - np.log(zero)
    # A rounding error may carry the centre of a bin of equal log-odds out of it, and past the next one.
    return np.minimum(np.maximum(centres, sums.log_odds[cuts[:-1]]), sums.log_odds[cuts[1:] - 1])


def edges_between(centres: Floats) -> Floats:
    """Log-odds at which two neighbouring centres explain a label equally well (Patel et al. 2020, eq. 6, g).

    Parameters
    ----------
    centres : (n_bins,) strictly increasing log-odds.

    Returns
    -------
    (n_bins - 1,) increasing edges, each above the centre on its left and at most at that on its right.
    """
    below, above = centres[:-1], centres[1:]
    gain_if_one = softplus(-centres)
    gain_if_zero = softplus(centres)
    gain_if_one = gain_if_one[:-1] - gain_if_one[1:]
    gain_if_zero = gain_if_zero[1:] - gain_if_zero[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        edges = np.log(gain_if_zero) - np.log(gain_if_one)
    # Centres so close that a difference has vanished: the exact edge lies between them in any case.
    edges = np.where(np.isfinite(edges), edges, (below + above) / 2)
    return np.minimum(np.maximum(edges, np.nextafter(below, np.inf)), above)


def information_bound(one: Floats, zero: Floats, centres: Floats) -> float:
    """Lower bound of I(bin; y) in nats under P(1 | log-odds) = sigmoid(log-odds) (Patel et al. 2020, eq. 5).

    ``- sum_y sum_m P(y, m) log[P(y) (1 + exp((1 - 2y) centre_m))]`` with P(y) = sum_m P(y, m). It holds for any
    centres and is an equality where each is the log-odds of P(1, m) / P(0, m).

    Parameters
    ----------
    one, zero : (n_bins,) sums of P(1 | log-odds) and P(0 | log-odds) in each bin.
    centres : (n_bins,) log-odds.
    """
    total_one, total_zero = float(one.sum()), float(zero.sum())
    total = total_one + total_zero
    label_entropy = -(total_one * np.log(total_one / total) + total_zero * np.log(total_zero / total))
    remaining = one @ softplus(-centres) + zero @ softplus(centres)
    return float(label_entropy - remaining) / total
