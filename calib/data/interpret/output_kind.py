"""Logits, probabilities, log-probabilities, or one binary column: the question asked most often.

Outputs as (rows, classes) floats in memory order, whichever way they were saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import KINDS, Kind
from calib.data.checks.report import InvalidUpload, Report, count, verb
from calib.data.formats.base import Array
from calib.data.limits import MAX_CLASSES, MAX_ROWS, Allowance
from calib.numerics import Floats, blocks

ROUNDING = 1e-3
"""How far the sum of a row of probabilities may lie from one without a word (float16 and printed decimals)."""

BELOW_ZERO = -1e-6
"""Probabilities a little below zero or above one come from sums in float32."""


def bad_rows(outputs: Floats, name: str, report: Report) -> npt.NDArray[np.bool_]:
    """Mark rows with NaN or infinite values; minus infinity is a plain zero in log-probabilities.

    Raises
    ------
    InvalidUpload
        With the counts, unless ``drop_bad_rows`` was chosen.
    """
    bad = np.zeros(len(outputs), dtype=bool)
    low, high = outputs.min(), outputs.max()
    if np.isfinite(low) and np.isfinite(high):
        return bad
    if low == -np.inf and high <= ROUNDING and is_log_probabilities(outputs, report):
        return bad
    n_nan = n_inf = 0
    for rows in blocks(*outputs.shape):
        nan = np.isnan(outputs[rows])
        infinite = np.isinf(outputs[rows])
        n_nan += int(nan.sum())
        n_inf += int(infinite.sum())
        bad[rows] = (nan | infinite).any(axis=1)
    if bad.all():
        raise InvalidUpload(
            "all_rows_bad",
            f"Every one of the {count(len(bad), 'row')} of {name} holds NaN or infinite values.",
            "Look for a diverged training or a division by zero where they were saved.",
        )
    if not report.choices.drop_bad_rows:
        raise InvalidUpload(
            "not_finite",
            f"{name} has bad values in {count(int(bad.sum()), 'row')} of {len(bad):,}: {count(n_nan, 'NaN')} and "
            f"{count(n_inf, 'infinite value')}; empty cells and overflow in float16 usually cause it.",
            "Leave these rows out.",
            drop_bad_rows=True,
        )
    return bad


def is_log_probabilities(outputs: Floats, report: Report) -> bool:
    """Whether the exponentials of each row sum to one."""
    if report.choices.kind is not None:
        return report.choices.kind == "log_probabilities"
    if outputs.shape[1] == 1:
        return False
    for rows in blocks(*outputs.shape):
        with np.errstate(over="ignore", invalid="ignore"):
            total = np.exp(outputs[rows]).sum(axis=1, dtype=np.float64)
        if not (np.abs(total - 1) <= ROUNDING).all():
            return False
    return True


def decide_kind(outputs: Floats, name: str, report: Report) -> Kind:
    """What the outputs are; what was chosen by hand is taken, if the values allow it.

    Parameters
    ----------
    outputs : (n, k) finite values, minus infinity excepted; k is 1 for a single binary column.
    """
    low, high = float(outputs.min()), float(outputs.max())
    if report.choices.kind is not None:
        return checked(report.choices.kind, low, high, outputs.shape[1], name)
    within = low >= BELOW_ZERO and high <= 1 - BELOW_ZERO
    kind: Kind
    if outputs.shape[1] == 1:
        kind = "binary_probability" if within else "binary_log_odds"
        reason = f"one column with values from {low:.3g} to {high:.3g}"
    elif within:
        kind, reason = "probabilities", sums_to_one(outputs, low, high, name, report)
    elif high <= ROUNDING and is_log_probabilities(outputs, report):
        kind, reason = "log_probabilities", "no value is positive and the exponentials of each row sum to one"
    else:
        if report.choices.percent is None and low >= 0:
            refuse_percent(outputs, high, name)
        kind, reason = "logits", f"values reach from {low:.3g} to {high:.3g} and rows do not sum to one"
    others = {"probabilities": "logits", "binary_probability": "binary_log_odds", "binary_log_odds": None}
    other = others.get(kind)
    report.info("kind", f"Read as {KINDS[kind]}: {reason}.", **({"kind": other} if other else {}))
    report.decide(kind=kind)
    return kind


def checked(kind: Kind, low: float, high: float, width: int, name: str) -> Kind:
    """Refuse a kind that the values contradict."""
    if kind.startswith("binary") != (width == 1):
        raise InvalidUpload(
            "kind", f"{name} has {count(width, 'column')}, which cannot be {KINDS[kind]}.", "Choose another kind."
        )
    if kind in ("probabilities", "binary_probability") and not (low >= BELOW_ZERO and high <= 1 - BELOW_ZERO):
        raise InvalidUpload(
            "kind",
            f"{name} reaches from {low:.3g} to {high:.3g}, so it does not hold probabilities.",
            "Choose another kind.",
        )
    return kind


def refuse_single_column(outputs: Floats, labels: Array, name: str, report: Report) -> None:
    """Refuse a single column that is not the score of class 1: predicted classes, or the confidence in them."""
    if outputs.shape[1] > 1 or report.choices.kind is not None:
        return
    column = outputs[:, 0]
    low, high = column.min(), column.max()
    whole = low >= 0 and high - low >= 2 and (column == np.floor(column)).all()
    if whole and len(np.unique(column)) <= max(2, len(column) // 2):
        raise InvalidUpload(
            "hard_predictions",
            f"{name} holds {count(len(np.unique(column)), 'whole number')} from {low:g} to {high:g}: predicted "
            "classes, which carry no confidence.",
            "Save the logits, or predict_proba instead of predict.",
            kind="binary_log_odds",
        )
    values = np.unique(labels[labels >= 0] if labels.dtype.kind in "iuf" else labels)
    if len(values) > 3:
        raise InvalidUpload(
            "single_column",
            f"{name} is a single column, but the labels have {len(values):,} different values. It may be the "
            "confidence in the predicted class, from which the other classes cannot be told.",
            "Save one column for each class: logits, or predict_proba.",
        )


def refuse_percent(outputs: Floats, high: float, name: str) -> None:
    """Offer to divide by 100 where rows sum to that."""
    total = outputs.sum(axis=1, dtype=np.float64)
    if high <= 100.1 and (np.abs(total - 100) <= 0.5).all():
        raise InvalidUpload(
            "percent",
            f"All rows of {name} sum to 100 with values from 0 to {high:.3g}: probabilities in percent.",
            "Divide by 100.",
            percent=True,
        )


def sums_to_one(outputs: Floats, low: float, high: float, name: str, report: Report) -> str:
    """Why values between zero and one are probabilities; refuse them where most rows do not sum to one."""
    if report.choices.renormalise:
        return f"values reach from {low:.3g} to {high:.3g}, and each row was divided by its sum"
    total = outputs.sum(axis=1, dtype=np.float64)
    off = np.abs(total - 1)
    tolerance = max(ROUNDING, outputs.shape[1] * float(np.finfo(outputs.dtype).eps))
    n_off = int((off > tolerance).sum())
    if n_off == 0:
        return f"values reach from {low:.3g} to {high:.3g} and every row sums to one (within {off.max():.1g})"
    message = (
        f"{count(n_off, 'row')} of {len(off):,} in {name} {verb(n_off, 'lies', 'lie')} between 0 and 1 but "
        f"{verb(n_off, 'does', 'do')} not sum to one (by up to {off.max():.3g})"
    )
    if total.min() <= 0:
        n_empty = int((total <= 0).sum())
        raise InvalidUpload(
            "sums",
            f"{message}, and {count(n_empty, 'row')} {verb(n_empty, 'sums', 'sum')} to zero, unlike probabilities.",
            "Read the values as logits.",
            kind="logits",
        )
    if n_off > len(off) / 2 and np.median(off) > 0.05:
        raise InvalidUpload(
            "sums",
            f"{message}. Sigmoid outputs of a multi-label model, or a missing column, usually cause it.",
            "Divide each row by its sum, or read the values as logits.",
            kind="probabilities",
            renormalise=True,
        )
    report.warn(
        "sums",
        f"{message}; printed decimals or a missing column usually cause it. They are kept as they are.",
        "Divide each row by its sum.",
        renormalise=True,
    )
    return f"values reach from {low:.3g} to {high:.3g} and most rows sum to one"


def rows_by_classes(outputs: Array, n_labels: int, outputs_name: str, labels_name: str, report: Report) -> Array:
    """The outputs as (n, k) with as many rows as labels; k is 1 for a single binary column.

    Raises
    ------
    InvalidUpload
        If no orientation fits the labels.
    """
    outputs = two_dimensional(outputs, outputs_name, report)
    transposed = report.choices.transposed
    if transposed is None:
        transposed = outputs.shape[0] != n_labels == outputs.shape[1]
        if transposed:
            report.info(
                "transposed",
                f"{outputs_name} has the shape {outputs.shape} and there are {count(n_labels, 'label')}: "
                "read as (classes, rows) and transposed.",
            )
        report.decide(transposed=transposed)
    if transposed:
        outputs = outputs.T
    check_rows(outputs, n_labels, outputs_name, labels_name)
    if outputs.shape[1] == 0 or outputs.shape[1] > MAX_CLASSES:
        raise InvalidUpload(
            "too_many_classes" if outputs.shape[1] else "no_outputs",
            f"{outputs_name} has {outputs.shape[1]:,} columns, one for each class; 1 to {MAX_CLASSES:,} are read.",
            "Save the outputs as (rows, classes).",
        )
    return outputs


def two_dimensional(outputs: Array, name: str, report: Report) -> Array:
    """Drop axes of length one; say what a third axis may be."""
    shape = outputs.shape
    if outputs.ndim == 0:
        raise InvalidUpload(
            "shape_0d", f"{name} is a single value, not one row of scores per example.", "Save the whole array."
        )
    if outputs.ndim == 1:
        return outputs[:, None]
    if outputs.ndim > 2:
        squeezed = outputs.reshape([n for n in shape if n != 1] or [1])
        if squeezed.ndim == 1:
            squeezed = squeezed[:, None]
        if squeezed.ndim == 2:
            report.info("squeezed", f"{name} has the shape {shape}; axes of length one were dropped.")
            return squeezed
        raise InvalidUpload(
            "shape_3d",
            f"{name} has the shape {shape}, {outputs.ndim} axes instead of (rows, classes). The first or last axis "
            "may count the members of an ensemble, augmented copies, or pixels.",
            "Average the members' probabilities, or reshape pixels to rows: array.reshape(-1, n_classes).",
        )
    return outputs


def check_rows(outputs: Array, n_labels: int, outputs_name: str, labels_name: str) -> None:
    """Refuse outputs and labels of different lengths, or of none."""
    n = len(outputs)
    if max(n, n_labels) > MAX_ROWS:
        raise InvalidUpload(
            "too_large",
            f"{outputs_name} has {count(n, 'row')} and {labels_name} {n_labels:,}; at most {MAX_ROWS:,} are read.",
            "Save fewer rows: 20,000 are plenty to calibrate.",
        )
    if n == 0 or n_labels == 0:
        empty = outputs_name if n == 0 else labels_name
        raise InvalidUpload("no_rows", f"{empty} has 0 rows.", "Check that saving it ended, and upload it again.")
    if n != n_labels:
        cause = (
            "Was the first line of one file taken as its header?"
            if abs(n - n_labels) == 1
            else "Did you drop rows from one file?"
        )
        raise InvalidUpload(
            "rows_differ",
            f"{labels_name} has {count(n_labels, 'row')} but {outputs_name} has {n:,}. {cause}",
            "Upload another labels file.",
        )


def as_floats(outputs: Array, name: str) -> Floats:
    """Native, contiguous floats; float32 stays float32, and what already fits is not copied."""
    dtype = float_dtype(outputs.dtype, name)
    Allowance().take(outputs.size * dtype.itemsize, f"{name} as {dtype}")  # a byte may become four
    return np.ascontiguousarray(outputs, dtype=dtype)


def float_dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The smallest of float32 and float64 that holds every value."""
    if dtype.kind == "f":
        return np.dtype(np.float32 if dtype.itemsize <= 4 else np.float64)
    if dtype.kind in "iu":
        return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)
    if dtype.kind == "b":
        return np.dtype(np.float32)
    if dtype.kind == "c":
        raise InvalidUpload(
            "complex", f"{name} holds complex numbers ({dtype}).", "Save the real part: array.real.astype('float32')."
        )
    raise InvalidUpload(
        "dtype",
        f"{name} holds values of type {dtype} where numbers are needed.",
        "Save it as array.astype('float32'), or choose another array.",
    )
