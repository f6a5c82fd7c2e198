"""Over- and underconfidence of known groups, such as sites, cohorts or classes, with intervals that hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.diagnostics.gaps import LEAST_ROWS, GroupGap, GroupGaps, gaps_by_group
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_registry import average_gap
from calib.metrics.bootstrap import Interval
from calib.numerics import Ints


@dataclass(frozen=True, eq=False)
class Subgroups:
    """One method's confidence and accuracy in each group; arrays have shape (n_groups,).

    Attributes
    ----------
    names : of the groups, sorted.
    gaps : rows, accuracy, mean confidence and the gap of each group, whose intervals hold for all groups of enough
        rows together.
    enough : whether a group has enough rows to be judged.
    average : gap of all rows, with its own interval.
    level : joint coverage of the intervals.
    """

    names: tuple[str, ...]
    gaps: GroupGaps
    enough: npt.NDArray[np.bool_]
    average: Interval
    level: float

    @property
    def off(self) -> list[GroupGap]:
        """Groups whose interval leaves out 0 and the average gap, the worst first."""
        gaps = self.gaps
        low = min(self.average.value, 0.0)
        high = max(self.average.value, 0.0)
        beyond = (gaps.gap_low > high) | (gaps.gap_high < low)
        return [self.group(k) for k in self.worst_first if beyond[k]]

    def group(self, k: int) -> GroupGap:
        """One group; its interval is NaN where it has too few rows to be judged."""
        gaps = self.gaps
        low, high = (gaps.gap_low[k], gaps.gap_high[k]) if self.enough[k] else (np.nan, np.nan)
        interval = Interval(float(gaps.gap[k]), float(low), float(high))
        return GroupGap(
            self.names[k],
            int(gaps.rows[k]),
            float(gaps.confidence[k]),
            float(gaps.accuracy[k]),
            interval,
        )

    def in_order(self, other: Subgroups | None = None) -> list[GroupGap]:
        """All groups, the worst first (of another method, where given) and those with too few rows last."""
        first = (other or self).worst_first
        return [self.group(k) for k in (*first, *np.setdiff1d(np.arange(len(self.names)), first))]

    @property
    def worst_first(self) -> Ints:
        """Groups of enough rows; see :meth:`calib.diagnostics.gaps.GroupGaps.worst_first`."""
        order = self.gaps.worst_first()
        return order[self.enough[order]]


def subgroups(
    evaluation: Evaluation,
    groups: Sequence[str] | npt.NDArray[Any],
    least_rows: int = LEAST_ROWS,
    level: float = 0.95,
) -> Subgroups:
    """Judge each group of rows.

    Intervals of the gap are those of :func:`gaps_by_group` at the level ``1 - (1 - level) / m`` for m judged groups
    (Bonferroni), so that on a calibrated model no group at all is called off in at least ``level`` of cases.

    Parameters
    ----------
    evaluation : of one method.
    groups : (n,) name of each row's group.
    least_rows : groups with fewer rows are not judged.
    level : joint coverage.
    """
    names, group = np.unique(np.asarray(groups), return_inverse=True)
    n_groups = len(names)
    rows = np.bincount(group, minlength=n_groups)
    enough = rows >= max(1, least_rows)
    joint = 1.0 - (1.0 - level) / max(1, int(enough.sum()))
    gaps = gaps_by_group(
        *evaluation.pair, group, n_groups, joint, evaluation.clusters, evaluation.weights
    )
    return Subgroups(tuple(map(str, names)), gaps, enough, average_gap(evaluation, level), level)
