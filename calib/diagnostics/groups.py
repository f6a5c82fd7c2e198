"""Over- and underconfidence within groups of rows: classes, and bands of confidence."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from calib.errors import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.metrics.bootstrap import wilson_interval
from calib.metrics.top_label import Bools
from calib.numerics import Floats, Ints

BAND_EDGES = (0.0, 0.5, 0.7, 0.9, 0.99, 1.0)
"""A band holds its lower edge, the last one its upper edge too."""


@dataclass(frozen=True, eq=False)
class GroupGaps:
    """Over- and underconfidence of each group of rows; every array has shape (n_groups,), means over nothing are NaN.

    Attributes
    ----------
    wrong, right : counts of wrong and right predictions.
    confidence : mean confidence.
    gap, gap_low, gap_high : mean confidence minus accuracy with its interval, see :func:`gap_interval`.
    over, over_low, over_high : mean confidence of the wrong ones with Wilson's conservative interval.
    under, under_low, under_high : mean of 1 - confidence of the right ones with the same interval.
    """

    wrong: Ints
    right: Ints
    confidence: Floats
    gap: Floats
    gap_low: Floats
    gap_high: Floats
    over: Floats
    over_low: Floats
    over_high: Floats
    under: Floats
    under_low: Floats
    under_high: Floats

    @property
    def rows(self) -> Ints:
        """Rows of each group."""
        return self.wrong + self.right

    @property
    def accuracy(self) -> Floats:
        """Share of right predictions of each group."""
        return _ratio(self.right, self.rows)

    @property
    def share(self) -> Floats:
        """Each group's share of all rows."""
        return self.rows / max(1, self.rows.sum())

    @property
    def contribution(self) -> Floats:
        """Share of rows times gap: what each group adds to the overall signed gap; 0 where it has no rows."""
        return self.share * np.where(self.rows > 0, self.gap, 0.0)

    def worst_first(self, least_rows: int = 1) -> Ints:
        """Numbers of the groups with at least ``least_rows`` rows, by how far chance lets their gap be from 0.

        The gap's end nearest to 0 decides, so that a group of a few odd rows does not come first; among groups whose
        interval holds 0, the size of the gap.
        """
        kept = np.flatnonzero(self.rows >= max(1, least_rows))
        return kept[np.lexsort((-np.abs(self.gap[kept]), -self.sure_gap[kept]))]

    @property
    def sure_gap(self) -> Floats:
        """Distance of each gap's interval from 0; 0 where the interval holds it, NaN for groups without rows."""
        return np.maximum(np.maximum(self.gap_low, -self.gap_high), 0.0)


def gaps_by_group(confidence: Floats, correct: Bools, group: Ints, n_groups: int, level: float = 0.95) -> GroupGaps:
    """Over- and underconfidence within each group of rows.

    Parameters
    ----------
    confidence, correct : (n,) arrays, as in ``Evaluation.pair``.
    group : (n,) number of each row's group, in [0, n_groups).
    level : coverage of the intervals.
    """
    right = np.bincount(group[correct], minlength=n_groups)
    wrong = np.bincount(group[~correct], minlength=n_groups)
    rows = right + wrong
    total = np.bincount(group, weights=confidence, minlength=n_groups)
    total_over = np.bincount(group[~correct], weights=confidence[~correct], minlength=n_groups)
    total_under = np.bincount(group[correct], weights=1.0 - confidence[correct], minlength=n_groups)
    mean = _ratio(total, rows)
    difference = confidence - correct
    squares = _ratio(np.bincount(group, weights=difference**2, minlength=n_groups), rows)
    gap = _ratio(total_over - total_under, rows)
    deviation = np.sqrt(np.maximum(squares - gap**2, 0.0))
    return GroupGaps(
        wrong, right, mean,
        gap, *gap_interval(gap, deviation, mean, right, rows, level),
        *_mean_with_interval(total_over, wrong, level),
        *_mean_with_interval(total_under, right, level),
    )  # fmt: skip


def gap_interval(
    gap: Floats, deviation: Floats, confidence: Floats, right: Ints, rows: Ints, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Interval of mean confidence minus accuracy: the wider of two at either end.

    Wilson's interval of the accuracy, as in reliability diagrams, does not collapse where all of a few rows are
    right; the normal interval of the row-wise difference knows how the confidences spread.

    Parameters
    ----------
    gap, deviation : mean and standard deviation of confidence - correct over the rows.
    confidence, right, rows : mean confidence, counts of right predictions and of rows.

    Returns
    -------
    (low, high) within [-1, 1]; NaN where there are no rows.
    """
    low_accuracy, high_accuracy = wilson_interval(right, rows, level)
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * deviation / np.sqrt(np.maximum(rows - 1, 1))
    low = np.minimum(confidence - high_accuracy, gap - half)
    high = np.maximum(confidence - low_accuracy, gap + half)
    return np.clip(low, -1.0, 1.0), np.clip(high, -1.0, 1.0)


def by_class(evaluation: Evaluation, by: str = "predicted", level: float = 0.95) -> GroupGaps:
    """Over- and underconfidence by class.

    Parameters
    ----------
    evaluation : of one method.
    by : "predicted": among the predictions of each class, which of a calibrated model have no gap; or "label": among
        the rows that are of each class, where even a calibrated model is too sure of classes that are hard to tell.
    level : coverage of the intervals.

    Raises
    ------
    CalibrationError
        For another ``by``.
    """
    if by not in ("predicted", "label"):
        raise CalibrationError(f"by={by!r} must be 'predicted' or 'label'.")
    classes = evaluation.predicted if by == "predicted" else evaluation.labels
    return gaps_by_group(*evaluation.pair, classes, evaluation.n_classes, level)


def band_of(confidence: Floats) -> Ints:
    """Number of the band of each confidence, (n,) integers in [0, 5)."""
    return np.searchsorted(BAND_EDGES[1:-1], confidence, side="right")


def by_band(evaluation: Evaluation, level: float = 0.95) -> GroupGaps:
    """Over- and underconfidence in each band of confidence; contributions add up to the overall signed gap."""
    return gaps_by_group(*evaluation.pair, band_of(evaluation.confidence), len(BAND_EDGES) - 1, level)


def _mean_with_interval(total: Floats | Ints, count: Ints, level: float) -> tuple[Floats, Floats, Floats]:
    some = count > 0
    low, high = wilson_interval(np.clip(total, 0.0, count), count, level)
    return _ratio(total, count), np.where(some, low, np.nan), np.where(some, high, np.nan)


def _ratio(total: Floats | Ints, count: Ints) -> Floats:
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
