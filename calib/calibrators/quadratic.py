"""Quadratic logistic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.calibrators.logistic import LogisticCurves, fit_logistic, targets_of
from calib.calibrators.one_vs_rest import Bools, Map
from calib.calibrators.steps import Step
from calib.numerics import Floats, sigmoid


@dataclass(frozen=True, eq=False)
class QuadraticMap:
    """A parabola of the log-odds whose slope runs from ``first_slope`` at ``low`` to ``last_slope`` at ``high``.

    Beyond these two it goes on as straight lines. ``intercept`` is its value at ``high`` where ``last_slope`` is 0.
    """

    low: float
    high: float
    intercept: float
    first_slope: float
    last_slope: float

    def apply(self, log_odds: Floats) -> Floats:
        width = (self.high - self.low) or 1.0
        # Each of the terms rises in itself, so that rounding cannot change the order of two scores.
        falling, rising = _halves((np.clip(log_odds, self.low, self.high) - self.low) / width)
        score = (
            self.first_slope * width * falling + self.last_slope * width * rising + self.intercept
        )
        score += self.first_slope * np.minimum(log_odds - self.low, 0.0)
        score += self.last_slope * np.maximum(log_odds - self.high, 0.0)
        return sigmoid(score)

    def steps(self) -> list[Step]:
        first = self.first_slope
        last = self.last_slope
        width = self.high - self.low
        at_low = self.intercept - first * width / 2
        at_high = self.intercept + last * width / 2
        bend = (last - first) / (2 * width) if width else 0.0
        curve = {
            "step": "piecewise",
            "breaks": np.array([self.low, self.high]),
            "origins": np.array([self.low, self.low, self.high]),
            "coefficients": np.array(
                [[at_low, at_low, at_high], [first, first, last], [0.0, bend, 0.0]]
            ),
        }
        return [curve, {"step": "sigmoid"}]


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticScaling(LogisticCurves):
    """A parabola on each class's log-odds, ``logit p' = a + b x + c x^2``, that rises over the data.

    The binary map of Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026, with one more
    unknown than Platt scaling: it also corrects scores that are too sure at one end and not sure enough at the other.
    Fitted by Newton's method to maximum likelihood.

    The published map may fall: its vertex lies where data of the next month may be. Here its slope is kept at zero or
    above from the lowest to the highest calibration score, and the map goes on as a straight line beyond them.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = QuadraticScaling().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    map_type: ClassVar[type[Map]] = QuadraticMap

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        targets = targets_of(log_odds, positives, weights)
        low = float(log_odds.min())
        high = float(log_odds.max())
        width = (high - low) or 1.0
        # Any slope that is zero or more at both ends is a sum of two such slopes, each zero at one end.
        halves = np.stack(_halves((log_odds - low) / width))
        (first, last), intercept = fit_logistic(halves, targets, weights, rising=True)
        return QuadraticMap(low, high, intercept, float(first) / width, float(last) / width)


def _halves(share: Floats) -> tuple[Floats, Floats]:
    """Two parabolas that rise from 0 to 1: with slope 1 at the one end and 0 at the other."""
    return -((1 - share) ** 2) / 2, share**2 / 2
