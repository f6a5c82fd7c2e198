"""Histograms of confidences, small at any number of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.top_label import top_label
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ConfidenceHistogram:
    """Counts of confidences on a common fine grid, right and wrong predictions apart; small at any n.

    Attributes
    ----------
    edges : (n_bins + 1,) in the units of ``scale``; the end bins also hold everything beyond.
    right, wrong : (n_bins,) counts.
    scale : "linear" (edges are confidences) or "logit" (edges are log-odds of the confidence).
    """

    edges: Floats
    right: Ints
    wrong: Ints
    scale: str

    @property
    def count(self) -> Ints:
        """Rows in each bin, right and wrong together."""
        return self.right + self.wrong

    def density(self, which: str) -> Floats:
        """Density of the "right" or "wrong" predictions per unit of the scale; zeros where there are none."""
        count = self.right if which == "right" else self.wrong
        return count / (max(1, count.sum()) * np.diff(self.edges))


LOGIT_LIMITS = (-4.0, 12.0)
"""Ends of the log-odds grid: confidences of 0.018 and 0.999994."""


def confidence_histogram(probs: Any, labels: Any, n_bins: int = 50, scale: str = "linear") -> ConfidenceHistogram:
    """Histogram of the confidence of right and of wrong predictions.

    The grid does not depend on the data, so the histograms of several methods lie on the same one.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    n_bins : number of bins on [0, 1], or on ``LOGIT_LIMITS``.
    scale : "linear" or "logit".
    """
    if scale not in ("linear", "logit"):
        raise CalibrationError(f"There is no scale {scale!r}; choose 'linear' or 'logit'.")
    confidence, correct = top_label(probs, labels)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if scale == "logit":
        edges = np.linspace(*LOGIT_LIMITS, n_bins + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            confidence = np.log(confidence) - np.log1p(-np.minimum(confidence, 1.0))
    cell = np.searchsorted(edges[1:-1], confidence, side="right") + n_bins * correct
    counts = np.bincount(cell, minlength=2 * n_bins)
    return ConfidenceHistogram(edges=edges, right=counts[n_bins:], wrong=counts[:n_bins], scale=scale)
