"""Predicted classes: which column holds them, which answers are correct, and whether the outputs agree with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from calib.canonical import IN_UNIT, Kind
from calib.data.checks.agreement import MAX_CLASSES_FOR_ORDER, class_values, order_fix, order_in_words
from calib.data.checks.report import InvalidUpload, Report, count, listed, row_numbers
from calib.data.event import DID_NOT, HAPPENED
from calib.data.guess.columns import Column, spelled
from calib.data.guess.direction import event_value
from calib.data.interpret.label_values import decode_labels, different_labels
from calib.data.limits import MAX_DISTINCT
from calib.data.read.base import OTHERS, Allowance, Array, book_texts, distinct
from calib.numerics import Floats, Ints

RIGHT = (
    *HAPPENED,
    *("correct", "right", "richtig", "korrekt", "correcte", "juste", "correcto", "correcta", "acierto", "exact", "hit"),
    *("corretto", "corretta", "giusto", "esatto", "correto", "correta", "certo", "juist", "goed"),
    *("pass", "passed", "success", "ok", "\u2713", "\u2714", "\u2705"),
)
"""Values that say that an answer is correct; lower case."""

WRONG = (
    *DID_NOT,
    *("wrong", "incorrect", "falsch", "inkorrekt", "incorrecte", "incorrecto", "incorrecta", "error", "miss"),
    *("errato", "errata", "sbagliato", "errado", "errada", "incorreto", "incorreta", "onjuist", "fout"),
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
    values, positions = different_labels(actual.reshape(-1), name)
    truth = Column(name, 0, values)
    if predicted is not None:
        others, places = different_labels(predicted.reshape(-1), name)
        if len(places) != len(positions):
            raise InvalidUpload(
                "rows_differ",
                f"There are {count(len(places), 'predicted class')} for {count(len(positions), 'row')} of {name}.",
                "Save one of each for every row.",
            )
        answers = Column(name, 0, others)
        right = np.char.lower(as_text(values))[positions] == np.char.lower(as_text(others))[places]
        known = truth.known[positions] & answers.known[places]
        return np.where(known, right.astype(np.float64), np.nan)
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
    return np.where(truth.known, (as_text(values) == correct).astype(np.float64), np.nan)[positions]


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


def as_text(cells: Array) -> npt.NDArray[np.str_]:
    """(n,) values as labels are written, 2.0 as 2."""
    found = distinct(cells, MAX_DISTINCT)
    if found is None:
        raise InvalidUpload(
            "too_large", f"A column has more than {MAX_DISTINCT:,} different values to be named.", OTHERS
        )
    values, positions = found
    names = np.array([spelled(value) for value in values.tolist()], dtype=np.str_)
    book_texts(len(positions), names.itemsize // 4, "A column as text", Allowance())
    return names[positions]


AGREES = 0.99
"""Share of rows from which on the predicted classes are those of the outputs; ties and rounding make a few differ."""


def check_predicted(
    raw: Array, outputs: Floats, kind: Kind, n_classes: int, column_names: tuple[str, ...] | None, report: Report
) -> None:
    """Compare predicted classes with the largest output of each row; warn where they differ, with what explains it.

    Parameters
    ----------
    raw : (n,) predicted classes, written as the labels are.
    outputs : (n, k) outputs of the kind.
    """
    name = report.choices.predicted or "predicted"
    reading = Report(replace(report.choices, drop_bad_rows=True))
    try:
        decoded = decode_labels(raw, n_classes, column_names, name, reading)
    except InvalidUpload as invalid:
        report.warn("predicted_unread", f"{name} was not compared with the outputs: {invalid.finding.reason}")
        return
    known = np.flatnonzero(~decoded.bad)
    if not len(known):
        report.warn("predicted_unread", f"{name} holds none of the classes, so it was not compared with the outputs.")
        return
    predicted, outputs = decoded.labels[known], outputs[known]
    agrees = is_largest(outputs, predicted, kind)
    if agrees.mean() >= AGREES:
        report.info("predicted_agrees", f"{name} is the class with the largest output in {agrees.mean():.1%} of rows.")
        return
    differ = np.zeros(len(raw), dtype=bool)
    differ[known[~agrees]] = True
    message = (
        f"{name} is the class with the largest output in {agrees.mean():.1%} of rows only; it differs in "
        f"{row_numbers(differ)}"
    )
    threshold = threshold_of(outputs, predicted) if n_classes == 2 else None
    if threshold is not None:
        report.info("predicted_threshold", f"{message}, since it was decided at {threshold:.3g} of the outputs.")
        return
    order = order_of(outputs, predicted, n_classes, report) if n_classes <= MAX_CLASSES_FOR_ORDER else None
    if order is None:
        report.warn(
            "predicted_differs",
            f"{message}. Columns of another model, or in another order, usually cause it.",
            "Check that these are the outputs that the predictions were made from.",
        )
        return
    values, found, moved = order
    report.warn(
        "predicted_differs",
        f"{message}, but it is in {found:.1%} if {order_in_words(class_values(n_classes, report), values, moved)}.",
        "Read the columns in that order.",
        **order_fix(values),
    )


def is_largest(outputs: Floats, predicted: Ints, kind: Kind) -> npt.NDArray[np.bool_]:
    """(n,) whether no other class has a larger output than the predicted one."""
    if outputs.shape[1] == 1:
        middle = 0.5 if kind in IN_UNIT else 0.0
        return np.where(predicted == 1, outputs[:, 0] >= middle, outputs[:, 0] <= middle)
    return outputs[np.arange(len(outputs)), predicted] >= outputs.max(axis=1)


def threshold_of(outputs: Floats, predicted: Ints) -> float | None:
    """The output of class 1 from which on class 1 was predicted in nearly all rows; None where there is none."""
    score = outputs[:, -1]
    order = np.argsort(score, kind="stable")
    ones = predicted[order]
    if ones.min() == ones.max():
        return None
    # Agreement if class 1 is predicted from the k-th smallest output on, for every k.
    right = np.concatenate([[0], np.cumsum(1 - ones)]) + np.concatenate([np.cumsum(ones[::-1])[::-1], [0]])
    best = int(right[:-1].argmax())
    return float(score[order[best]]) if right[best] >= AGREES * len(ones) else None


def order_of(
    outputs: Floats, predicted: Ints, n_classes: int, report: Report
) -> tuple[tuple[object, ...], float, Ints] | None:
    """The labels in the order of the columns that makes both agree, the share then, and the columns that move."""
    from scipy.optimize import linear_sum_assignment

    if outputs.shape[1] == 1:
        return None
    largest = outputs.argmax(axis=1)
    table = np.bincount(largest * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
    columns, classes = linear_sum_assignment(table, maximize=True)
    found = float(table[columns, classes].sum() / len(predicted))
    values = class_values(n_classes, report)
    if found < AGREES:
        return None
    return tuple(values[k] for k in classes), found, np.flatnonzero(classes != columns)
