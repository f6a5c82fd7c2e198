"""Reliability by isotonic regression, which needs no bins (CORP)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.metrics.confidence import (
    target_pair,
)
from calib.metrics.corp_terms import (
    Decomposition,
    corp,
    recalibrate,
)
from calib.numerics import Floats, Ints

MAX_POINTS = 200


@dataclass(frozen=True, eq=False)
class CorpCurve:
    """Steps of the isotonic regression of outcomes on confidences.

    Attributes
    ----------
    confidence : (m,) first and last confidence of each step, non-decreasing; at most 200 points.
    accuracy : (m,) accuracy of the step, non-decreasing.
    count : (m,) rows in the step.
    parts : decomposition of the Brier score of the confidences.
    n : number of rows.
    """

    confidence: Floats
    accuracy: Floats
    count: Ints
    parts: Decomposition
    n: int


def corp_curve(probs: Any, labels: Any, target: int | None = None) -> CorpCurve:
    """CORP reliability diagram (Dimitriadis, Gneiting and Jordan 2021, figure 2).

    Each step pools as many rows as monotonicity asks for, so that there are no bins to choose. Where there are more
    than 100 steps, points are left out evenly.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    target : a class k, for p_k against label k; None for the predicted class.
    """
    pair = target_pair(probs, labels, target)
    again = recalibrate(*pair)
    first = np.flatnonzero(np.r_[True, np.diff(again.frequency) > 0])
    last = np.r_[first[1:], len(again.frequency)] - 1
    count = np.add.reduceat(again.count, first)
    point = np.stack([first, last], axis=1).ravel()
    step = np.repeat(np.arange(len(first)), 2)
    kept = np.r_[True, np.diff(point) > 0]
    if kept.sum() > MAX_POINTS:
        kept = np.unique(np.linspace(0, len(point) - 1, MAX_POINTS).astype(np.int64))
    point = point[kept]
    step = step[kept]
    return CorpCurve(
        again.confidence[point], again.frequency[point], count[step], corp(*pair), len(pair[0])
    )
