"""Beta calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import POSITIVE
from calib.calibrators.logistic import LogisticCurves, fit_logistic, targets_of
from calib.calibrators.one_vs_rest import Bools, Map
from calib.calibrators.steps import Step
from calib.numerics import Floats, sigmoid


@dataclass(frozen=True, eq=False)
class BetaMap:
    """``logit p' = a ln p - b ln(1 - p) + c``."""

    a: float
    b: float
    c: float

    def apply(self, log_odds: Floats) -> Floats:
        rest = np.log1p(np.exp(-np.abs(log_odds)))
        rest *= self.b - self.a
        rest += self.a * np.minimum(log_odds, 0.0)
        rest += self.b * np.maximum(log_odds, 0.0)
        rest += self.c
        return sigmoid(rest)

    def steps(self) -> list[Step]:
        log_p: list[Step] = [{"step": "log_sigmoid"}]
        log_q: list[Step] = [{"step": "affine", "scale": -1.0}, *log_p]
        both = {"step": "mix", "weights": [self.a, -self.b], "parts": [log_p, log_q]}
        return [both, {"step": "affine", "offset": self.c}, {"step": "sigmoid"}]


@dataclass(eq=False, repr=False, kw_only=True)
class BetaCalibration(LogisticCurves):
    """A three-parameter map ``logit p' = a ln p - b ln(1 - p) + c`` with a, b >= 0.

    Kull et al., Beta Calibration, AISTATS 2017, section 4: it is the right map when the scores of the two
    classes follow Beta distributions, and contains the identity (a = b = 1, c = 0). The logarithms are taken
    from the log-odds and so exist for every score.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = BetaCalibration().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    traits: ClassVar[frozenset[str]] = frozenset({POSITIVE})
    map_type: ClassVar[type[Map]] = BetaMap

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        targets = targets_of(log_odds, positives, weights)
        (a, b), c = fit_logistic(_logarithms(log_odds), targets, weights, rising=True)
        return BetaMap(float(a), float(b), c)


def _logarithms(log_odds: Floats) -> Floats:
    """``ln p`` and ``-ln(1 - p)`` of ``p = sigmoid(log_odds)``; both rise with the log-odds."""
    rest = np.log1p(np.exp(-np.abs(log_odds)))
    return np.stack([np.minimum(log_odds, 0.0) - rest, np.maximum(log_odds, 0.0) + rest])
