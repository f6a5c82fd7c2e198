"""Maps whose values are steps between edges of the log-odds, and histograms smoothed towards the model's own means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.calibrators.isotonic import Tally
from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest
from calib.calibrators.steps import Step, table
from calib.numerics import Floats, Ints, softplus

N_BINS = (5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224)
"""Numbers of bins of the smoothed histograms."""

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""Largest weight of the model's own probability in each bin, in pairs."""

SMALLEST_MEAN = 1e-15
"""Least mean probability of a bin, of either outcome, so that its prior is proper."""

GOLDEN = (5**0.5 - 1) / 2
"""An irrational share, as rounded probabilities may lie midway between others, and float32 moves them over an edge."""


@dataclass(frozen=True, eq=False)
class StepMap:
    """``values`` of the bins between the inner ``edges`` of the log-odds, one fewer; bins are closed on the left."""

    edges: Floats
    values: Floats

    def apply(self, log_odds: Floats) -> Floats:
        return self.values[np.searchsorted(self.edges, log_odds, side="right")]

    def steps(self) -> list[Step]:
        return [table(self.edges, self.values)]


class StepMapCalibrator(OneVsRest):
    """Base of methods whose maps are steps.

    Seen from the other of two classes bins are closed on the right, so the maps are not equivariant there. Values need
    not rise from bin to bin.
    """

    map_type: ClassVar[type[Map]] = StepMap
    mirrored: ClassVar[bool] = False

    @property
    def is_monotone(self) -> bool:
        return False


def edges_at(scores: Floats, cuts: Ints) -> Floats:
    """Log-odds of the probability at :data:`GOLDEN` of the way between those on either side of each cut.

    Taken from logarithms of p and of 1 - p, which tell scores apart whose p has rounded to 0 or 1.
    """
    below = scores[cuts - 1]
    above = scores[cuts]
    shares = np.log([[1 - GOLDEN], [GOLDEN]])
    p, rest = (
        np.logaddexp(*(shares - softplus(np.stack([sign * below, sign * above]))))
        for sign in (-1, 1)
    )
    edges = np.minimum(p - rest, above)
    return np.where(edges > below, edges, above)


@dataclass(frozen=True, eq=False)
class SmoothedHistograms:
    """Histograms with the same bins, smoothed with the :data:`STRENGTHS`.

    Attributes
    ----------
    edges : (n_bins - 1,) increasing inner edges, in log-odds.
    evidence : (n_strengths,) log marginal likelihood of the labels, in nats.
    values : (n_strengths, n_bins) posterior means.
    """

    edges: Floats
    evidence: Floats
    values: Floats


def shares_below(tally: Tally) -> Floats:
    """Mean of the share of all positives and of that of all negatives below each score, (m,), rising from 0."""
    shares = _share_below(tally.positives)
    shares += _share_below(tally.counts - tally.positives)
    shares /= 2
    return shares


def _share_below(counts: Floats) -> Floats:
    below = np.cumsum(counts)
    below -= counts
    below /= counts.sum()
    return below


def even_cuts(shares: Floats, n_parts: int) -> Ints:
    """Positions in 1..m-1 that cut scores into at most ``n_parts`` with like shares of both outcomes.

    By ranks alone, all that matters about a rare class would fall into one part.

    Parameters
    ----------
    shares : (m,) as :func:`shares_below` gives them.
    """
    cuts = np.unique(np.searchsorted(shares, np.arange(1, n_parts) / n_parts))
    return cuts[cuts < len(shares)]


def smoothed_histograms(
    log_odds: Floats, positives: Bools, weights: Floats | None = None
) -> list[SmoothedHistograms]:
    """Histograms of :data:`N_BINS` bins with like shares of both outcomes.

    A cut is the first score below which the mean of the share of all positives and that of all negatives is at least a
    multiple of 1 / n_bins. A bin of n pairs has the prior Beta(S m, S (1 - m)), m the model's mean probability in the
    bin and S the strength: the beta-binomial model. Its marginal likelihood says how many bins and how much smoothing
    the labels support.

    Parameters
    ----------
    log_odds, positives : (n,) pairs with both outcomes.
    weights : (n,) how much each counts, above zero; 1 if None.
    """
    from scipy.special import betaln, expit

    tally = Tally.of(log_odds, positives, weights)
    shares = shares_below(tally)
    cuts = [even_cuts(shares, n_bins) for n_bins in N_BINS]
    finest = np.unique(np.concatenate([[0], *cuts]))
    sums = [np.add.reduceat(column, finest) for column in (tally.counts, tally.positives)]
    sums += [np.add.reduceat(expit(sign * tally.scores) * tally.counts, finest) for sign in (1, -1)]
    strengths = np.array(STRENGTHS)[:, None]
    models = []
    for inner in cuts:
        starts = np.searchsorted(finest, np.append(0, inner))
        counts, ones, mean_positive, mean_negative = (
            np.add.reduceat(part, starts) for part in sums
        )
        alpha, beta = (
            strengths * np.clip(mean / counts, SMALLEST_MEAN, 1.0)
            for mean in (mean_positive, mean_negative)
        )
        evidence = betaln(alpha + ones, beta + (counts - ones)) - betaln(alpha, beta)
        values = (alpha + ones) / (alpha + beta + counts)
        models.append(
            SmoothedHistograms(edges_at(tally.scores, inner), evidence.sum(axis=1), values)
        )
    return models
