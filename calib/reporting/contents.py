"""What a report is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from calib.base import Calibrator
from calib.data import Choices
from calib.data.predictions import Predictions
from calib.evaluation import Evaluation
from calib.evaluation.verdict import CONFIDENCE_ONLY, verdict
from calib.plots.style import Style

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Source:
    """Where the data came from, as far as the command line must be told.

    Attributes
    ----------
    files : role -> path or name of each file, with the roles of :func:`calib.data.load`: ``source``, ``labels``,
        ``test`` and so on.
    choices : what was decided by hand about reading them.
    sample : name of the sample, where it is one that comes with the project.
    """

    files: Mapping[str, str] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    sample: str | None = None


@dataclass(frozen=True, eq=False)
class ReportedMethod:
    """One fitted method.

    Attributes
    ----------
    key : what the table calls it in its column ``method``.
    name : registry name.
    title, style : how it is called and drawn.
    calibrator : fitted.
    evaluation : on the test rows.
    fit_seconds, predict_seconds : NaN where nothing was measured.
    """

    key: str
    name: str
    title: str
    style: Style
    calibrator: Calibrator
    evaluation: Evaluation
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")


@dataclass(frozen=True, eq=False)
class Report:
    """One comparison of calibrators on one split of one data set.

    Attributes
    ----------
    data, calibration, test : all rows and the two parts.
    part, seed : the split that was asked for; ``part`` None means that of the data, or half where they have none.
    methods : the raw model first.
    table : of :func:`calib.compare`, with these methods, and those that failed with the reason.
    source : where the data came from.
    made : when, in UTC.
    """

    data: Predictions
    calibration: Predictions
    test: Predictions
    part: float | int | None
    seed: int
    methods: Sequence[ReportedMethod]
    table: pd.DataFrame
    source: Source = field(default_factory=Source)
    made: datetime = field(default_factory=lambda: datetime.now(UTC))


def verdict_paragraphs(table: pd.DataFrame) -> list[str]:
    """The verdict by the score that calibrators are fitted for, and by ECE where not all methods have that one."""
    scores = ["NLL", *(["ECE"] if (table["note"] == CONFIDENCE_ONLY).any() else [])]
    return [verdict(table, score) for score in scores]
