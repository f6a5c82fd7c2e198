"""Tables that hold predictions in a form that is no row of outputs with one outcome; each with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from calib.data import words as w
from calib.data.guess.columns import OFF, Column, row_sums
from calib.data.guess.names import class_names, plain_name, tokens

MARKS = ("x", "xx", "*", "\u2713", "\u2714", "\u2705", "yes", "ja", "true", "1")
"""What is written where something holds, with nothing where it does not."""


class Problem(NamedTuple):
    """Why a table is not read: the code of the error, what was seen, and one thing to do."""

    code: str
    reason: str
    action: str


def problem_of(columns: Mapping[str, Column], n_rows: int) -> Problem | None:
    """The first problem that a table has."""
    every = list(columns.values())
    return melted(every, n_rows) or several_outcomes(every) or marked(every)


def melted(columns: Sequence[Column], n_rows: int) -> Problem | None:
    """A row for each example and class, with the probability of that class in it: it sums to one over an example."""
    named = [column for column in columns if column.names_classes and column.words & w.CLASS and len(column.values) > 1]
    scores = [column for column in columns if column.is_fraction and column.says in ("", "output")]
    keys = [column for column in columns if (column.numbers is None or column.is_whole) and not column.is_date]
    keys = [key for key in keys if 2 < len(key.values) <= len(key.present) / 2]
    for classes, key in ((c, k) for c in named for k in keys if k is not c):
        codes, n_classes = key.codes, len(classes.values)
        pairs = np.unique(codes * len(classes.cells) + classes.codes)
        complete = np.bincount(codes) == n_classes
        share = complete.mean() if n_rows == len(key.cells) else complete.any()  # of a sample some keys are cut
        if len(pairs) < len(codes) or share < 0.9:
            continue
        for score in scores:
            totals = np.bincount(codes, weights=np.nan_to_num(np.array(score.numbers, dtype=np.float64)))[complete]
            if (np.abs(totals - 1) <= OFF).mean() >= 0.98:
                return Problem(
                    "melted",
                    f"a row for each {key.name} and {classes.name}: {score.name} sums to one over the "
                    f"{n_classes:,} rows of each {key.name}",
                    f"Save one row for each {key.name} with a column for each class: "
                    f"df.pivot(index={key.name!r}, columns={classes.name!r}, values={score.name!r}).",
                )
    return None


def several_outcomes(columns: Sequence[Column]) -> Problem | None:
    """Truth in a column of zeros and ones for each class: one-hot, or several labels a row."""
    flags = [
        c for c in columns if c.numbers is not None and c.yes_or_no and c.says not in ("group", "predicted", "past")
    ]
    scores = [column for column in columns if column.is_number and column.says in ("", "output")]
    for stem in sorted({tokens(column.name)[:1] for column in flags} - {()}):
        own = [column for column in flags if tokens(column.name)[:1] == stem]
        classes = {plain_name(name) for name in class_names([column.name for column in own])}
        called = [c for c in scores if any(plain_name(c.name).endswith(name) for name in classes)]
        if len(own) < 2 or len(called) != len(own):
            continue
        listed = ", ".join(column.name for column in own[:4])
        if row_sums(own) == 1:
            action = f"Save one column with the class of each row: df[[{own[0].name!r}, ...]].idxmax(axis=1)."
            return Problem("one_hot", f"the true class in a column for each ({listed})", action)
        action = "Read one label at a time: choose one of these columns as the outcome and its score as the outputs."
        return Problem("several_labels", f"several labels a row ({listed}), each with a score of its own", action)
    return None


def marked(columns: Sequence[Column]) -> Problem | None:
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
