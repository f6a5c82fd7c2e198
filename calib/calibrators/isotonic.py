"""Isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from calib.calibrators.one_vs_rest import BinaryCalibrator, Map, knots_and_values, maps_of
from calib.numerics import Floats, Ints, blocks, edges_at_or_below, sigmoid
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

    def _fit_map(self, log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Map:
        if self.centred:
            from calib.calibrators.pooled_scores import group_ties

            # The fit commutes with a linear change of the targets; of 0 and 1 rounding does not part equal steps.
            low, high = self.target_levels(int(positives.sum()), positives.size)
            knots, values = centres(group_ties(log_odds, positives.astype(float)))
            return {"knots": knots, "values": self.bounded(low + (high - low) * values)}
        from scipy.optimize import isotonic_regression

        runs = falling_runs(log_odds, positives)
        fit = isotonic_regression(runs.positives / runs.counts, weights=runs.counts).x
        rises = fit[1:] != fit[:-1]
        starts, stops = np.flatnonzero(np.append(True, rises)), np.flatnonzero(np.append(rises, True))
        # The two ends of each step, which are one knot where it holds a single score.
        knots, kept = np.unique(np.stack([runs.first[starts], runs.last[stops]], axis=1), return_index=True)
        low, high = self.target_levels(int(positives.sum()), positives.size)
        return {"knots": knots, "values": self.bounded(low + (high - low) * np.repeat(fit[starts], 2)[kept])}

    def _apply_map(self, state: Map, log_odds: Floats) -> Floats:
        return interpolate(log_odds, state["knots"], state["values"])


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


BLOCK_PAIRS = 1 << 20
"""Pairs sorted at a time."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Neighbouring pairs that isotonic regression gives one value, since their labels do not rise, as one run each.

    Attributes
    ----------
    first, last : (r,) lowest and highest score of each, in increasing order.
    counts, positives : (r,) its pairs, and how many of them are positive.
    """

    first: Floats
    last: Floats
    counts: Ints
    positives: Ints


def falling_runs(log_odds: Floats, positives: npt.NDArray[np.bool_]) -> Runs:
    """Runs of (m,) pairs with both outcomes: each distinct score of a positive, and the negatives between two of them.

    One class against the rest has few positives, so only they are sorted as a whole. Of the negatives, sorted block by
    block, the number and the two outermost between any two positives are enough, which takes no memory to speak of.
    """
    scores, n_positive = np.unique(log_odds[positives], return_counts=True)
    n_tied, n_between = np.zeros(len(scores), int), np.zeros(len(scores) + 1, int)
    first, last = np.full(len(n_between), np.inf), np.full(len(n_between), -np.inf)
    for rows in blocks(len(log_odds), 1, BLOCK_PAIRS):
        negatives = np.sort(log_odds[rows][~positives[rows]])
        left, right = (np.searchsorted(negatives, scores, side=side) for side in ("left", "right"))
        starts, stops = np.append(0, right), np.append(left, len(negatives))
        n_tied += right - left
        n_between += stops - starts
        some = stops > starts
        first[some] = np.minimum(first[some], negatives[starts[some]])
        last[some] = np.maximum(last[some], negatives[stops[some] - 1])
    # Negatives below the lowest positive, that positive, the negatives above it, and so on.
    place = np.arange(1, len(n_between))
    counts, of_positives = np.insert(n_between, place, n_positive + n_tied), np.insert(0 * n_between, place, n_positive)
    held = counts > 0
    first, last = (np.insert(each, place, scores)[held] for each in (first, last))
    return Runs(first, last, counts[held], of_positives[held])


def interpolate(points: Floats, knots: Floats, values: Floats) -> Floats:
    """Linear interpolation, clamped at the ends, that never leaves the two values of a segment.

    So it keeps the order of its points to the last bit where values rise. ``np.interp`` may exceed a segment's upper
    value by a rounding error, which is enough to change the predicted class of a row whose two best classes lie on
    either side of a knot.

    Parameters
    ----------
    points : array of any shape.
    knots : (m,) increasing; values : (m,).
    """
    if len(knots) == 1:
        return np.full(np.shape(points), values[0])
    points = np.asarray(points)
    left = np.clip(edges_at_or_below(points, knots).reshape(-1) - 1, 0, len(knots) - 2)
    widths, rises = np.diff(knots), np.diff(values)
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    said = np.empty(points.shape)
    flat, out = points.reshape(-1), said.reshape(-1)
    for block in blocks(flat.size):
        segment = left[block]
        share = np.clip(flat[block], knots[0], knots[-1])
        share -= knots[segment]
        share /= widths[segment]
        # value + 1 * (next value - value) may miss the next value by a rounding error.
        reached = np.flatnonzero(share == 1.0)
        share *= rises[segment]
        share += values[segment]
        np.clip(share, low[segment], high[segment], out=out[block])
        out[block][reached] = values[segment[reached] + 1]
    return said
