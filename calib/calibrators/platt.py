"""Platt scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.logistic import NEWTON, fit_rising
from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, maps_of
from calib.numerics import Floats, sigmoid
from calib.parameters import Number, State, param


@dataclass(eq=False, repr=False, kw_only=True)
class PlattScaling(BinaryCalibrator):
    """A logistic curve on each class's score.

    Platt, Probabilistic Outputs for Support Vector Machines, 1999. On the log-odds it has the right shape
    for a network's logits; on the probability itself it is what the tables of the GPcalib and Bayes-Iso
    papers show. The slope is kept at zero or above, so that the map is monotone: a negative one would mean
    that the model's scores are worse than none.
    """

    input: str = param(
        "log_odds",
        choices=("log_odds", "score"),
        help="What the curve is drawn over: the log-odds, or the probability itself.",
    )

    more_rows: ClassVar[str] = NEWTON
    positive: ClassVar[bool] = True
    state: ClassVar[State] = {"maps_": maps_of(slope=Number(0), intercept=Number())}

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        slopes, intercept = fit_rising(self._score(log_odds)[None], self.targets(positives))
        return {"slope": float(slopes[0]), "intercept": intercept}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return sigmoid(state["slope"] * self._score(log_odds) + state["intercept"])

    def _score(self, log_odds: Floats) -> Floats:
        return log_odds if self.input == "log_odds" else sigmoid(log_odds)
