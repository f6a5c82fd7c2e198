"""Quadratic logistic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.logistic import NEWTON, fit_logistic, fit_rising
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, maps_of
from calib.numerics import Floats, sigmoid
from calib.parameters import Number, State, param


@dataclass(eq=False, repr=False, kw_only=True)
class QuadraticScaling(BinaryCalibrator):
    """A parabola on each class's log-odds, ``logit p' = a + b x + c x^2``, that rises over the data.

    The binary map of Berta et al., Structured Matrix Scaling for Multi-Class Calibration, AISTATS 2026, with one more
    unknown than Platt scaling: it also corrects scores that are too sure at one end and not sure enough at the other.
    Fitted by Newton's method to maximum likelihood.

    The published map may fall: its vertex lies where data of the next month may be. Here its slope is kept at zero or
    above from the lowest to the highest calibration score, and the map goes on as a straight line beyond them; without
    ``monotone`` it is the published one.
    """

    monotone: bool = param(
        True, help="Never let a higher score get a lower probability; straight lines beyond the calibration scores."
    )

    # The slope of the log-odds runs linearly from `first_slope` at `low` to `last_slope` at `high`.
    more_rows: ClassVar[str] = NEWTON
    state: ClassVar[State] = {
        "maps_": maps_of(low=Number(), high=Number(), intercept=Number(), first_slope=Number(), last_slope=Number())
    }

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        targets = self.targets(positives)
        low, high, centre = float(log_odds.min()), float(log_odds.max()), float(log_odds.mean())
        around = log_odds - centre
        (slope, curvature), intercept, _ = fit_logistic(np.stack([around, around**2]), targets)
        first, last = (slope + 2 * curvature * (end - centre) for end in (low, high))
        at_low = intercept + slope * (low - centre) + curvature * (low - centre) ** 2
        intercept = at_low + first * (high - low) / 2
        if self.monotone and min(first, last) < 0:
            # Any slope that is zero or more at both ends is a sum of two such slopes, each zero at one end.
            (first, last), intercept = fit_rising(np.stack(_halves(log_odds, low, high)), targets)
        ends = {"first_slope": float(first), "last_slope": float(last)}
        return {"low": low, "high": high, "intercept": float(intercept), **ends}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        low, high, first, last = (state[name] for name in ("low", "high", "first_slope", "last_slope"))
        inside = np.clip(log_odds, low, high) if self.monotone else log_odds
        # Each of the terms rises in itself, so that rounding cannot change the order of two scores.
        falling, rising = _halves(inside, low, high)
        score = first * falling + last * rising + state["intercept"]
        if self.monotone:
            score += first * np.minimum(log_odds - low, 0.0) + last * np.maximum(log_odds - high, 0.0)
        return sigmoid(score)


def _halves(log_odds: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Two parabolas that rise from ``low`` to ``high``: with slope 1 at the one end and 0 at the other."""
    width = (high - low) or 1.0
    return -((high - log_odds) ** 2) / (2 * width), (log_odds - low) ** 2 / (2 * width)
