"""Reliability of each rank: how often the label is a method's first, second, .. choice, and how often it says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator
from calib.metrics.bootstrap import wilson_interval
from calib.metrics.confidence import Bools
from calib.numerics import PREDICTED_ENTRIES, Floats, Ints, blocks

LAST_RANKS = (1, 2, 3, 4, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Where groups of ranks end: few labels lie far down, and no single rank there is told from another."""


@dataclass(frozen=True, eq=False)
class RankReliability:
    """Ranks, or groups of neighbouring ones; arrays have one entry for each.

    Attributes
    ----------
    first, last : the ranks of a group, from 1.
    predicted : mean probability that the label has one of these ranks.
    observed : share of rows whose label has.
    low, high : its 95 % Wilson interval, for independent rows.
    n_rows : number of rows.
    """

    first: Ints
    last: Ints
    predicted: Floats
    observed: Floats
    low: Floats
    high: Floats
    n_rows: int

    @property
    def names(self) -> list[str]:
        """Each group's ranks in words: 3, or 6–10."""
        return [f"{a}" if a == b else f"{a:,}–{b:,}" for a, b in zip(self.first, self.last, strict=True)]

    @property
    def off(self) -> Bools:
        """Where the prediction lies outside the interval of what was observed."""
        return (self.predicted < self.low) | (self.predicted > self.high)


def rank_reliability(probs: Floats, labels: Ints, tied_by: Floats | None = None) -> RankReliability:
    """Predicted and observed frequency of each rank.

    Parameters
    ----------
    probs : (n, n_classes) probabilities, n at least 1.
    labels : (n,) integers in [0, n_classes).
    tied_by : (n, n_classes) values that order equal probabilities, then the lower class is first.

    Examples
    --------
    >>> found = rank_reliability(np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1]]), np.array([0, 0]))
    >>> found.predicted.round(2).tolist(), found.observed.tolist()
    ([0.65, 0.25, 0.1], [0.5, 0.5, 0.0])
    """
    predicted, observed = _sums(probs, labels, probs if tied_by is None else tied_by)
    return _summary(predicted, observed, len(labels))


def of_rows(calibrator: Calibrator, *, data: Mapping[str, Any]) -> RankReliability:
    """The same of a fitted method, over the logits and labels among a worker's arrays, some rows at a time."""
    logits, labels = data["logits"], data["labels"]
    n, n_classes = logits.shape
    predicted, observed = np.zeros(n_classes), np.zeros(n_classes)
    for rows in blocks(n, n_classes, PREDICTED_ENTRIES):
        probs, counts = _sums(calibrator.predict_proba(logits[rows]), labels[rows], logits[rows])
        predicted += probs
        observed += counts
    return _summary(predicted, observed, n)


def _sums(probs: Floats, labels: Ints, tied_by: Floats) -> tuple[Floats, Floats]:
    """Sums over rows of the probability of each rank, and how many labels have it; both (n_classes,)."""
    order = np.argsort(-tied_by, axis=1, kind="stable")
    ranked = -np.take_along_axis(probs, order, axis=1)
    within = np.argsort(ranked, axis=1, kind="stable")
    rank_of_label = (np.take_along_axis(order, within, axis=1) == labels[:, None]).argmax(axis=1)
    probs_of_ranks = -np.take_along_axis(ranked, within, axis=1).sum(axis=0)
    return probs_of_ranks, np.bincount(rank_of_label, minlength=probs.shape[1]).astype(float)


def _summary(predicted: Floats, observed: Floats, n: int) -> RankReliability:
    n_classes = len(predicted)
    last = np.array([rank for rank in LAST_RANKS if rank < n_classes] + [n_classes])
    first = np.r_[1, last[:-1] + 1]
    predicted, observed = np.add.reduceat(predicted, first - 1), np.add.reduceat(observed, first - 1)
    low, high = wilson_interval(observed, np.full(len(observed), n))
    return RankReliability(first, last, predicted / n, observed / n, low, high, n)
