"""Beta calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.logistic import fit_logistic
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, maps_of
from calib.numerics import Floats, sigmoid, softplus
from calib.parameters import Number, State


@dataclass(eq=False, repr=False, kw_only=True)
class BetaCalibration(BinaryCalibrator):
    """A three-parameter map ``logit p' = a ln p - b ln(1 - p) + c`` with a, b >= 0.

    Kull et al., Beta Calibration, AISTATS 2017, section 4: it is the right map when the scores of the two
    classes follow Beta distributions, and contains the identity (a = b = 1, c = 0). The logarithms are taken
    from the log-odds and so exist for every score.
    """

    state: ClassVar[State] = {"maps_": maps_of(a=Number(0), b=Number(0), c=Number())}

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        targets = self.targets(positives)
        features = _logarithms(log_odds)
        slopes, intercept, _ = fit_logistic(features, targets)
        if (slopes < 0).any():
            slopes, intercept = _fit_on_boundary(features, targets)
        return {"a": float(slopes[0]), "b": float(slopes[1]), "c": intercept}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        log_p, minus_log_q = _logarithms(log_odds)
        return sigmoid(state["a"] * log_p + state["b"] * minus_log_q + state["c"])


def _logarithms(log_odds: Floats) -> Floats:
    """``ln p`` and ``-ln(1 - p)`` of ``p = sigmoid(log_odds)``; both rise with the log-odds."""
    return np.stack([-softplus(-log_odds), softplus(log_odds)])


def _fit_on_boundary(features: Floats, targets: Floats) -> tuple[Floats, float]:
    # The loss is convex: where the free optimum has a negative coefficient, the best allowed one has a zero
    # coefficient. Kull et al. drop the negative feature; trying both also settles the case of two negatives.
    slopes, (_, best_intercept, best_loss) = np.zeros(2), fit_logistic(features[:0], targets)
    for kept in range(2):
        slope, intercept, loss = fit_logistic(features[kept : kept + 1], targets)
        if slope[0] >= 0 and loss <= best_loss:
            slopes, best_intercept, best_loss = np.zeros(2), intercept, loss
            slopes[kept] = slope[0]
    return slopes, best_intercept
