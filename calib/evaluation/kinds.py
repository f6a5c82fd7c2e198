"""The studies whose results are tables that can be kept: a name for each, so that no file has to name a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calib.evaluation.studies import repeat_task, size_task

SPLITS, SIZES = "splits", "sizes"


@dataclass(frozen=True)
class StudyKind:
    """A study as workers run it, and the columns of the table that it gives.

    A stored table with other columns is of another version, and nothing that pages could show.
    """

    function: Callable[..., Any]
    columns: tuple[str, ...]


STUDIES = {
    SPLITS: StudyKind(
        repeat_task,
        ("method", "title", "split", "n_calibration", "n_test", "score", "value", "fit_seconds", "note"),
    ),
    SIZES: StudyKind(
        size_task,
        (
            "method",
            "title",
            "size",
            "n_draws",
            "value",
            "low",
            "high",
            "sd",
            "to_last",
            "to_last_low",
            "to_last_high",
            "score",
            "note",
        ),
    ),
}
