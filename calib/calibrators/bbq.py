"""Bayesian binning into quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import Map, StepMapCalibrator
from calib.numerics import Floats, Ints, sigmoid, softplus

PRIOR_STRENGTH = 2.0
"""N' of the paper: how many pairs the prior of a whole model counts for, shared equally by its bins."""

NEGLIGIBLE = 1e-20
"""A model this much less likely than the best one changes no digit of the average."""


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianBinning(StepMapCalibrator):
    """The average of many equal-frequency histograms, each weighted by how likely it makes the labels.

    BBQ of Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI
    2015. Each bin has a Beta prior centred on its midpoint, so that its label probabilities integrate out in
    closed form. Frequencies need not rise from bin to bin, so the predicted class can change.

    Scores of exactly 0 and 1 are in the outermost bins. An average of steps is a step map itself, and kept as
    such: prediction is one search, however many models there were. Its values are kept at least 1 / (m + 2) away
    from 0 and 1, m the number of calibration pairs.
    """

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        scores, hits = np.sort(log_odds), np.sort(log_odds[positives])
        targets = self.targets(positives)
        low, high = targets.min(), targets.max()
        cuts = [equal_frequency_cuts(scores, n_bins) for n_bins in candidate_bins(len(scores))]
        models = []
        for inner in cuts:
            edges = edges_at(scores, inner)
            counts = np.diff(inner, prepend=0, append=len(scores))
            n_hits = np.diff(np.searchsorted(hits, edges), prepend=0, append=len(hits))
            models.append(posterior(edges, high * n_hits + low * (counts - n_hits), counts))
        evidence = np.array([log_evidence for log_evidence, _ in models])
        weights = np.exp(evidence - evidence.max())
        kept = np.flatnonzero(weights > NEGLIGIBLE)
        every_cut = np.unique(np.concatenate([cuts[i] for i in kept]))
        values = np.zeros(len(every_cut) + 1)
        for i in kept:
            widths = np.diff(np.searchsorted(every_cut, cuts[i]) + 1, prepend=0, append=len(values))
            values += np.repeat(weights[i] * models[i][1], widths)
        return {"edges": edges_at(scores, every_cut), "values": self.bounded(values / weights[kept].sum())}


def candidate_bins(n: int) -> range:
    """Numbers of bins that are averaged over for ``n`` pairs, from N^(1/3) / 10 to 10 N^(1/3)."""
    root = np.cbrt(n)  # n ** (1 / 3) is below 10 for a thousand
    return range(max(1, int(root / 10)), min(-(-n // 5), int(np.ceil(10 * root))) + 1)


def equal_frequency_cuts(scores: Floats, n_bins: int) -> Ints:
    """Where the sorted scores are cut into ``n_bins`` of equal counts, each cut moved to the nearest end of its ties.

    Parameters
    ----------
    scores : (n,) sorted.

    Returns
    -------
    Increasing positions in 1..n-1; fewer than ``n_bins - 1`` where ties have swallowed whole bins.
    """
    n = len(scores)
    wanted = np.arange(1, n_bins) * n // n_bins
    before = np.searchsorted(scores, scores[wanted], side="left")
    after = np.searchsorted(scores, scores[wanted], side="right")
    cuts = np.unique(np.where(wanted - before <= after - wanted, before, after))
    return cuts[(cuts > 0) & (cuts < n)]


def edges_at(scores: Floats, cuts: Ints) -> Floats:
    """Log-odds of the probability midway between those on either side of each cut.

    Taken from logarithms of p and of 1 - p, which tell scores apart whose p has rounded to 0 or 1.
    """
    below, above = scores[cuts - 1], scores[cuts]
    twice_p = np.logaddexp(-softplus(-below), -softplus(-above))
    twice_rest = np.logaddexp(-softplus(below), -softplus(above))
    middle = np.minimum(twice_p - twice_rest, above)
    return np.where(middle > below, middle, above)


def posterior(edges: Floats, positives: Floats, counts: Ints) -> tuple[float, Floats]:
    """Log marginal likelihood of one binning, its Beta priors integrated out, and its bins' posterior means.

    Parameters
    ----------
    edges : (n_bins - 1,) log-odds; positives, counts : (n_bins,) how many pairs of a bin are positive, and all.
    """
    from scipy.special import betaln

    ends = np.concatenate([[0.0], sigmoid(edges), [1.0]])
    # A bin so far out that its midpoint rounds to 0 or 1 would have no proper prior.
    middle = np.clip((ends[1:] + ends[:-1]) / 2, 1e-15, 1 - 1e-15)
    strength = PRIOR_STRENGTH / len(counts)
    alpha, beta = strength * middle, strength * (1 - middle)
    # The difference of counts comes first: a tiny beta would be lost in the sum of itself and a count.
    log_evidence = betaln(alpha + positives, beta + (counts - positives)) - betaln(alpha, beta)
    return float(log_evidence.sum()), (alpha + positives) / (strength + counts)
