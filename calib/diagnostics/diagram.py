"""Contents of a reliability diagram: dots with intervals, consistency band, isotonic curve and counts of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.diagnostics.corp import ConsistencyBand, CorpCurve, binned_consistency, corp_curve
from calib.diagnostics.reliability import ReliabilityCurve, default_bins, reliability_curve
from calib.evaluation import Evaluation
from calib.metrics.confidence import Bools
from calib.numerics import Floats, Ints, sigmoid

LEVELS = 20
"""Most distinct scores that have a dot of their own."""
COUNT_EDGES = np.unique(np.r_[np.linspace(0.0, 1.0, 501), sigmoid(np.linspace(-14.0, 14.0, 281))])
"""Probabilities between which rows are counted, fine enough for linear axes and for log-odds."""


@dataclass(frozen=True, eq=False)
class DiagramParts:
    """Contents of a reliability diagram of one model.

    Attributes
    ----------
    curve : mean confidence and accuracy in bins, or of each level where scores have at most 20.
    band : consistency band (95 %) of a calibrated model at these dots.
    line : isotonic regression (CORP).
    rows, right : counts between ``COUNT_EDGES`` of all rows, and of those that are correct or have the event.
    """

    curve: ReliabilityCurve
    band: ConsistencyBand
    line: CorpCurve
    rows: Ints
    right: Ints


def diagram_parts(
    confidence: Floats,
    correct: Bools,
    n_bins: int | None = None,
    binning: str = "equal_mass",
    clusters: Any = None,
    weights: Any = None,
    target: int | None = None,
) -> DiagramParts:
    """Compute all that a reliability diagram shows.

    Parameters
    ----------
    confidence, correct : (n,) probabilities and outcomes.
    n_bins : number of bins; None takes the levels of scores where there are at most 20, else about the third root of n.
    binning : as for :func:`calib.reliability_curve`.
    clusters, weights : (n,) of each row, or None.
    target : class whose probability is shown, for the titles of the axes.
    """
    n_levels = len(np.unique(confidence)) if n_bins is None and binning == "equal_mass" else 0
    by_level = 0 < n_levels <= LEVELS
    curve = reliability_curve(
        confidence,
        correct,
        # k-means with a centre for each distinct value has a bin for each.
        n_bins=n_levels if by_level else n_bins or default_bins(len(correct)),
        binning="kmeans" if by_level else binning,
        clusters=clusters,
        weights=weights,
    )
    curve = replace(curve, binning="levels" if by_level else binning, target=target)
    return DiagramParts(
        curve,
        binned_consistency(curve, confidence, weights=weights),
        corp_curve(confidence, correct, weights=weights),
        np.histogram(confidence, COUNT_EDGES)[0],
        np.histogram(confidence[np.asarray(correct, dtype=bool)], COUNT_EDGES)[0],
    )


def evaluation_diagram(evaluation: Evaluation) -> DiagramParts:
    """Contents of the diagram that pages and reports show before anything is chosen."""
    return diagram_parts(*evaluation.pair, clusters=evaluation.clusters, weights=evaluation.weights)
