"""Histogram binning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import Map, StepMapCalibrator
from calib.numerics import Floats
from calib.parameters import param


@dataclass(eq=False, repr=False, kw_only=True)
class HistogramBinning(StepMapCalibrator):
    """The frequency of a class among the calibration pairs whose score falls into the same bin.

    Zadrozny and Elkan, Obtaining Calibrated Probability Estimates from Decision Trees, ICML 2001. Bins have
    equal width in probability or hold equally many pairs; an empty bin has the value of its midpoint. Frequencies
    need not rise from bin to bin, so the predicted class can change.
    """

    n_bins: int = param(15, low=1, high=1000, help="Number of bins.")
    binning: str = param(
        "equal_width",
        choices=("equal_width", "equal_mass"),
        help="Bins of equal width in probability, or with equally many pairs in each.",
    )

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        if self.binning == "equal_width":
            inner = np.arange(1, self.n_bins) / self.n_bins
            edges = np.log(inner) - np.log1p(-inner)
        else:
            edges = np.unique(np.quantile(log_odds, np.arange(1, self.n_bins) / self.n_bins))
        n_bins = len(edges) + 1
        index = np.searchsorted(edges, log_odds, side="right")
        counts = np.bincount(index, minlength=n_bins)
        totals = np.bincount(index, weights=self.targets(positives), minlength=n_bins)
        midpoints = (np.arange(n_bins) + 0.5) / n_bins
        values = np.divide(totals, counts, out=midpoints, where=counts > 0)
        return {"edges": edges, "values": self.bounded(values)}
