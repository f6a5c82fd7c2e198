"""Platt scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from calib.base import POSITIVE
from calib.calibrators.logistic import LogisticCurves, fit_logistic, targets_of
from calib.calibrators.one_vs_rest import Bools, Map
from calib.calibrators.steps import Step
from calib.numerics import Floats, sigmoid
from calib.parameters import param


@dataclass(frozen=True, eq=False)
class PlattMap:
    """``sigmoid(slope x + intercept)``, x the log-odds, or the probability where ``of_score`` is set."""

    slope: float
    intercept: float
    of_score: bool = False

    def apply(self, log_odds: Floats) -> Floats:
        score = sigmoid(log_odds) if self.of_score else log_odds
        return sigmoid(self.slope * score + self.intercept)

    def steps(self) -> list[Step]:
        score: list[Step] = [{"step": "sigmoid"}] if self.of_score else []
        return [
            *score,
            {"step": "affine", "scale": self.slope, "offset": self.intercept},
            {"step": "sigmoid"},
        ]


def platt_map(
    log_odds: Floats,
    positives: Bools,
    weights: Floats | None = None,
    *,
    of_score: bool = False,
    platt_correction: bool = False,
) -> PlattMap:
    """The curve of least cross-entropy whose slope is not negative; parameters as in :class:`PlattScaling`."""
    targets = targets_of(log_odds, positives, weights, platt_correction)
    score = sigmoid(log_odds) if of_score else log_odds
    slopes, intercept = fit_logistic(score[None], targets, weights, rising=True)
    return PlattMap(float(slopes[0]), intercept, of_score)


@dataclass(eq=False, repr=False, kw_only=True)
class PlattScaling(LogisticCurves):
    """A logistic curve on each class's score.

    Platt, Probabilistic Outputs for Support Vector Machines, 1999. On the log-odds it has the right shape
    for a network's logits; on the probability itself it is what the tables of the GPcalib and Bayes-Iso
    papers show. The slope is kept at zero or above, so that the map is monotone: a negative one would mean
    that the model's scores are worse than none.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = PlattScaling().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    input: str = param(
        "log_odds",
        choices=("log_odds", "score"),
        help="What the curve is drawn over: the log-odds, or the probability itself.",
    )
    platt_correction: bool = param(
        False,
        help="Soften the targets 0 and 1 by their counts, as Platt does; helps small calibration sets.",
    )

    traits: ClassVar[frozenset[str]] = frozenset({POSITIVE})
    map_type: ClassVar[type[Map]] = PlattMap

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        options = {"of_score": self.input == "score", "platt_correction": self.platt_correction}
        return platt_map(log_odds, positives, weights, **options)
