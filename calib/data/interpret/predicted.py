"""The column of predicted classes beside an outcome: which it is, and whether scores decide or separate it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from calib.data.interpret.evidence import IMPOSSIBLE, Column, mask_of, one_to_one, spelled
from calib.data.interpret.families import Outputs
from calib.data.interpret.names import feature_column
from calib.data.interpret.vocabulary import ANSWERS, CERTAIN, tokens
from calib.data.options import Choices


def predicted_column(
    columns: Mapping[str, Column], outcome: Column, outputs: Outputs, choices: Choices, given: Collection[str]
) -> Column | None:
    """The column of predicted classes: chosen, or by its name, with values of the outcome.

    Parameters
    ----------
    given : columns that somebody has chosen for another role.
    """
    if choices.predicted:
        return columns[choices.predicted]
    if choices.predicted == "":
        return None
    taken = {outcome.name, *outputs.columns, *given}
    words = set(tokens(outputs.stem))
    scores = [columns[name] for name in outputs.columns]
    free = [column for column in columns.values() if column.name not in taken and shares_labels(column, outcome)]
    found = [c for c in free if c.as_predicted > 0 or decides(scores, c) or is_answer(c, outcome)]
    if found:
        return max(found, key=lambda c: (len(words & set(tokens(c.name))), c.as_predicted))
    answers = [column for column in columns.values() if column.name not in taken and are_answers(column, outcome)]
    if answers:
        return answers[0] if len(answers) == 1 and not is_more_actual(answers[0], outcome) else None
    alike = [c for c in free if has_same_labels(c, outcome) and feature_column(c.name) is None]
    alike = [c for c in alike if not are_coordinates(c, outcome)]
    is_best_named = all(column.named("outcome") <= outcome.named("outcome") for column in free)
    return alike[0] if len(alike) == 1 and is_best_named else None


def is_answer(column: Column, outcome: Column) -> bool:
    """Whether a column is only called "label" or "answer" where the outcome is called the true one."""
    words = set(tokens(column.name))
    told = len(words) == 1 and bool(words & ANSWERS) and outcome.said.get("outcome", 0.0) >= CERTAIN
    return told and column.labels <= outcome.labels and not one_to_one(column, outcome)


def is_more_actual(column: Column, outcome: Column) -> bool:
    """Whether of two columns with the same words the other one is the actual class: by its name, or the plainer."""
    names = [(-c.named("outcome"), c.named("predicted"), len(tokens(c.name)), c.position) for c in (column, outcome)]
    return names[0] < names[1]


def shares_labels(column: Column, outcome: Column) -> bool:
    """Whether a column may be of classes, with some labels of the outcome."""
    return column.as_predicted > IMPOSSIBLE and not column.labels.isdisjoint(outcome.labels)


def has_same_labels(column: Column, outcome: Column) -> bool:
    """Whether most labels of several classes are the same, in a column that is less like an outcome by its name."""
    if len(outcome.labels) < 3:
        return False
    same = 3 * len(outcome.labels & column.labels) > len(outcome.labels) + len(column.labels)  # over half of the union
    return same and column.named("outcome") < outcome.named("outcome")


def are_coordinates(first: Column, second: Column) -> bool:
    """Whether the names differ in an x against a y alone, as ``die_x`` and ``die_y`` do."""
    a, b = tokens(first.name), tokens(second.name)
    return len(a) == len(b) and [{p, q} for p, q in zip(a, b, strict=True) if p != q] == [{"x", "y"}]


EQUAL = 0.3
"""Share of rows in which predicted classes are the actual ones; and half as many again as by chance."""


def are_answers(first: Column, second: Column) -> bool:
    """Whether two columns of text hold the same words in many rows, though not in all: actual and predicted."""
    if first.numbers is not None or second.numbers is not None or first.is_date or second.is_date:
        return False
    known = mask_of(first) & mask_of(second)
    a, b = first.cells[known].astype(str), second.cells[known].astype(str)
    if len(a) < LEAST_DECIDED or len(first.values) < 2:
        return False
    equal = float((a == b).mean())
    if not EQUAL <= equal < 1:
        return False
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) / len(a) for part in np.split(codes.reshape(-1), 2)]
    return equal >= 1.5 * float(counts[0] @ counts[1])


TIES = 0.05
"""Share of rows that may lie on the threshold itself, where scores are rounded."""


def decides(scores: Sequence[Column], column: Column) -> bool:
    """Whether a column is the class of the largest score, or of a single score above a threshold, in every row.

    Then it is the prediction: outcomes differ from it in some row of all but perfect models.
    """
    if not 2 <= len(column.values) <= max(2, len(scores)) or len(column.present) < LEAST_DECIDED:
        return False
    if len(scores) == 1:
        return any(separates(scores[0], column, value) for value in column.values)
    numbers = [score.numbers for score in scores if score.numbers is not None]
    if len(numbers) < len(scores):
        return False
    largest = np.column_stack(numbers).argmax(axis=1)
    codes = np.unique(column.cells, return_inverse=True)[1].reshape(-1)
    return len(np.unique(codes * len(scores) + largest)) == len(np.unique(codes))


LEAST_DECIDED = 20
"""Rows from which a prediction can be told from an outcome that is predicted well."""


def separates(score: Column, predicted: Column, of_value: str) -> bool:
    """Whether a prediction is "score above a threshold", so that the score is that of one class.

    A confidence in the predicted class lies above a half for either class, and does not separate them.
    """
    if score.numbers is None:
        return False
    known = np.isfinite(score.numbers)
    is_value = np.array([spelled(cell) == of_value for cell in predicted.cells[known].tolist()], dtype=bool)
    numbers = score.numbers[known]
    above, below = numbers[is_value], numbers[~is_value]
    if not len(above) or not len(below) or above.min() < below.max():
        return False
    return bool(above.min() > below.max()) or float((numbers == above.min()).mean()) < TIES
