"""Columns that make new ones: which answers are correct, and subgroups of several columns crossed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, count, listed
from calib.data.event import DID_NOT, HAPPENED
from calib.data.formats.base import Array
from calib.data.interpret.direction import event_value
from calib.data.interpret.evidence import Column, mask_of, spelled

RIGHT = (
    *HAPPENED,
    *("correct", "right", "richtig", "korrekt", "correcte", "juste", "correcto", "correcta", "acierto", "exact", "hit"),
    *("pass", "passed", "success", "ok", "\u2713", "\u2714", "\u2705"),
)
"""Values that say that an answer is correct; lower case."""

WRONG = (
    *DID_NOT,
    *("wrong", "incorrect", "falsch", "inkorrekt", "incorrecte", "incorrecto", "incorrecta", "error", "miss"),
    *("fail", "failed", "failure", "\u2717", "\u2718", "\u274c", "x"),
)
"""Values that say that it is wrong."""


def correct_answers(actual: Array, predicted: Array | None, name: str, chosen: str | None = None) -> Array:
    """(n,) 1 where an answer is correct and 0 where not, NaN where that is missing.

    Parameters
    ----------
    actual : (n,) true class of each row; or whether the answer is correct, where nothing was predicted.
    predicted : (n,) predicted class of each row.
    chosen : the value that means correct, where somebody has said it.
    """
    truth = Column(name, 0, actual.reshape(-1))
    if predicted is not None:
        answers = Column(name, 0, predicted.reshape(-1))
        right = np.char.lower(as_text(truth.cells)) == np.char.lower(as_text(answers.cells))
        return np.where(mask_of(truth) & mask_of(answers), right.astype(np.float64), np.nan)
    if chosen is None and (truth.cells.dtype.kind == "b" or truth.numbers is not None):
        return actual
    correct = correct_value(truth, chosen)
    if correct is None:
        raise InvalidUpload(
            "correct_unclear",
            f"{name} holds {count(len(truth.values), 'different value')} ({listed(truth.values)}), which do not say "
            "which answers are correct.",
            "Choose the value that means correct, or save true and false.",
            readings={f"{value} means correct": {"event": value} for value in truth.values[:2]}
            if len(truth.values) == 2
            else None,
        )
    return np.where(mask_of(truth), (as_text(truth.cells) == correct).astype(np.float64), np.nan)


def correct_value(truth: Column, chosen: str | None) -> str | None:
    """The value that means correct: the one that was chosen, or that says so; None where none does.

    A value that no row has is given where all rows are wrong.
    """
    if chosen in truth.values:
        return chosen
    plain = {value: value.strip().lower() for value in truth.values}
    right = [value for value, text in plain.items() if text in RIGHT]
    wrong = [value for value, text in plain.items() if text in WRONG]
    if len(right) + len(wrong) == len(plain) in (1, 2) and len(right) <= 1 and len(wrong) <= 1:
        return right[0] if right else "correct"
    others = [value for value in truth.values if value not in wrong]
    if len(plain) == 2 and len(right) + len(wrong) == 1:
        return right[0] if right else others[0]
    return event_value(truth) if len(plain) == 2 else None


def crossed(columns: Sequence[npt.NDArray[np.str_]]) -> npt.NDArray[np.str_]:
    """(n,) the subgroups of several columns as one: ``sme · north``."""
    whole = columns[0]
    for column in columns[1:]:
        whole = np.char.add(np.char.add(whole, " · "), column)
    return whole


def as_text(cells: Array) -> npt.NDArray[np.str_]:
    """(n,) values as labels are written, 2.0 as 2."""
    values, positions = np.unique(cells, return_inverse=True)
    return np.array([spelled(value) for value in values.tolist()], dtype=np.str_)[positions.reshape(-1)]
