"""A column of predicted classes beside the outputs: it takes no part, but checks that the outputs were read right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from calib.canonical import IN_UNIT, Kind
from calib.data.checks.agreement import MAX_CLASSES_FOR_ORDER, class_values, order_fix, order_in_words
from calib.data.checks.report import InvalidUpload, Report, row_numbers
from calib.data.formats.base import Array
from calib.data.interpret.labels import decode_labels
from calib.numerics import Floats, Ints

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
