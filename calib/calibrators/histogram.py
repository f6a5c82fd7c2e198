"""Histogram binning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import Map
from calib.calibrators.step_maps import StepMapCalibrator, edges_at, smoothed_histograms
from calib.numerics import Floats, log_odds_of
from calib.parameters import param


@dataclass(eq=False, repr=False, kw_only=True)
class HistogramBinning(StepMapCalibrator):
    """The frequency of a class among the calibration pairs whose score falls into the same bin.

    Zadrozny and Elkan, Obtaining Calibrated Probability Estimates from Decision Trees, ICML 2001. In its form bins have
    equal width in probability or hold equally many pairs; an empty bin has the value of its midpoint. Of the pairs of K
    classes against the rest nearly all then lie in the lowest bin, or in bins near it, and a model that is calibrated
    already loses by it.

    By default (``binning="evidence"``) bins hold like shares of the positives and of the negatives, and frequencies are
    smoothed towards the model's mean probability in the bin; the number of bins and the strength of the smoothing have
    the greatest marginal likelihood (:func:`calib.calibrators.step_maps.smoothed_histograms`). Frequencies need not
    rise from bin to bin, so the predicted class can change.
    """

    n_bins: int = param(15, low=1, high=1000, help="Number of bins of equal width or mass; evidence chooses its own.")
    binning: str = param(
        "evidence",
        choices=("evidence", "equal_width", "equal_mass"),
        help="Bins whose number and smoothing the labels choose, of equal width in probability, or with equally many "
        "pairs in each.",
    )

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        if self.binning == "evidence":
            levels = self.target_levels(int(positives.sum()), positives.size)
            scores, models = smoothed_histograms(log_odds, positives, *levels)
            best = max(models, key=lambda model: float(model.evidence.max()))
            return {"edges": edges_at(scores, best.cuts), "values": self.bounded(best.values[best.evidence.argmax()])}
        if self.binning == "equal_width":
            edges = log_odds_of(np.arange(1, self.n_bins) / self.n_bins)
        else:
            edges = np.unique(np.quantile(log_odds, np.arange(1, self.n_bins) / self.n_bins))
        n_bins = len(edges) + 1
        index = np.searchsorted(edges, log_odds, side="right")
        counts = np.bincount(index, minlength=n_bins)
        totals = np.bincount(index, weights=self.targets(positives), minlength=n_bins)
        midpoints = (np.arange(n_bins) + 0.5) / n_bins
        values = np.divide(totals, counts, out=midpoints, where=counts > 0)
        return {"edges": edges, "values": self.bounded(values)}
