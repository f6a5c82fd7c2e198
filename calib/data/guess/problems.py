"""Tables that hold predictions in a form that is no row of outputs with one outcome; each with what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib.data import words as w
from calib.data.guess.columns import OFF, Column, row_sums
from calib.data.guess.names import class_names, plain_name, tokens


@dataclass(frozen=True)
class Problem:
    """Why a table is not read.

    Attributes
    ----------
    code : what pages and tests know it by.
    reason, action : what was seen, and one thing to do.
    """

    code: str
    reason: str
    action: str


def problem_of(columns: Mapping[str, Column], n_rows: int) -> Problem | None:
    """The first problem that a table has."""
    every = list(columns.values())
    return next((found for check in PROBLEMS if (found := check(every, n_rows)) is not None), None)


def melted(columns: Sequence[Column], n_rows: int) -> Problem | None:
    """A row for each example and class, with the probability of that class in it."""
    named = [column for column in columns if column.names_classes and column.words & w.CLASS and len(column.values) > 1]
    scores = [column for column in columns if column.is_fraction and column.says in ("", "output")]
    keys = [column for column in columns if _may_be_key(column)]
    for classes in named:
        for score in scores:
            for key in keys:
                if key is not classes and _sums_by(key, classes, score, n_rows == len(key.cells)):
                    return Problem(
                        "melted",
                        f"a row for each {key.name} and {classes.name}: {score.name} sums to one over the "
                        f"{len(classes.values):,} rows of each {key.name}",
                        f"Save one row for each {key.name} with a column for each class: "
                        f"df.pivot(index={key.name!r}, columns={classes.name!r}, values={score.name!r}).",
                    )
    return None


def _may_be_key(column: Column) -> bool:
    names_rows = column.numbers is None or column.is_whole
    return (
        names_rows and not column.is_date and 2 * len(column.values) <= len(column.present) and len(column.values) > 2
    )


def _sums_by(key: Column, classes: Column, score: Column, is_whole_table: bool) -> bool:
    """Whether the score sums to one over the rows of each key that has a row of each class."""
    assert score.numbers is not None
    codes, names, n_classes = key.codes, classes.codes, len(classes.values)
    if len(np.unique(codes * (int(names.max()) + 1) + names)) < len(codes):
        return False
    counts, totals = np.bincount(codes), np.bincount(codes, weights=np.nan_to_num(score.numbers))
    complete = counts == n_classes
    if not complete.any() or (is_whole_table and complete.mean() < 0.9):
        return False
    return bool((np.abs(totals[complete] - 1) <= OFF).mean() >= 0.98)


def several_outcomes(columns: Sequence[Column], n_rows: int) -> Problem | None:
    """Truth in a column of zeros and ones for each class: one-hot, or several labels a row."""
    flags = [c for c in columns if len(c.values) == 2 and c.yes_or_no and c.says not in ("group", "predicted", "past")]
    scores = [c for c in columns if c.is_number and c.says in ("", "output")]
    for stem in sorted({tokens(column.name)[:1] for column in flags}):
        own = [column for column in flags if tokens(column.name)[:1] == stem]
        if len(own) < 2 or not stem:
            continue
        classes = {plain_name(name) for name in class_names([column.name for column in own])}
        called = [c for c in scores if any(plain_name(c.name).endswith(name) for name in classes)]
        if len(called) != len(own) or not all(column.numbers is not None for column in own):
            continue
        listed = ", ".join(column.name for column in own[:4])
        if row_sums(own) == 1:
            return Problem(
                "one_hot",
                f"the true class in a column for each ({listed})",
                f"Save one column with the class of each row: df[[{own[0].name!r}, ...]].idxmax(axis=1).",
            )
        return Problem(
            "several_labels",
            f"several labels a row ({listed}), each with a score of its own",
            "Read one label at a time: choose one of these columns as the outcome and its score as the outputs.",
        )
    return None


def marked(columns: Sequence[Column], n_rows: int) -> Problem | None:
    """An outcome that is marked where it happened and empty elsewhere, beside outputs."""
    for column in columns:
        share = len(column.present) / max(len(column.cells), 1)
        is_mark = len(column.values) == 1 and column.numbers is None and column.values[0].lower() in MARKS
        if is_mark and 0 < share < 1 and column.says in ("truth", "label", "event", "correct", ""):
            return Problem(
                "marked",
                f"{column.values[0]!r} in {share:.0%} of the rows of {column.name} and nothing in the others",
                f"If nothing means that it did not happen, write a 0 there: df[{column.name!r}].notna().astype(int).",
            )
    return None


MARKS = ("x", "xx", "*", "\u2713", "\u2714", "\u2705", "yes", "ja", "true", "1")
"""What is written where something holds, with nothing where it does not."""

PROBLEMS: tuple[Callable[[Sequence[Column], int], Problem | None], ...] = (melted, several_outcomes, marked)
"""In the order in which they are looked for."""
