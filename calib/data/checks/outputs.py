"""Checks of outputs against labels: number of rows, classes, agreement, constant and saturated outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.canonical import Kind
from calib.data.checks.report import Report, count, listed, verb
from calib.numerics import Floats, Ints, blocks


def check_outputs(
    outputs: Floats, kind: Kind, labels: Ints, class_names: tuple[str, ...], name: str, report: Report
) -> float:
    """Check clean outputs against their labels; returns the accuracy."""
    predicted = predicted_classes(outputs, kind)
    accuracy = check_agreement(predicted, labels, len(class_names), report)
    check_row_count(len(labels), report)
    check_classes(labels, class_names, report)
    check_constant(outputs, name, report)
    if kind not in ("logits", "binary_log_odds"):
        check_saturation(outputs, kind, predicted, labels, name, report)
    return accuracy


FEW_ROWS = 200
"""Below this the interval of a calibration error is about as wide as the error."""

FEW_PER_CLASS = 10


def check_row_count(n: int, report: Report) -> None:
    """Warn of few rows, with which every score is uncertain."""
    if n < FEW_ROWS:
        report.warn(
            "few_rows",
            f"There {verb(n, 'is', 'are')} only {count(n, 'row')}; calibration errors measured on fewer than "
            f"{FEW_ROWS} are mostly chance.",
            "Add more labelled rows if you can, and trust the intervals rather than the numbers.",
        )


def check_classes(labels: Ints, class_names: tuple[str, ...], report: Report) -> None:
    """Warn of classes without rows or with few, which cannot be calibrated on their own."""
    counts = np.bincount(labels, minlength=len(class_names))
    absent, few = np.flatnonzero(counts == 0), np.flatnonzero((counts > 0) & (counts < FEW_PER_CLASS))
    if len(absent) == len(class_names) - 1:
        only = class_names[int(counts.argmax())]
        report.warn(
            "one_class",
            f"All {count(len(labels), 'row')} have the same label, {only}, so calibration cannot be measured.",
            "Add rows of the other classes; a sorted file that was cut off usually causes it.",
        )
        return
    if absent.size:
        report.warn(
            "absent_classes",
            f"{count(absent.size, 'class')} of {len(class_names):,} never {verb(absent.size, 'occurs', 'occur')} "
            f"among the labels ({listed(class_names[k] for k in absent)}); "
            f"{verb(absent.size, 'it stays as a column', 'they stay as columns')}.",
            "Methods that share one map among classes are not affected.",
        )
    if few.size:
        report.warn(
            "few_per_class",
            f"{count(few.size, 'class')} of {len(class_names):,} {verb(few.size, 'has', 'have')} fewer than "
            f"{FEW_PER_CLASS} rows ({listed(f'{class_names[k]}: {counts[k]}' for k in few)}).",
            "Prefer methods that share one map among classes.",
        )


def check_constant(outputs: Floats, name: str, report: Report) -> None:
    """Warn of outputs that do not depend on the row."""
    if len(outputs) > 1 and all((outputs[rows] == outputs[0]).all() for rows in blocks(*outputs.shape)):
        report.warn(
            "constant",
            f"All {count(len(outputs), 'row')} of {name} are the same: the outputs do not depend on the input.",
            "Check that the model was loaded with its weights, and that the right array was saved.",
        )


def check_saturation(outputs: Floats, kind: Kind, predicted: Ints, labels: Ints, name: str, report: Report) -> None:
    """Warn of probabilities of exactly one: they cannot be ranked, and their log loss is infinite where they are wrong.

    Parameters
    ----------
    outputs : (n, k) values of a kind that is not logits.
    """
    zero, one = (-np.inf, 0.0) if kind == "log_probabilities" else (0.0, 1.0)
    full = outputs.max(axis=1) == one
    if kind == "binary_probability":
        full |= outputs[:, 0] == zero
    n, wrong = int(full.sum()), int((full & (predicted != labels)).sum())
    if n == len(full) and np.count_nonzero(outputs != zero) <= len(full):
        report.warn(
            "hard_predictions",
            f"Every probability of {name} is exactly 0 or 1: predicted classes, which carry no confidence; "
            "only their accuracy can be estimated.",
            "Save the logits, or predict_proba instead of predict.",
        )
    elif n and kind != "log_probabilities":
        note = report.warn if n > 0.01 * len(full) else report.info
        # Every CSV is read as float64, and so is what somebody widened: that type has not rounded anything here.
        where = f"to {outputs.dtype}" if outputs.dtype.itemsize < 8 else "before or while they were saved"
        note(
            "saturated",
            f"{count(n, 'row')} of {len(full):,} in {name} {verb(n, 'holds', 'hold')} exactly 1.0, rounded {where}; "
            f"such rows can no longer be told apart, and {wrong:,} {verb(wrong, 'is', 'are')} wrong.",
            "Save logits instead of probabilities where you can.",
        )


CLEARLY = 0.1
"""By how much another reading must raise the accuracy before it is offered."""

MAX_CLASSES_FOR_ORDER = 1000
"""The table of predicted against true classes has n_classes squared cells."""


def predicted_classes(outputs: Floats, kind: Kind) -> Ints:
    """Class of the largest output; a single column is split at 0.5 or at log-odds zero."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > (0.5 if kind == "binary_probability" else 0.0)).astype(np.int64)
    return outputs.argmax(axis=1)


