"""Scaling-binning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest
from calib.calibrators.platt import platt_map
from calib.calibrators.step_maps import StepMap, edges_at
from calib.numerics import Floats, are_distinct
from calib.parameters import param


@dataclass(eq=False, repr=False, kw_only=True)
class ScalingBinning(OneVsRest):
    """Platt scaling, then equal-mass bins with the mean of the fitted curve.

    Kumar, Liang and Ma, Verified Uncertainty Calibration, NeurIPS 2019, the scaling-binning calibrator. The
    calibration error of a continuous map cannot be measured; with few values it can, and the mean of the curve in a
    bin has a smaller variance than the frequency of the labels. Bins hold equally many calibration pairs; an edge lies
    between the pairs on either side, so that rounding moves none of them to another bin. The paper
    takes curve, edges and means from three parts of the data; here all rows serve for each.

    A bin holds about n / ``n_bins`` pairs: the one map that K classes share has K times as many bins, since only n of
    its K n pairs are of predicted classes, and these would all end up in one bin. The means rise from bin to bin, so
    that shared maps keep every prediction.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = ScalingBinning().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    n_bins: int = param(15, low=1, high=1000, help="Number of bins for each class.")

    map_type: ClassVar[type[Map]] = StepMap
    mirrored: ClassVar[bool] = (
        False  # bins are closed on the left: from the other class they are closed on the right
    )
    weighted: ClassVar[bool] = False

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        shared = self.share_classes and self.n_classes_ > 2
        n_bins = self.n_bins * (self.n_classes_ if shared else 1)
        curve = platt_map(log_odds, positives)
        ordered = np.sort(log_odds)
        begins = are_distinct(ordered)
        ordered = ordered[begins][np.cumsum(begins) - 1]
        lowest = np.unique(
            ordered[np.arange(1, n_bins) * len(ordered) // n_bins]
        )  # of each bin but the first
        lowest = lowest[lowest > ordered[0]]  # ties stay together, and no bin is empty
        starts = np.append(0, np.searchsorted(ordered, lowest))
        edges = edges_at(ordered, starts[1:])
        values = np.add.reduceat(curve.apply(ordered), starts) / np.diff(
            starts, append=len(ordered)
        )
        # Means of neighbours that are all but equal may come out in the other order by a rounding error.
        return StepMap(edges, np.maximum.accumulate(values))
