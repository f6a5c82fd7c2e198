"""Reliability by rank: how often the label is the first, second, third ... most probable class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import Calibrator
from calib.metrics.bootstrap import wilson_interval
from calib.metrics.confidence import (
    Bools,
)
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


def ranks_of_rows(calibrator: Calibrator, *, data: Mapping[str, Any]) -> RankReliability:
    """Predicted and observed frequency of each rank by a fitted method, over a worker's logits and labels.

    Equal probabilities are ordered by their logits, equal logits by their class.
    """
    logits, labels = data["logits"], data["labels"]
    n, n_classes = logits.shape
    predicted, observed = np.zeros(n_classes), np.zeros(n_classes)
    for rows in blocks(n, n_classes, PREDICTED_ENTRIES):  # some rows at a time
        probs = calibrator.predict_proba(logits[rows])
        order = np.lexsort((-logits[rows], -probs), axis=1)
        predicted += np.take_along_axis(probs, order, axis=1).sum(axis=0)
        rank_of_label = (order == labels[rows][:, None]).argmax(axis=1)
        observed += np.bincount(rank_of_label, minlength=n_classes)
    last = np.array([rank for rank in LAST_RANKS if rank < n_classes] + [n_classes])
    first = np.r_[1, last[:-1] + 1]
    predicted, observed = np.add.reduceat(predicted, first - 1), np.add.reduceat(observed, first - 1)
    low, high = wilson_interval(observed, np.full(len(observed), n))
    return RankReliability(first, last, predicted / n, observed / n, low, high, n)
