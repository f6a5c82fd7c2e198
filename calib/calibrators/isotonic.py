"""Isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, knots_and_values, maps_of
from calib.numerics import Floats
from calib.parameters import State


@dataclass(eq=False, repr=False, kw_only=True)
class IsotonicCalibration(BinaryCalibrator):
    """The monotone map closest to the labels, linear between its steps and constant beyond them.

    Zadrozny and Elkan, Transforming Classifier Scores into Accurate Multiclass Probability Estimates,
    KDD 2002. Its outermost steps often are pure, which would claim a probability of exactly 0 or 1; they are
    kept at least 1 / (m + 2) away, m the number of calibration pairs.
    """

    state: ClassVar[State] = {"maps_": maps_of(**knots_and_values())}

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        from sklearn.isotonic import IsotonicRegression

        regression = IsotonicRegression(out_of_bounds="clip").fit(log_odds, self.targets(positives))
        # scikit-learn keeps only the two ends of each step.
        return {"knots": regression.X_thresholds_, "values": self.bounded(regression.y_thresholds_)}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return interpolate_monotone(log_odds, state["knots"], state["values"])


def interpolate_monotone(points: Floats, knots: Floats, values: Floats) -> Floats:
    """Linear interpolation, clamped at the ends, that keeps the order of its points to the last bit.

    ``np.interp`` may exceed a segment's upper value by a rounding error, which is enough to change the
    predicted class of a row whose two best classes lie on either side of a knot.

    Parameters
    ----------
    points : array of any shape.
    knots : (m,) increasing; values : (m,) non-decreasing.
    """
    if len(knots) == 1:
        return np.full(np.shape(points), values[0])
    points = np.clip(points, knots[0], knots[-1])
    left = np.minimum(np.searchsorted(knots, points, side="right") - 1, len(knots) - 2)
    low, high = values[left], values[left + 1]
    fraction = (points - knots[left]) / (knots[left + 1] - knots[left])
    # low + 1 * (high - low) may miss high by a rounding error.
    return np.where(fraction == 1.0, high, np.clip(low + fraction * (high - low), low, high))
