"""Intervals of scores, and paired differences between methods on the same rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base import CalibrationError
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.scores import SCORES
from calib.evaluation.statistics import Statistics, score_values, statistics_of
from calib.metrics.intervals import Interval, Resamples, basic_interval, wilson_interval
from calib.numerics import Floats

N_RESAMPLES = 1000
PROPORTIONS = ("accuracy", "top-5 accuracy")


@dataclass(frozen=True, eq=False)
class ResampledScores:
    """Scores of one evaluation on all rows, and on each resample of the rows.

    Attributes
    ----------
    value : key -> score.
    resampled : key -> (n_resamples,) scores.
    n : number of rows.
    """

    value: dict[str, float]
    resampled: dict[str, Floats]
    n: int

    def intervals(self, level: float = 0.95) -> dict[str, Interval]:
        """Interval of each score: Wilson's for proportions, which the bootstrap gets wrong near 0 and 1."""
        result = {}
        for key, value in self.value.items():
            score = SCORES[key]
            if key in PROPORTIONS:
                low, high = wilson_interval(value * self.n, self.n, level)
                result[key] = Interval(value, float(low), float(high))
            else:
                result[key] = basic_interval(value, self.resampled[key], level, score.low, score.high)
        return result

    def difference(self, baseline: ResampledScores, key: str, level: float = 0.95) -> Interval:
        """Interval of one score minus the baseline's, from the same resamples for both."""
        resampled = self.resampled[key] - baseline.resampled[key]
        return basic_interval(self.value[key] - baseline.value[key], resampled, level)

    def differences(self, baseline: ResampledScores, level: float = 0.95) -> dict[str, Interval]:
        """Interval of every score that both have, minus the baseline's."""
        return {key: self.difference(baseline, key, level) for key in self.value if key in baseline.value}


def resample_scores(evaluation: Evaluation, resamples: Resamples) -> ResampledScores:
    """Scores of an evaluation on shared resamples of its rows."""
    if len(evaluation) != resamples.n:
        raise CalibrationError(
            f"The evaluations have {len(evaluation)} and {resamples.n} rows; compare them on the same test set."
        )
    grouped = statistics_of(evaluation, resamples.groups)
    drawn = Statistics(
        {name: resamples.resample(sums) for name, sums in grouped.plain.items()},
        {name: resamples.resample(sums) for name, sums in grouped.binned.items()},
    )
    value = score_values(grouped.total)
    again = score_values(drawn)
    keys = [key for key in SCORES if key in value]
    return ResampledScores(
        {key: float(value[key]) for key in keys},
        {key: np.asarray(again[key]) for key in keys},
        len(evaluation),
    )


def score_intervals(
    evaluation: Evaluation, level: float = 0.95, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> dict[str, Interval]:
    """Bootstrap interval of every score, by key; see :func:`calib.metrics.basic_interval`.

    Bins stay those of the whole sample. A calibration error of few rows in many bins is an overestimate; its
    interval reaches down to where the truth may be, and its upper end is cautious.
    """
    resamples = Resamples(len(evaluation), n_resamples, random_state)
    return resample_scores(evaluation, resamples).intervals(level)


def paired_differences(
    evaluation: Evaluation,
    baseline: Evaluation,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    random_state: int = 0,
) -> dict[str, Interval]:
    """Bootstrap interval of every score minus the baseline's, by key, with the same resamples for both.

    Raises
    ------
    CalibrationError
        If the two were not evaluated on the same rows.
    """
    check_same_rows(evaluation, baseline)
    resamples = Resamples(len(evaluation), n_resamples, random_state)
    ours, theirs = (resample_scores(e, resamples) for e in (evaluation, baseline))
    return ours.differences(theirs, level)


def check_same_rows(evaluation: Evaluation, baseline: Evaluation) -> None:
    """Raise :class:`CalibrationError` unless both are about the same labels."""
    if evaluation.labels is baseline.labels:
        return
    if not np.array_equal(evaluation.labels, baseline.labels):
        raise CalibrationError(
            f"The evaluations have {len(evaluation)} and {len(baseline)} rows with different labels; "
            "compare methods on the same test set."
        )
