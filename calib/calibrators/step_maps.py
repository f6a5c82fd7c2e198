"""Maps whose values are steps between edges of the log-odds, and histograms smoothed towards the model's own means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, maps_of
from calib.numerics import Floats, Ints, edges_at_or_below, softplus
from calib.parameters import Array, Items, Order, State

N_BINS = (5, 7, 10, 14, 20, 28, 40, 56, 80, 112, 160, 224)
"""Numbers of bins of the smoothed histograms."""

STRENGTHS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
"""How many pairs in each bin the model's own probability may count for."""


def steps(order: Order | None = None) -> Items:
    """The condition on ``maps_`` of steps: values of the bins between inner edges of the log-odds."""
    return maps_of(edges=Array("bins-1", order="rising"), values=Array("bins", low=0, high=1, order=order))


class StepMapCalibrator(BinaryCalibrator):
    """Base of methods whose maps are steps: ``values`` of the bins between the inner ``edges`` of the log-odds.

    Bins are closed on the left: seen from the other of two classes they are closed on the right, so the maps are not
    equivariant there. Values need not rise from bin to bin.
    """

    mirrored: ClassVar[bool] = False
    state: ClassVar[State] = {"maps_": steps()}

    @property
    def is_monotone(self) -> bool:
        return bool(getattr(self, "monotone", False))

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return state["values"][edges_at_or_below(log_odds, state["edges"])]


def edges_at(scores: Floats, cuts: Ints) -> Floats:
    """Log-odds of the probability midway between those on either side of each cut.

    Taken from logarithms of p and of 1 - p, which tell scores apart whose p has rounded to 0 or 1.
    """
    below, above = scores[cuts - 1], scores[cuts]
    twice_p = np.logaddexp(-softplus(-below), -softplus(-above))
    twice_rest = np.logaddexp(-softplus(below), -softplus(above))
    middle = np.minimum(twice_p - twice_rest, above)
    return np.where(middle > below, middle, above)


@dataclass(frozen=True, eq=False)
class SmoothedHistograms:
    """Histograms with the same bins, smoothed with the :data:`STRENGTHS`.

    Attributes
    ----------
    cuts : (n_bins - 1,) increasing positions at which the sorted scores are cut.
    evidence : (n_strengths,) log marginal likelihood of the labels, in nats.
    values : (n_strengths, n_bins) posterior means.
    """

    cuts: Ints
    evidence: Floats
    values: Floats


def smoothed_histograms(
    log_odds: Floats, positives: npt.NDArray[np.bool_], low: float = 0.0, high: float = 1.0
) -> tuple[Floats, list[SmoothedHistograms]]:
    """The sorted scores, and histograms of :data:`N_BINS` bins with like shares of the positives and of the negatives.

    A bin of n pairs has the prior Beta(S m, S (1 - m)), m the model's mean probability in the bin and S the strength:
    the beta-binomial model. Its marginal likelihood says how many bins and how much smoothing the labels support.

    Parameters
    ----------
    log_odds, positives : (n,) pairs with both outcomes.
    low, high : what counts for a negative and for a positive.
    """
    from scipy.special import betaln

    from calib.calibrators.imax.sums import LARGEST_LOG_ODDS, SigmoidSums
    from calib.calibrators.pooled_scores import balanced_cuts

    sums = SigmoidSums.from_log_odds(log_odds)
    scores, hits = sums.log_odds, np.sort(np.clip(log_odds[positives], -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))
    strengths = np.array(STRENGTHS)[:, None]
    models = []
    for n_bins in N_BINS:
        cuts = balanced_cuts(scores, hits, n_bins)
        ends = np.concatenate([[0], cuts, [len(scores)]])
        counts = np.diff(ends)
        n_hits = np.diff(np.searchsorted(hits, scores[cuts]), prepend=0, append=len(hits))
        ones = high * n_hits + low * (counts - n_hits)
        one, zero = (np.clip(part / counts, 1e-15, 1.0) for part in sums.between(ends))
        alpha, beta = strengths * one, strengths * zero
        evidence = betaln(alpha + ones, beta + (counts - ones)) - betaln(alpha, beta)
        values = (alpha + ones) / (alpha + beta + counts)
        models.append(SmoothedHistograms(cuts, evidence.sum(axis=1), values))
    return scores, models
