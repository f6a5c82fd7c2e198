"""Bin edges of sorted log-odds: equal mass, equal width, and I-Max's iterations from several starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import TIED, Floats, Ints, float32_error, softplus

LARGEST_LOG_ODDS = 700.0
"""Beyond it the smaller of the two probabilities is no number of its own in double precision."""


@dataclass(frozen=True, eq=False)
class SigmoidSums:
    """Log-odds in order, and sums of P(1 | log-odds) = sigmoid(log-odds) and of its complement.

    The first is summed from the lowest log-odds upwards and the second from the highest downwards, so that
    terms only grow along a sum and a difference of two of its values keeps its digits.

    Attributes
    ----------
    log_odds : (n,) increasing, within +-700.
    positive : (n + 1,) sums of P(1 | log-odds), times the weights if there are any, below each position.
    negative : (n + 1,) sums of P(0 | log-odds), likewise, from each position on.
    """

    log_odds: Floats
    positive: Floats
    negative: Floats

    @classmethod
    def from_log_odds(cls, log_odds: Floats) -> SigmoidSums:
        """Sort log-odds of any shape and sum them up."""
        return cls._summed(np.sort(log_odds, axis=None), None)

    @classmethod
    def from_weighted(cls, log_odds: Floats, weights: Floats | Ints) -> SigmoidSums:
        """The same of increasing (n,) log-odds that stand for ``weights`` pairs each, all positive."""
        return cls._summed(log_odds.copy(), weights)

    @classmethod
    def _summed(cls, ordered: Floats, weights: Floats | Ints | None) -> SigmoidSums:
        from scipy.special import expit

        np.clip(ordered, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS, out=ordered)
        row_weights = 1.0 if weights is None else weights
        positive, negative = (
            np.append(0.0, np.cumsum(of))
            for of in (row_weights * expit(ordered), (row_weights * expit(-ordered))[::-1])
        )
        return cls(ordered, positive, negative[::-1])

    @property
    def n_pairs(self) -> int:
        """Number of pairs; what is said of 1 and of 0 sums to one for each."""
        return round(float(self.positive[-1] + self.negative[0]))

    def positions(self, edges: Floats) -> Ints:
        """Positions of inner edges among the sorted log-odds, with both ends: (n_edges + 2,) from 0 to n."""
        cuts = np.empty(len(edges) + 2, dtype=np.intp)
        cuts[0], cuts[-1] = 0, len(self.log_odds)
        cuts[1:-1] = self.log_odds.searchsorted(edges)
        return cuts

    def between(self, cuts: Ints) -> tuple[Floats, Floats]:
        """Sums of P(1 | log-odds) and of P(0 | log-odds) in each of the (n_cuts - 1,) bins."""
        positive = self.positive[cuts]
        negative = self.negative[cuts]
        return positive[1:] - positive[:-1], negative[:-1] - negative[1:]

    def counts(self, cuts: Ints) -> Ints:
        """Number of pairs in each of the (n_cuts - 1,) bins."""
        return np.rint(np.add(*self.between(cuts))).astype(np.int64)


def centres_of(sums: SigmoidSums, cuts: Ints) -> Floats:
    """Log-odds of the mean of sigmoid(log-odds) in each bin (Patel et al. 2020, eq. 6, phi).

    Parameters
    ----------
    cuts : (n_bins + 1,) positions of the ends of bins that all hold something.

    Returns
    -------
    (n_bins,) strictly increasing: each lies between the lowest and the highest log-odds of its bin.
    """
    positive, negative = sums.between(cuts)
    centres = np.log(positive) - np.log(negative)
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
    below = centres[:-1]
    above = centres[1:]
    gain_if_positive = softplus(-centres)
    gain_if_negative = softplus(centres)
    gain_if_positive = gain_if_positive[:-1] - gain_if_positive[1:]
    gain_if_negative = gain_if_negative[1:] - gain_if_negative[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        edges = np.log(gain_if_negative) - np.log(gain_if_positive)
    # Centres so close that a difference has vanished: the exact edge lies between them in any case.
    edges = np.where(np.isfinite(edges), edges, (below + above) / 2)
    return np.minimum(np.maximum(edges, np.nextafter(below, np.inf)), above)


def information_bound(positive: Floats, negative: Floats, centres: Floats) -> float:
    """Lower bound of I(bin; y) in nats under P(1 | log-odds) = sigmoid(log-odds) (Patel et al. 2020, eq. 5).

    ``- sum_y sum_m P(y, m) log[P(y) (1 + exp((1 - 2y) centre_m))]`` with P(y) = sum_m P(y, m). It holds for any
    centres and is an equality where each is the log-odds of P(1, m) / P(0, m).

    Parameters
    ----------
    positive, negative : (n_bins,) sums of P(1 | log-odds) and P(0 | log-odds) in each bin.
    centres : (n_bins,) log-odds.
    """
    total_positive = float(positive.sum())
    total_negative = float(negative.sum())
    total = total_positive + total_negative
    label_entropy = -(
        total_positive * np.log(total_positive / total)
        + total_negative * np.log(total_negative / total)
    )
    remaining = positive @ softplus(-centres) + negative @ softplus(centres)
    return float(label_entropy - remaining) / total


CELLS = 1024
"""k-means++ draws among the centres of so many cells; the divergence hardly changes within one."""


def equal_width_edges(n_bins: int) -> Floats:
    """Inner edges of bins that are equally wide in probability, (n_bins - 1,) log-odds.

    They lie below by what float32 may move an output that equals them, which is in the bin above.
    """
    parts = np.arange(1, n_bins)
    edges = np.log(parts) - np.log(n_bins - parts)
    return edges - float32_error(edges)


def equal_mass_edges(sums: SigmoidSums, n_bins: int) -> Floats:
    """Inner edges of bins that hold about equally many pairs, at most (n_bins - 1,) log-odds.

    Equal log-odds stay together, which may leave fewer edges; no bin is empty. Edges lie below the first log-odds of
    their bin by what float32 may move it.
    """
    ordered = sums.log_odds
    below = sums.positive - sums.negative + sums.negative[0]
    # Half a pair less than wanted, so that a rounding error of the sums does not count.
    cuts = below.searchsorted(np.arange(1, n_bins) * sums.n_pairs // n_bins - 0.5)
    cuts = np.maximum(cuts, ordered.searchsorted(ordered[0] + TIED, side="right"))
    lowest = ordered[cuts[cuts < len(ordered)]]
    return np.unique(lowest - float32_error(lowest))


def kmeans_edges(sums: SigmoidSums, n_bins: int, generator: np.random.Generator) -> Floats:
    """Edges between centres drawn by greedy k-means++ with the Jensen-Shannon divergence (section S3.2).

    A point is drawn with probability proportional to its divergence from the nearest centre, the mixture taken in
    probability space; of 2 + int(log n_bins) candidates the one that leaves the least divergence becomes a centre.
    Fewer distinct points than bins give fewer edges.
    """
    points, weights = _cells(sums)
    n_candidates = 2 + int(np.log(n_bins))
    first = generator.choice(len(points), p=weights / weights.sum())
    chosen = [first]
    nearest = divergence(points, points[first])
    while len(chosen) < n_bins:
        potential = np.cumsum(weights * nearest)
        if not potential[-1] > 0:
            break
        drawn = potential.searchsorted(generator.random(n_candidates) * potential[-1], side="right")
        drawn = np.minimum(drawn, len(points) - 1)
        remaining = np.minimum(nearest, divergence(points, points[drawn][:, None]))
        best = int(np.argmin(remaining @ weights))
        chosen.append(int(drawn[best]))
        nearest = remaining[best]
    return edges_between(np.unique(points[chosen]))


def divergence(first: Floats, second: Floats) -> Floats:
    """Jensen-Shannon divergence in nats of the Bernoulli distributions with these log-odds; broadcasts."""
    from scipy.special import entr, expit

    p, q = ((expit(log_odds), expit(-log_odds)) for log_odds in (first, second))
    mixed = sum(entr((a + b) / 2) - (entr(a) + entr(b)) / 2 for a, b in zip(p, q, strict=True))
    return np.maximum(mixed, 0.0)


def _cells(sums: SigmoidSums) -> tuple[Floats, Floats]:
    """Log-odds of the mean probability in narrow cells, and how many pairs each stands for."""
    low = sums.log_odds[0]
    high = sums.log_odds[-1]
    cuts = np.unique(sums.positions(np.linspace(low, high, CELLS + 1)[1:-1]))
    positive, negative = sums.between(cuts)
    return np.log(positive) - np.log(negative), positive + negative


N_STARTS = 8
"""I-Max goes on from so many starts and keeps the best."""

MAX_STEPS = 1000
"""Most steps from each start; nearly always the bins stay as they are before."""


def best_edges(
    sums: SigmoidSums,
    n_bins: int,
    n_starts: int = N_STARTS,
    random_state: int = 0,
    max_steps: int = MAX_STEPS,
) -> Floats:
    """Inner edges of the highest bound to which the iterations lead from several starts.

    The starts are k-means++, equal mass and equal width, in this order, and k-means++ again for any further.
    """
    generator = np.random.default_rng(random_state)
    candidates = []
    for number in range(n_starts):
        if number == 1:
            edges = equal_mass_edges(sums, n_bins)
        elif number == 2:
            edges = equal_width_edges(n_bins)
        else:
            edges = kmeans_edges(sums, n_bins, generator)
        candidates.append(iterate(sums, edges, max_steps))
    return max(candidates, key=lambda candidate: candidate[1])[0]


def iterate(sums: SigmoidSums, edges: Floats, max_steps: int = MAX_STEPS) -> tuple[Floats, float]:
    """Update centres and edges in turn until the bins no longer change (Patel et al. 2020, section 3.3).

    A step costs O(n_bins log n). Empty bins go; a start that leaves fewer bins than another has a lower bound.

    Returns
    -------
    The edges, and their lower bound of the mutual information between bin and label under P(y = 1 | log-odds) =
    sigmoid(log-odds), in nats.
    """
    edges, cuts = without_empty_bins(sums, edges)
    for _ in range(max_steps):
        before = cuts
        edges, cuts = without_empty_bins(sums, edges_between(centres_of(sums, cuts)))
        if np.array_equal(cuts, before):
            break
    return edges, information_bound(*sums.between(cuts), centres_of(sums, cuts))


def without_empty_bins(sums: SigmoidSums, edges: Floats) -> tuple[Floats, Ints]:
    """The edges between bins that hold something, and their positions with both ends, ``sums.positions(edges)``."""
    cuts = sums.positions(edges)
    inner = cuts[1:-1]
    edges = edges[(inner > cuts[:-2]) & (inner < cuts[-1])]
    return edges, sums.positions(edges)


SCHEMES = ("imax", "equal_mass", "equal_width")
"""I-Max; equally many pairs in each bin; equally wide in probability."""


def scheme_edges(
    sums: SigmoidSums,
    scheme: str,
    n_bins: int,
    *,
    sigmoid: tuple[float, float] = (1.0, 0.0),
    random_state: int = 0,
) -> Floats:
    """Increasing inner edges of a scheme in log-odds; fewer than ``n_bins - 1`` where log-odds are few or tied.

    Parameters
    ----------
    sums : the sorted log-odds.
    scheme : "imax", "equal_mass" or "equal_width".
    sigmoid : slope and intercept of I-Max's model ``P(y = 1 | x) = sigmoid(slope * x + intercept)``; the slope is
        positive. Other than (1, 0) they scale the update of the edges (Patel et al. 2020, eq. S19).
    random_state : of I-Max's starts, see :func:`best_edges`.
    """
    if scheme == "equal_width":
        return equal_width_edges(n_bins)
    if scheme == "equal_mass":
        return equal_mass_edges(sums, n_bins)
    slope, intercept = sigmoid
    if sigmoid != (1.0, 0.0):
        sums = SigmoidSums.from_log_odds(slope * sums.log_odds + intercept)
    return (best_edges(sums, n_bins, random_state=random_state) - intercept) / slope
