"""Which answers are correct: as a column says it, or by comparing predicted with true classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calib.data.assemble.labels import different
from calib.data.findings import InvalidUpload, listed
from calib.data.guess.columns import Column, spelled
from calib.data.guess.direction import event_value
from calib.data.read.base import Array, distinct
from calib.data.words import ANSWER_RIGHT, ANSWER_WRONG
from calib.formatting import plural


def correct_answers(
    actual: Array, predicted: Array | None, name: str, chosen: str | None = None
) -> Array:
    """(n,) 1 where an answer is correct and 0 where not, NaN where that is missing.

    Parameters
    ----------
    actual : (n,) true class of each row; or whether the answer is correct, where nothing was predicted.
    chosen : the value that means correct, where somebody has said it.
    """
    values, positions = different(actual.reshape(-1), name)
    truth = Column(name, 0, values)
    if predicted is not None:
        others, places = different(predicted.reshape(-1), name)
        if len(places) != len(positions):
            classes = plural(len(places), "class", "classes")
            rows = plural(len(positions), "row")
            reason = f"The prediction has {classes} for {rows} of {name}."
            raise InvalidUpload("rows_differ", reason, "Save one of each for every row.")
        right = (
            np.char.lower(texts_of(values))[positions] == np.char.lower(texts_of(others))[places]
        )
        known = truth.known[positions] & Column(name, 0, others).known[places]
        return np.where(known, right.astype(np.float64), np.nan)
    if chosen is None and (truth.cells.dtype.kind == "b" or truth.numbers is not None):
        return actual
    correct = correct_value(truth, chosen)
    if correct is None:
        either = {f"{value} means correct": {"event": value} for value in truth.values}
        raise InvalidUpload(
            "correct_unclear",
            f"{name} holds {plural(len(truth.values), 'different value')} ({listed(truth.values)}), which do not say "
            "which answers are correct.",
            "Choose the value that means correct, or save true and false.",
            readings=either if len(truth.values) == 2 else None,
        )
    return np.where(truth.known, (texts_of(values) == correct).astype(np.float64), np.nan)[
        positions
    ]


def correct_value(truth: Column, chosen: str | None) -> str | None:
    """The value that means correct: the one that was chosen, or that says so; None where none does.

    A value that no row has is given where all rows are wrong.
    """
    if chosen in truth.values:
        return chosen
    if len(truth.values) not in (1, 2):
        return None
    right, wrong = (
        [value for value in truth.values if value.strip().lower() in said]
        for said in (ANSWER_RIGHT, ANSWER_WRONG)
    )
    if len(right) == 1:
        return right[0]
    if len(wrong) == 1:
        return next((value for value in truth.values if value not in wrong), "correct")
    return event_value(truth) if len(truth.values) == 2 else None


def texts_of(cells: Array) -> npt.NDArray[np.str_]:
    """(n,) values as labels are written, 2.0 as 2."""
    values, places = distinct(cells)
    return np.array([spelled(value) for value in values.tolist()], dtype=np.str_)[places]
