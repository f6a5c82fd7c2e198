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
from calib.evaluation.scores import SCORES, score_intervals
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
    sentence : the verdict in one line.
    """

    score: str
    found: Interval
    limit: float
    word: Literal["passes", "fails", "undecided"]
    why: str
    sentence: str


def untold(judged: Evaluation) -> str:
    """Why rows cannot tell whether they are calibrated: they are fewer than ten, or of one class; else ""."""
    units = judged.n_clusters or len(judged)
    if units < FEW_ROWS:
        noun = plural(units, "row" if judged.n_clusters is None else "cluster")
        return f"{noun} cannot tell, give at least {FEW_ROWS}"
    if len(np.unique(judged.labels)) == 1 and judged.view.name != "pairs":
        return "all labels are of one class, give rows of the others too"
    return ""


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
    intervals, why, made = score_intervals(judged), untold(judged), []
    for key, limit in limits.items():
        score = SCORES[key].seen(judged.view)
        if key not in intervals or math.isnan(intervals[key].value):
            raise CalibrationError(f"These {len(judged):,} rows have no {score.title}; leave out its limit.")
        value, low, high = intervals[key]
        more = score.better == "higher"
        within, beyond = (high >= limit, value < limit) if more else (low <= limit, value > limit)
        word: Literal["passes", "fails", "undecided"] = "undecided" if why else "passes" if within else "fails"
        sentence = (
            f"{score.title} {fixed(value)} (95 %: {fixed(low)} to {fixed(high)}), "
            f"{'at least' if more else 'at most'} {limit:g}: {word}"
        )
        sentence += f": {why}" if why else ", worse by no more than chance" if within and beyond else ""
        made.append(LimitVerdict(key, intervals[key], limit, word, why, sentence))
    return made
