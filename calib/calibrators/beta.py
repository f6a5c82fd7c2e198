"""Beta calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.logistic import NEWTON, fit_rising
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, maps_of
from calib.numerics import Floats, blocks, sigmoid, softplus
from calib.parameters import Number, State


@dataclass(eq=False, repr=False, kw_only=True)
class BetaCalibration(BinaryCalibrator):
    """A three-parameter map ``logit p' = a ln p - b ln(1 - p) + c`` with a, b >= 0.

    Kull et al., Beta Calibration, AISTATS 2017, section 4: it is the right map when the scores of the two
    classes follow Beta distributions, and contains the identity (a = b = 1, c = 0). The logarithms are taken
    from the log-odds and so exist for every score.
    """

    more_rows: ClassVar[str] = NEWTON
    positive: ClassVar[bool] = True
    state: ClassVar[State] = {"maps_": maps_of(a=Number(0), b=Number(0), c=Number())}

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        targets = self.targets(positives)
        features = _logarithms(log_odds)
        slopes, intercept = fit_rising(features, targets)
        return {"a": float(slopes[0]), "b": float(slopes[1]), "c": intercept}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        log_p, minus_log_q = _logarithms(log_odds)
        log_p *= state["a"]
        log_p += state["b"] * minus_log_q
        log_p += state["c"]
        return sigmoid(log_p)


def _logarithms(log_odds: Floats) -> Floats:
    """``ln p`` and ``-ln(1 - p)`` of ``p = sigmoid(log_odds)``; both rise with the log-odds."""
    made = np.empty((2, *log_odds.shape))
    flat, parts = log_odds.reshape(-1), made.reshape(2, -1)
    for block in blocks(flat.size):
        some = flat[block]
        rest = softplus(-np.abs(some))
        np.subtract(np.minimum(some, 0.0), rest, out=parts[0, block])
        np.add(np.maximum(some, 0.0), rest, out=parts[1, block])
    return made