def check_agreement(predicted: Ints, labels: Ints, n_classes: int, report: Report) -> float:
    """Compare the accuracy with chance and with the largest class; offer another reading where that raises it clearly.

    Returns
    -------
    float
        The accuracy.
    """
    n = len(labels)
    accuracy = float((predicted == labels).mean())
    counts = np.bincount(labels, minlength=n_classes)
    majority = float(counts.max() / n)
    better = better_reading(predicted, labels, n_classes, accuracy, majority, report)
    if better is not None:
        fix, found, cause = better
        report.warn(
            "labels_shifted",
            f"The accuracy is {accuracy:.2%}, but {found:.2%} if {cause}.",
            "Read them that way.",
            **fix,
        )
        return accuracy
    if accuracy >= majority or len(np.unique(labels)) == 1:
        return accuracy
    # Agreement of independent predictions and labels with these frequencies, and its standard error.
    chance = float((np.bincount(predicted, minlength=n_classes) / n) @ (counts / n))
    if accuracy <= chance + 3 * np.sqrt(chance * (1 - chance) / n):
        report.warn(
            "labels_shuffled",
            f"The accuracy is {accuracy:.2%}, no better than chance ({chance:.2%}); always naming the largest class "
            f"gives {majority:.2%}. Labels in another order than the outputs usually cause it.",
            "Save outputs and labels in one loop, without shuffling between them.",
        )
    else:
        report.warn(
            "below_majority",
            f"The accuracy is {accuracy:.2%}, below the {majority:.2%} of always naming the largest class.",
            "Check that the columns are in the order of the labels.",
        )
    return accuracy


def better_reading(
    predicted: Ints, labels: Ints, n_classes: int, accuracy: float, majority: float, report: Report
) -> tuple[dict[str, Any], float, str] | None:
    """The usual mix-up that raises the accuracy most, if one does so clearly: its fix, accuracy and cause."""
    if len(labels) < 20:
        return None
    candidates = [label_shift(predicted, labels, n_classes, s, report) for s in (-1, 1)]
    candidates += [row_shift(predicted, labels, s, report) for s in (-1, 1)]
    best = max(candidates, key=lambda candidate: candidate[1])
    bar = max(accuracy + CLEARLY, majority, 2 / n_classes if n_classes > 2 else 0)
    if accuracy < majority and n_classes <= MAX_CLASSES_FOR_ORDER and len(labels) >= 20 * n_classes:
        order = class_order(predicted, labels, n_classes, report)
        # The best of all orders is better than the given one by chance alone, so it has to be twice as clear.
        if order[1] > max(bar + CLEARLY, best[1] + CLEARLY):
            return order
    return best if best[1] > bar else None


def label_shift(
    predicted: Ints, labels: Ints, n_classes: int, shift: int, report: Report
) -> tuple[dict[str, Any], float, str]:
    """Labels counted from one where zero was meant, or the other way round."""
    found = float((predicted == labels + shift).mean())
    values = report.choices.label_values
    if values is not None:
        moved = (*values[-shift:], *values[:-shift])
        return order_fix(moved), found, f"the columns are read one {'later' if shift > 0 else 'earlier'}"
    fix = {"label_shift": (report.choices.label_shift or 0) + shift, "drop_bad_rows": True}
    edge = ((labels + shift < 0) | (labels + shift >= n_classes)).any()
    return fix if edge else {"label_shift": fix["label_shift"]}, found, f"{shift:+d} is added to every label"


def row_shift(predicted: Ints, labels: Ints, shift: int, report: Report) -> tuple[dict[str, Any], float, str]:
    """One row lost at the top of one file and at the bottom of the other."""
    right = predicted[:-shift] == labels[shift:] if shift > 0 else predicted[-shift:] == labels[:shift]
    total = (report.choices.row_shift or 0) + shift
    where = "next" if shift > 0 else "previous"
    return {"row_shift": total}, float(right.mean()), f"each row of the outputs takes the label of the {where} row"


def class_order(predicted: Ints, labels: Ints, n_classes: int, report: Report) -> tuple[dict[str, Any], float, str]:
    """Columns in another order than the labels: the assignment with the most agreement."""
    from scipy.optimize import linear_sum_assignment

    table = np.bincount(predicted * n_classes + labels, minlength=n_classes**2).reshape(n_classes, n_classes)
    columns, classes = linear_sum_assignment(table, maximize=True)
    first = int(bool(report.choices.one_based)) - (report.choices.label_shift or 0)
    values = report.choices.label_values or tuple(range(first, first + n_classes))
    order = tuple(values[k] for k in classes)
    shown = ", ".join(map(str, order[:6])) + (", ..." if n_classes > 6 else "")
    return order_fix(order), float(table[columns, classes].sum() / len(labels)), f"the columns stand for {shown}"


def order_fix(order: tuple[Any, ...]) -> dict[str, Any]:
    """The label of each column; where labels are names they name the columns too."""
    return {"label_values": order, **({"class_names": order} if isinstance(order[0], str) else {})}
