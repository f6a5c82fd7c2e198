"""Limits of scores, for a build that stops where one is broken by more than the rows at hand explain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from calib.errors import CalibrationError
from calib.evaluation.claims import FEW_ROWS
from calib.evaluation.evaluation import Evaluation
from calib.evaluation.score_definitions import SCORES
from calib.evaluation.scores import score_intervals
from calib.formatting import fixed, plural
from calib.metrics.bootstrap import Interval


@dataclass(frozen=True)
class LimitVerdict:
    """A score beside its limit.

    Attributes
    ----------
    score : its key in ``calib.evaluation.SCORES``.
    found : on all rows, with its 95 % interval.
    limit : the most that is allowed, or the least where more is better.
    word : "passes"; "fails" where the whole interval lies beyond the limit; "undecided" where the rows cannot say.
    why : of "undecided", why the rows cannot say.
    """

    score: str
    found: Interval
    limit: float
    word: Literal["passes", "fails", "undecided"]
    why: str = ""

    @property
    def sentence(self) -> str:
        """The verdict in one line."""
        more = SCORES[self.score].better == "higher"
        value, low, high = self.found
        beyond = value < self.limit if more else value > self.limit
        by_chance = ", worse by no more than chance" if self.word == "passes" and beyond else ""
        return (
            f"{SCORES[self.score].title} {fixed(value)} (95 %: {fixed(low)} to {fixed(high)}), "
            f"{'at least' if more else 'at most'} {self.limit:g}: {self.word}{by_chance}{self.why and f': {self.why}'}"
        )


def judge_limits(judged: Evaluation, limits: Mapping[str, float]) -> list[LimitVerdict]:
    """Each score with a limit; it fails where its 95 % interval lies beyond.

    The intervals are those of :func:`calib.evaluation.score_intervals`: that of an ECE reaches down to where the truth
    may be, so that the noise of few rows in many bins breaks no limit. Fewer than ten rows, or clusters, and rows of
    one class alone decide nothing: calibration cannot be measured on them.

    Parameters
    ----------
    judged : on the rows at hand.
    limits : key of a score -> the most that is allowed, or the least where more is better.

    Raises
    ------
    CalibrationError
        If there is no such score, as of a calibrator that gives a confidence alone.
    """
    intervals, why = score_intervals(judged), _why_undecided(judged)
    made = []
    for key, limit in limits.items():
        if key not in intervals or math.isnan(intervals[key].value):
            raise CalibrationError(f"These {len(judged):,} rows have no {SCORES[key].title}; leave out its limit.")
        _, low, high = intervals[key]
        within = high >= limit if SCORES[key].better == "higher" else low <= limit
        word: Literal["passes", "fails", "undecided"] = "undecided" if why else "passes" if within else "fails"
        made.append(LimitVerdict(key, intervals[key], limit, word, why))
    return made


def _why_undecided(judged: Evaluation) -> str:
    units = judged.n_clusters or len(judged)
    if units < FEW_ROWS:
        noun = plural(units, "row" if judged.n_clusters is None else "cluster")
        return f"{noun} cannot tell, give at least {FEW_ROWS}"
    if len(np.unique(judged.labels)) == 1 and judged.view.name != "pairs":
        return "all labels are of one class, give rows of the others too"
    return ""
