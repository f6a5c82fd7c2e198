"""Tables that hold predictions in a form that is no row of outputs with one outcome; each with what to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from calib.data import words as w
from calib.data.findings import listed
from calib.data.guess.columns import OFF, Column
from calib.data.guess.outputs import by_pattern
from calib.data.names import plain_name, tokens

MARKS = ("x", "xx", "*", "\u2713", "\u2714", "\u2705", "yes", "ja", "true", "1")
"""Texts written where something holds, with nothing where it does not."""


class Problem(NamedTuple):
    """Reason for which a table is not read: the code of the error, what the table holds, and one thing to do."""

    code: str
    reason: str
    action: str


def problem_of(columns: Sequence[Column], n_rows: int) -> Problem | None:
    """Return the first problem of a table."""
    return melted(columns, n_rows) or one_hot(columns) or marked(columns) or survival(columns)


def melted(columns: Sequence[Column], n_rows: int) -> Problem | None:
    """Return the problem of a row for each example and class, whose probabilities sum to one over an example."""
    named = [c for c in columns if c.terms & w.CLASS and c.names_classes and len(c.values) > 1]
    keys = [c for c in columns if c.is_discrete and 2 < len(c.values) <= len(c.present) / 2]
    scores = [c for c in columns if c.is_fraction and c.meaning in ("", "output")]
    for classes, key, score in product(named, keys, scores):
        complete = np.bincount(key.codes) == len(classes.values)
        # Of a sample some keys are cut.
        share = complete.mean() if n_rows == len(key.cells) else complete.any()
        total = np.bincount(key.codes, weights=np.nan_to_num(np.asarray(score.numbers)))[complete]
        if key is not classes and share >= 0.9 and (np.abs(total - 1) <= OFF).mean() >= 0.98:
            return Problem(
                "melted",
                f"a row for each {key.name} and {classes.name}: {score.name} sums to one over the "
                f"{len(classes.values):,} rows of each {key.name}",
                f"Save one row for each {key.name} with a column for each class: "
                f"df.pivot(index={key.name!r}, columns={classes.name!r}, values={score.name!r}).",
            )
    return None


def one_hot(columns: Sequence[Column]) -> Problem | None:
    """Return the problem of a true class in a column of zeros and ones for each, beside a score of each."""
    flags = [c for c in columns if c.yes_or_no and c.meaning not in ("group", "predicted", "past")]
    scores = [plain_name(c.name) for c in columns if c.is_number and c.meaning in ("", "output")]
    for family in by_pattern(flags):
        scored = sum(name.endswith(tuple(family.plain)) for name in scores)
        if family.total == 1 and scored == len(family.columns):
            return Problem(
                "one_hot",
                f"the true class in a column for each ({listed(family.names)})",
                f"Save one column with the class of each row: df[[{family.names[0]!r}, ...]].idxmax(axis=1).",
            )
    return None


def marked(columns: Sequence[Column]) -> Problem | None:
    """Return the problem of an outcome that is marked where it happened and empty elsewhere."""
    for c in columns:
        mark = c.values[0] if len(c.values) == 1 and c.numbers is None else ""
        share = len(c.present) / max(len(c.cells), 1)
        if (
            mark.lower() in MARKS
            and share < 1
            and c.meaning in ("truth", "label", "event", "correct", "")
        ):
            return Problem(
                "marked",
                f"{mark!r} in {share:.0%} of the rows of {c.name} and nothing in the others",
                f"If nothing means that it did not happen, write a 0 there: df[{c.name!r}].notna().astype(int).",
            )
    return None


FOLLOWED = {"time", "duration", "followup", "follow", "futime", "survtime", "tte", "survival"}
ENDED = {"event", "status", "censored", "censor", "censoring", "cens", "delta"}
"""Words in the names of a time under observation and of what ended it."""


def survival(columns: Sequence[Column]) -> Problem | None:
    """Return the problem of a time under observation beside its end: rows without the event may be censored."""
    times = [
        c
        for c in columns
        if c.is_number
        and c.low >= 0
        and FOLLOWED & {*tokens(c.name)}
        and not c.is_date
        and c.meaning in ("", "time", "past")
        and not c.is_counter
    ]
    ends = [c for c in columns if ENDED & {*tokens(c.name)} and c.is_whole and len(c.values) == 2]
    risks = [c for c in columns if c.is_fraction and not c.is_whole and c.meaning == "output"]
    if not (times and ends and risks):
        return None
    return Problem(
        "censored",
        f"survival data: {risks[0].name} with the time {times[0].name} and {ends[0].name}, where rows without the "
        "event may be censored and are no non-events",
        "Save whether the event happened up to one horizon, for rows that were observed up to it or had the event.",
    )
