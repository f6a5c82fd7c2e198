"""Rows by their probability on either side of a threshold, for the figure that a decision opens with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.metrics.confidence import Bools
from calib.numerics import Floats, Ints, log_odds_of

CELLS = 44
"""On about so many the probabilities are counted."""
LEAST = 1e-5
"""Probabilities nearer to 0 and 1 are counted there, since their log-odds have no end."""


@dataclass(frozen=True, eq=False)
class ThresholdCounts:
    """Counts in cells of equal width, one of which begins at the threshold, so that each lies on one side of it.

    Attributes
    ----------
    edges : (m + 1,) in the units of ``scale``.
    right, wrong : (m,) rows in which what the probability is about came true, and the others.
    threshold : a probability.
    scale : "linear" or "logit".
    """

    edges: Floats
    right: Ints
    wrong: Ints
    threshold: float
    scale: str

    @property
    def place(self) -> float:
        """The threshold in the units of ``scale``."""
        return float(_place(self.threshold, self.scale))

    @property
    def reached(self) -> Bools:
        """(m,) whether a cell lies at or above the threshold."""
        return self.edges[:-1] >= self.place - 1e-9


def threshold_counts(probs: Floats, outcome: Bools, threshold: float, scale: str = "linear") -> ThresholdCounts:
    """Count rows on both sides of a threshold.

    Parameters
    ----------
    probs, outcome : (n,) probabilities, and whether what they are about came true.
    threshold : a probability, which need not lie between those of the rows.
    scale : of the cells, "linear" or "logit".

    Examples
    --------
    >>> found = threshold_counts(np.array([0.1, 0.3, 0.5, 0.9]), np.array([False, False, True, True]), 0.5)
    >>> int(found.right[found.reached].sum()), int(found.wrong[~found.reached].sum())
    (2, 2)
    """
    placed, at = _place(probs, scale), float(_place(threshold, scale))
    low, high = min(float(placed.min()), at), max(float(placed.max()), at)
    width = (high - low) / CELLS or 1.0
    first, last = int(np.floor((low - at) / width)), int(np.floor((high - at) / width)) + 1
    steps = np.floor((placed - at) / width).astype(int)
    steps = np.where(probs >= threshold, np.maximum(steps, 0), np.minimum(steps, -1))  # whatever was rounded
    cell = np.clip(steps - first, 0, last - first - 1)
    edges = at + width * np.arange(first, last + 1)
    right, wrong = (np.bincount(cell[rows], minlength=last - first) for rows in (outcome, ~outcome))
    return ThresholdCounts(edges, right, wrong, threshold, scale)


def _place(probability: Floats | float, scale: str) -> Floats:
    values = np.asarray(probability, dtype=float)
    return values if scale == "linear" else log_odds_of(values, LEAST)
