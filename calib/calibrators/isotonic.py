"""Isotonic calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from calib.calibrators.one_vs_rest import Bools, Map, OneVsRest, platt_targets
from calib.calibrators.steps import Step, lines
from calib.numerics import Floats, Ints, are_distinct
from calib.parameters import param


@dataclass(frozen=True, eq=False)
class Tally:
    """Pairs by score: equal scores must get one value.

    Attributes
    ----------
    scores : (m,) increasing log-odds, the lowest of those that tie (:func:`~calib.numerics.are_distinct`).
    counts : (m,) how many pairs have each, or their weights.
    positives : (m,) how many of these are positive, or their weights.
    """

    scores: Floats
    counts: Floats
    positives: Floats

    @classmethod
    def of(cls, log_odds: Floats, positives: Bools, weights: Floats | None = None) -> Self:
        """Count (n,) pairs."""
        order = None if weights is None else np.argsort(log_odds)
        ordered = np.sort(log_odds) if order is None else log_odds[order]
        starts = np.flatnonzero(are_distinct(ordered))
        scores = ordered[starts]
        del ordered  # as large as all pairs
        if weights is None:
            positive_scores = np.sort(log_odds[positives])
            positive_counts = _lengths(positive_scores.searchsorted(scores), len(positive_scores))
            return cls(scores, _lengths(starts, len(log_odds)), positive_counts)
        counts = np.add.reduceat(weights[order], starts)
        positive_counts = np.add.reduceat((weights * positives)[order], starts)
        return cls(
            scores, counts.astype(float, copy=False), positive_counts.astype(float, copy=False)
        )

    def pooled(self, starts: Ints) -> Tally:
        """Neighbours as one, each with the mean score of its pairs; pools begin at ``starts``, the first 0."""
        sums = self.counts, self.scores * self.counts, self.positives
        counts, scores, positives = (np.add.reduceat(column, starts) for column in sums)
        return Tally(scores / counts, counts, positives)

    def runs(self, longest: int) -> Ints:
        """Start of each score with positives, and of each run of at most ``longest`` without.

        One class against the rest has few positives, so these are few, and a rising map has one value on each.
        """
        has_events = self.positives > 0
        begins = np.append(True, has_events[1:] | has_events[:-1])
        begins[::longest] = True
        return np.flatnonzero(begins)

    def platt_targets(self) -> tuple[float, float]:
        """Values for 0 and for 1 among Platt's smoothed labels of these pairs."""
        positive = float(self.positives.sum())
        return platt_targets(positive, float(self.counts.sum()) - positive)


def _lengths(starts: Ints, end: int) -> Floats:
    """Lengths of parts that begin at ``starts``, the last of which ends at ``end``."""
    lengths = np.empty(len(starts))
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1] = end - starts[-1]
    return lengths


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Straight lines between ``values`` at increasing ``knots``, constant beyond them."""

    knots: Floats
    values: Floats

    def apply(self, log_odds: Floats) -> Floats:
        return interpolate(log_odds, self.knots, self.values)

    def steps(self) -> list[Step]:
        return [lines(self.knots, self.values)]


def isotonic_map(
    log_odds: Floats,
    positives: Bools,
    weights: Floats | None = None,
    *,
    platt_correction: bool = False,
    margin: float = 0.0,
) -> LinearMap:
    """The rising steps of least squared error, joined by lines.

    Parameters
    ----------
    log_odds, positives : (m,) pairs.
    weights : (m,) how much each counts, above zero; 1 if None.
    platt_correction : whether Platt's smoothed targets take the place of 0 and 1.
    margin : least distance of the values from 0 and 1.
    """
    from scipy.optimize import isotonic_regression

    tally = Tally.of(log_odds, positives, weights)
    starts = tally.runs(len(tally.scores))
    counts, ones = (np.add.reduceat(column, starts) for column in (tally.counts, tally.positives))
    fit = isotonic_regression(ones / counts, weights=counts).x
    rises = np.append(True, fit[1:] > fit[:-1])
    knots, values = joined(tally.scores, starts[rises], fit[rises])
    # Least squares commutes with a linear change of the targets.
    low, high = tally.platt_targets() if platt_correction else (0.0, 1.0)
    return LinearMap(knots, np.clip(low + (high - low) * values, margin, 1 - margin))


@dataclass(eq=False, repr=False, kw_only=True)
class IsotonicCalibration(OneVsRest):
    """The monotone map closest to the labels, linear between its steps and constant beyond them.

    Zadrozny and Elkan, Transforming Classifier Scores into Accurate Multiclass Probability Estimates,
    KDD 2002. Its outermost steps often are pure, which would claim a probability of exactly 0 or 1; they are
    kept at least 1 / (m + 2) away, m the number of calibration pairs.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = IsotonicCalibration().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    platt_correction: bool = param(
        False,
        help="Soften the targets 0 and 1 by their counts, as Platt does; helps small calibration sets.",
    )

    map_type: ClassVar[type[Map]] = LinearMap

    def _fit_map(self, log_odds: Floats, positives: Bools, weights: Floats | None) -> Map:
        return isotonic_map(
            log_odds,
            positives,
            weights,
            platt_correction=self.platt_correction,
            margin=self.margin_,
        )


def joined(scores: Floats, starts: Ints, values: Floats) -> tuple[Floats, Floats]:
    """Knots and values of steps that are flat from their first score to their last, with a line to the next.

    Parameters
    ----------
    scores : increasing; starts : position of the first score of each step.
    """
    stops = np.append(starts[1:], len(scores)) - 1
    knots, first = np.unique(scores[np.stack([starts, stops], axis=1)], return_index=True)
    return knots, np.repeat(values, 2)[first]


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
    cell = np.searchsorted(knots[1:-1], points, side="right")
    start = values[cell]
    stop = values[cell + 1]
    first = knots[cell]
    share = np.clip((points - first) / (knots[cell + 1] - first), 0.0, 1.0)
    between = np.clip(
        start + share * (stop - start), np.minimum(start, stop), np.maximum(start, stop)
    )
    return np.where(share == 1.0, stop, between)  # rounding may miss the last value
