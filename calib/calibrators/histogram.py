"""Histogram binning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.one_vs_rest import Bools, Map
from calib.calibrators.step_maps import StepMap, StepMapCalibrator, smoothed_histograms
from calib.numerics import Floats


@dataclass(eq=False, repr=False, kw_only=True)
class HistogramBinning(StepMapCalibrator):
    """The frequency of a class among the calibration pairs whose score falls into the same bin, smoothed.

    Zadrozny and Elkan, Obtaining Calibrated Probability Estimates from Decision Trees, ICML 2001. In its form bins have
    equal width in probability or hold equally many pairs. Of the pairs of K classes against the rest nearly all then
    lie in the lowest bin, or in bins near it, and a model that is calibrated already loses by it.

    Here bins hold like shares of the positives and of the negatives, and frequencies are smoothed towards the model's
    mean probability in the bin; the number of bins and the strength of the smoothing have the greatest marginal
    likelihood (:func:`calib.calibrators.step_maps.smoothed_histograms`). Frequencies need not rise from bin to bin, so
    the predicted class can change.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = HistogramBinning().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        best = max(
            smoothed_histograms(log_odds, positives, weights),
            key=lambda model: float(model.evidence.max()),
        )
        values = best.values[best.evidence.argmax()]
        return StepMap(best.edges, np.clip(values, self.margin_, 1 - self.margin_))
