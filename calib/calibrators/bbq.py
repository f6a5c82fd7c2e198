"""Bayesian binning into quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import Map
from calib.calibrators.step_maps import StepMapCalibrator, edges_at, smoothed_histograms
from calib.numerics import Floats, Ints, sigmoid
from calib.parameters import param

PRIOR_STRENGTH = 2.0
"""N' of the paper: how many pairs the prior of a whole model counts for, shared equally by its bins."""

NEGLIGIBLE = 1e-20
"""A model this much less likely than the best one changes no digit of the average."""


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianBinning(StepMapCalibrator):
    """The average of many histograms, each weighted by how likely it makes the labels.

    BBQ of Naeini, Cooper and Hauskrecht, Obtaining Well Calibrated Probabilities Using Bayesian Binning, AAAI
    2015. Each bin has a Beta prior, so that its label probabilities integrate out in closed form. Frequencies need not
    rise from bin to bin, so the predicted class can change.

    The paper has two classes in mind (``models="paper"``): bins of equal frequency, priors centred on their midpoints.
    Of the pairs of K classes against the rest all but one in K are negatives near 0, and nearly all bins would
    lie there. By default the bins hold like shares of positives and negatives, and the priors are centred on the
    model's mean probability in each bin, with several strengths (:func:`smoothed_histograms`): from few rows the raw
    model is what remains. As the K pairs of a row hold one label, log-likelihoods of n K pairs are divided by K in the
    weights.

    Scores of exactly 0 and 1 are in the outermost bins. An average of steps is a step map itself, and kept as
    such: prediction is one search, however many models there were. Its values are kept at least 1 / (m + 2) away
    from 0 and 1, m the number of calibration pairs.
    """

    models: str = param(
        "smoothed",
        choices=("smoothed", "paper"),
        help="Histograms with like shares of both outcomes in each bin, smoothed towards the model, or the paper's.",
    )

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        low, high = self.target_levels(int(positives.sum()), positives.size)
        if self.models == "smoothed":
            scores, models = smoothed_histograms(log_odds, positives, low, high)
            evidence = np.stack([model.evidence for model in models])
            weights = np.exp((evidence - evidence.max()) * min(1.0, self.n_rows_ / len(scores)))
            of_cuts = [(model.cuts, w.sum(), w @ model.values) for model, w in zip(models, weights, strict=True)]
        else:
            scores, hits = np.sort(log_odds), np.sort(log_odds[positives])
            of_cuts = _weighted_models(scores, hits, low, high)
        kept = [each for each in of_cuts if each[1] > NEGLIGIBLE]
        every_cut = np.unique(np.concatenate([cuts for cuts, _, _ in kept]))
        values, total = np.zeros(len(every_cut) + 1), 0.0
        for cuts, weight, weighted in kept:
            widths = np.diff(np.searchsorted(every_cut, cuts) + 1, prepend=0, append=len(values))
            values += np.repeat(weighted, widths)
            total += weight
        return {"edges": edges_at(scores, every_cut), "values": self.bounded(values / total)}


def _weighted_models(scores: Floats, hits: Floats, low: float, high: float) -> list[tuple[Ints, float, Floats]]:
    """The paper's models: where each cuts the sorted scores, its weight, and its values times the weight."""
    models = []
    for n_bins in candidate_bins(len(scores)):
        cuts = equal_frequency_cuts(scores, n_bins)
        edges = edges_at(scores, cuts)
        counts = np.diff(cuts, prepend=0, append=len(scores))
        n_hits = np.diff(np.searchsorted(hits, edges), prepend=0, append=len(hits))
        models.append((cuts, *posterior(edges, high * n_hits + low * (counts - n_hits), counts)))
    best = max(log_evidence for _, log_evidence, _ in models)
    weights = [float(np.exp(log_evidence - best)) for _, log_evidence, _ in models]
    return [(cuts, weight, weight * values) for (cuts, _, values), weight in zip(models, weights, strict=True)]


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
