"""Isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, knots_and_values, maps_of
from calib.numerics import Floats, sigmoid
from calib.parameters import ROUNDING, State, param

if TYPE_CHECKING:
    from calib.calibrators.pooled_scores import Groups


@dataclass(eq=False, repr=False, kw_only=True)
class IsotonicCalibration(BinaryCalibrator):
    """The monotone map closest to the labels, linear between its steps and constant beyond them.

    Zadrozny and Elkan, Transforming Classifier Scores into Accurate Multiclass Probability Estimates,
    KDD 2002. Its outermost steps often are pure, which would claim a probability of exactly 0 or 1; they are
    kept at least 1 / (m + 2) away, m the number of calibration pairs.

    ``centred`` draws the lines between the middles of the steps instead of their ends, so that the map rises where
    there are scores (Oron and Flournoy, Centered Isotonic Regression, 2017; here steps of 0 and 1 are points as well).
    With few rows it has the smaller loss, together with ``platt_correction`` for two classes and with
    ``after_temperature`` for more, where a map shared by all classes has the temperature to start from.
    """

    centred: bool = param(False, help="Draw lines between the middles of the steps; better with few rows.")
    after_temperature: bool = param(
        False, help="Scale the logits by one temperature first; of two classes this would change nothing."
    )

    state: ClassVar[State] = {"maps_": maps_of(**knots_and_values())}

    @property
    def scales_first(self) -> bool:
        return self.after_temperature

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        if self.centred:
            from calib.calibrators.pooled_scores import group_ties

            # The fit commutes with a linear change of the targets; of 0 and 1 rounding does not part equal steps.
            low, high = self.target_levels(int(positives.sum()), int((~positives).sum()))
            knots, values = centres(group_ties(log_odds, positives.astype(float)))
            return {"knots": knots, "values": self.bounded(low + (high - low) * values)}
        from sklearn.isotonic import IsotonicRegression

        regression = IsotonicRegression(out_of_bounds="clip").fit(log_odds, self.targets(positives))
        # scikit-learn keeps only the two ends of each step.
        return {"knots": regression.X_thresholds_, "values": self.bounded(regression.y_thresholds_)}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return interpolate_monotone(log_odds, state["knots"], state["values"])


def centres(groups: Groups) -> tuple[Floats, Floats]:
    """Steps of the isotonic fit as points: log-odds of the mean probability of a step's pairs, and the step's value.

    Returns
    -------
    (n_steps,) strictly increasing log-odds and values.
    """
    from calib.calibrators.pooled_scores import isotonic_fit

    fit = isotonic_fit(groups)
    starts = np.flatnonzero(np.concatenate([[True], fit[1:] > fit[:-1] + ROUNDING]))
    scores, counts = groups.log_odds, groups.counts
    chances = (np.add.reduceat(sigmoid(sign * scores) * counts, starts) for sign in (1, -1))
    with np.errstate(divide="ignore"):
        positive, negative = (np.log(chance) for chance in chances)
    # Rounding, and probabilities that underflow, may lead out of the step.
    middles = np.clip(positive - negative, scores[starts], scores[np.append(starts[1:], len(groups)) - 1])
    return middles, fit[starts]


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
