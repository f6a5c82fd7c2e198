"""Predicted classes: which answers are correct by them, and whether the outputs agree with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from calib.canonical import IN_UNIT, Kind
from calib.data.assemble.labels import decode_labels, different
from calib.data.findings import InvalidUpload, count, info, listed, row_numbers, warning
from calib.data.guess.columns import Column, spelled
from calib.data.guess.direction import event_value
from calib.data.limits import MAX_DISTINCT
from calib.data.options import Choices
from calib.data.read.base import OTHERS, Allowance, Array, book_texts, distinct
from calib.data.words import ANSWER_RIGHT, ANSWER_WRONG
from calib.errors import Finding
from calib.numerics import Floats, Ints

AGREES = 0.99
"""Share of rows from which on the predicted classes are those of the outputs; ties and rounding make a few differ."""


def correct_answers(actual: Array, predicted: Array | None, name: str, chosen: str | None = None) -> Array:
    """(n,) 1 where an answer is correct and 0 where not, NaN where that is missing.

    Parameters
    ----------
    actual : (n,) true class of each row; or whether the answer is correct, where nothing was predicted.
    predicted : (n,) predicted class of each row.
    chosen : the value that means correct, where somebody has said it.
    """
    values, positions = different(actual.reshape(-1), name)
    truth = Column(name, 0, values)
    if predicted is not None:
        others, places = different(predicted.reshape(-1), name)
        if len(places) != len(positions):
            reason = f"There are {count(len(places), 'predicted class')} for {count(len(positions), 'row')} of {name}."
            raise InvalidUpload("rows_differ", reason, "Save one of each for every row.")
        right = np.char.lower(texts_of(values))[positions] == np.char.lower(texts_of(others))[places]
        known = truth.known[positions] & Column(name, 0, others).known[places]
        return np.where(known, right.astype(np.float64), np.nan)
    if chosen is None and (truth.cells.dtype.kind == "b" or truth.numbers is not None):
        return actual
    correct = correct_value(truth, chosen)
    if correct is None:
        either = {f"{value} means correct": {"event": value} for value in truth.values}
        raise InvalidUpload(
            "correct_unclear",
            f"{name} holds {count(len(truth.values), 'different value')} ({listed(truth.values)}), which do not say "
            "which answers are correct.",
            "Choose the value that means correct, or save true and false.",
            readings=either if len(truth.values) == 2 else None,
        )
    return np.where(truth.known, (texts_of(values) == correct).astype(np.float64), np.nan)[positions]


def correct_value(truth: Column, chosen: str | None) -> str | None:
    """The value that means correct: the one that was chosen, or that says so; None where none does.

    A value that no row has is given where all rows are wrong.
    """
    if chosen in truth.values:
        return chosen
    if len(truth.values) not in (1, 2):
        return None
    plain = {value: value.strip().lower() for value in truth.values}
    right = [value for value, text in plain.items() if text in ANSWER_RIGHT]
    wrong = [value for value, text in plain.items() if text in ANSWER_WRONG]
    if len(right) == 1:
        return right[0]
    if len(wrong) == 1:
        return next((value for value in truth.values if value not in wrong), "correct")
    return event_value(truth) if len(plain) == 2 else None


def texts_of(cells: Array) -> npt.NDArray[np.str_]:
    """(n,) values as labels are written, 2.0 as 2."""
    found = distinct(cells, MAX_DISTINCT)
    if found is None:
        reason = f"A column has more than {MAX_DISTINCT:,} different values to be named."
        raise InvalidUpload("too_large", reason, OTHERS)
    names = np.array([spelled(value) for value in found[0].tolist()], dtype=np.str_)
    book_texts(len(found[1]), names.itemsize // 4, "A column as text", Allowance())
    return names[found[1]]


def check_predicted(
    raw: Array, outputs: Floats, kind: Kind, n_classes: int, columns: tuple[str, ...] | None, choices: Choices
) -> Finding:
    """Compare predicted classes with the largest output of each row.

    Parameters
    ----------
    raw : (n,) predicted classes, written as the labels are.
    outputs : (n, k) outputs of the kind.
    """
    name = choices.predicted or "predicted"
    try:
        decoded = decode_labels(raw, n_classes, columns, name, replace(choices, drop_bad_rows=True)).value
    except InvalidUpload as invalid:
        return warning("predicted_unread", f"{name} was not compared with the outputs: {invalid.finding.reason}")
    known = np.flatnonzero(~decoded.bad)
    if not len(known):
        return warning(
            "predicted_unread", f"{name} holds none of the classes, so it was not compared with the outputs."
        )
    agrees = is_largest(outputs[known], decoded.codes[known], kind)
    if agrees.mean() >= AGREES:
        return info("predicted_agrees", f"{name} is the class with the largest output in {agrees.mean():.1%} of rows.")
    differ = np.zeros(len(raw), dtype=bool)
    differ[known[~agrees]] = True
    reason = (
        f"{name} is the class with the largest output in {agrees.mean():.1%} of rows only; it differs in "
        f"{row_numbers(differ)}"
    )
    return warning(
        "predicted_differs",
        f"{reason}. Another threshold, or columns of another model or in another order, usually cause it.",
        "Check that these are the outputs that the predictions were made from.",
    )


def is_largest(outputs: Floats, predicted: Ints, kind: Kind) -> npt.NDArray[np.bool_]:
    """(n,) whether no other class has a larger output than the predicted one."""
    if outputs.shape[1] == 1:
        middle = 0.5 if kind in IN_UNIT else 0.0
        return np.where(predicted == 1, outputs[:, 0] >= middle, outputs[:, 0] <= middle)
    return outputs[np.arange(len(outputs)), predicted] >= outputs.max(axis=1)
