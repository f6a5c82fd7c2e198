"""Reliability by subgroup: sites, cohorts or batches that are off, and those that stand out from the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.diagnostics.groups import GroupGaps, gap_interval, gaps_by_group
from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.metrics.calibration_error import debiased_ece, ece
from calib.numerics import Floats, Ints

LEAST_ROWS = 10
"""Fewer rows than this are too few to say anything about a group."""


@dataclass(frozen=True, eq=False)
class Subgroups:
    """One method's confidence and accuracy in each group; arrays have shape (n_groups,).

    Attributes
    ----------
    names : of the groups, sorted.
    gaps : rows, accuracy, mean confidence and the gap of each group, whose intervals hold for all groups of enough
        rows together.
    enough : whether a group has enough rows to be judged.
    excess, excess_low, excess_high : gap of each group minus the gap of all other rows, with joint intervals too.
    ece, ece_debiased : of each group, in 15 bins of equal width, and in bins of equal counts less what noise alone
        would give; NaN where there are too few rows.
    level : joint coverage of the intervals.
    """

    names: tuple[str, ...]
    gaps: GroupGaps
    enough: npt.NDArray[np.bool_]
    excess: Floats
    excess_low: Floats
    excess_high: Floats
    ece: Floats
    ece_debiased: Floats
    level: float

    @property
    def overconfident(self) -> Ints:
        """Groups whose whole interval is above 0, the worst first."""
        return self._off(self.gaps.gap_low > 0)

    @property
    def underconfident(self) -> Ints:
        """Groups whose whole interval is below 0, the worst first."""
        return self._off(self.gaps.gap_high < 0)

    @property
    def apart(self) -> Ints:
        """Groups whose gap differs from that of the other rows, the worst first."""
        return self._off((self.excess_low > 0) | (self.excess_high < 0))

    @property
    def worst_first(self) -> Ints:
        """Groups of enough rows; see :meth:`calib.diagnostics.groups.GroupGaps.worst_first`."""
        order = self.gaps.worst_first()
        return order[self.enough[order]]

    def _off(self, chosen: npt.NDArray[np.bool_]) -> Ints:
        order = self.worst_first
        return order[chosen[order]]


def subgroups(
    evaluation: Evaluation, groups: Sequence[str] | npt.NDArray[Any], least_rows: int = LEAST_ROWS, level: float = 0.95
) -> Subgroups:
    """Judge each group of rows by itself and beside the rest.

    Intervals of the gap are those of :func:`calib.diagnostics.groups.gap_interval` at the level ``1 - (1 - level) / m``
    for m judged groups (Bonferroni), so that on a calibrated model no group at all is called off in at least ``level``
    of cases. Differences to the other rows combine two such intervals (Zou and Donner 2008, equation 7).

    Parameters
    ----------
    evaluation : of one method.
    groups : (n,) name of each row's group.
    least_rows : groups with fewer rows are not judged.
    level : joint coverage.

    Raises
    ------
    CalibrationError
        If there is not one group for each row.
    """
    array = np.asarray(groups)
    if array.shape != (len(evaluation),):
        raise CalibrationError(f"There must be one group for each of {len(evaluation)} rows; got shape {array.shape}.")
    names, group = np.unique(array, return_inverse=True)
    n_groups = len(names)
    rows = np.bincount(group, minlength=n_groups)
    enough = rows >= max(1, least_rows)
    joint = 1.0 - (1.0 - level) / max(1, int(enough.sum()))
    gaps = gaps_by_group(*evaluation.pair, group, n_groups, joint)
    plain, debiased = _errors(evaluation, group, n_groups, enough)
    return Subgroups(
        tuple(map(str, names)), gaps, enough, *_excess(evaluation, group, gaps, joint), plain, debiased, level
    )


def folded(
    evaluation: Evaluation, groups: npt.NDArray[Any], order: Ints, names: Sequence[str], level: float
) -> GroupGaps:
    """Gaps of some groups in the given order and, last, of all other rows pooled; at the given level each."""
    place = np.full(len(names), len(order))
    place[order] = np.arange(len(order))
    position = place[np.searchsorted(np.asarray(names), np.asarray(groups))]
    return gaps_by_group(*evaluation.pair, position, len(order) + 1, level)


def _excess(evaluation: Evaluation, group: Ints, gaps: GroupGaps, level: float) -> tuple[Floats, Floats, Floats]:
    """Gap of each group less that of the rows outside it, with its interval; NaN where there are none outside."""
    confidence, correct = evaluation.pair
    n_groups = len(gaps.rows)
    own = [np.bincount(group, weights=w, minlength=n_groups) for w in (confidence, (confidence - correct) ** 2)]
    total_confidence, total_squares = (sums.sum() - sums for sums in own)
    rows, right = gaps.rows.sum() - gaps.rows, gaps.right.sum() - gaps.right
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, squares = total_confidence / rows, total_squares / rows
        gap = mean - right / rows
    deviation = np.sqrt(np.maximum(squares - gap**2, 0.0))
    low, high = gap_interval(gap, deviation, mean, right, rows, level)
    excess = gaps.gap - gap
    below = np.hypot(gaps.gap - gaps.gap_low, high - gap)
    above = np.hypot(gaps.gap_high - gaps.gap, gap - low)
    return excess, excess - below, excess + above


def _errors(evaluation: Evaluation, group: Ints, n_groups: int, enough: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    confidence, correct = evaluation.pair
    plain, debiased = np.full(n_groups, np.nan), np.full(n_groups, np.nan)
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=n_groups))
    for k in np.flatnonzero(enough):
        rows = order[ends[k - 1] if k else 0 : ends[k]]
        plain[k] = ece(confidence[rows], correct[rows])
        debiased[k] = debiased_ece(confidence[rows], correct[rows])
    return plain, debiased
