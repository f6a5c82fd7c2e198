"""Columns that make new ones: which answers are correct, and subgroups of several columns crossed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, count, listed
from calib.data.formats.base import Array
from calib.data.interpret.direction import event_value
from calib.data.interpret.evidence import Column, mask_of, spelled


def correct_answers(actual: Array, predicted: Array | None, name: str) -> Array:
    """(n,) 1 where an answer is correct and 0 where not, NaN where that is missing.

    Parameters
    ----------
    actual : (n,) true class of each row; or whether the answer is correct, where nothing was predicted.
    predicted : (n,) predicted class of each row.
    """
    truth = Column(name, 0, actual.reshape(-1))
    if predicted is not None:
        answers = Column(name, 0, predicted.reshape(-1))
        right = as_text(truth.cells) == as_text(answers.cells)
        return np.where(mask_of(truth) & mask_of(answers), right.astype(np.float64), np.nan)
    if truth.cells.dtype.kind == "b" or truth.numbers is not None:
        return actual
    event = event_value(truth) if len(truth.values) == 2 else None
    if event is None:
        raise InvalidUpload(
            "correct_unclear",
            f"{name} holds {count(len(truth.values), 'different value')} ({listed(truth.values)}), which do not say "
            "which answers are correct.",
            "Save true and false, or 1 and 0.",
        )
    return np.where(mask_of(truth), (as_text(truth.cells) == event).astype(np.float64), np.nan)


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
