"""Outputs as (rows, classes) floats in memory order, whichever way they were saved."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.data.checks.report import Rejected, Report, count
from calib.data.formats.base import Array
from calib.data.limits import MAX_CLASSES, MAX_ROWS, Allowance
from calib.numerics import Floats


def rows_by_classes(outputs: Array, n_labels: int, outputs_name: str, labels_name: str, report: Report) -> Array:
    """The outputs as (n, k) with as many rows as labels; k is 1 for a single binary column.

    Raises
    ------
    Rejected
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
        raise Rejected(
            "too_many_classes" if outputs.shape[1] else "no_outputs",
            f"{outputs_name} has {outputs.shape[1]:,} columns, one for each class; 1 to {MAX_CLASSES:,} are read.",
            "Save the outputs as (rows, classes).",
        )
    return outputs


def two_dimensional(outputs: Array, name: str, report: Report) -> Array:
    """Drop axes of length one; say what a third axis may be."""
    shape = outputs.shape
    if outputs.ndim == 0:
        raise Rejected(
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
        raise Rejected(
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
        raise Rejected(
            "too_large",
            f"{outputs_name} has {count(n, 'row')} and {labels_name} {n_labels:,}; at most {MAX_ROWS:,} are read.",
            "Save fewer rows: 20,000 are plenty to calibrate.",
        )
    if n == 0 or n_labels == 0:
        empty = outputs_name if n == 0 else labels_name
        raise Rejected("no_rows", f"{empty} has 0 rows.", "Check that saving it ended, and upload it again.")
    if n != n_labels:
        cause = (
            "Was the first line of one file taken as its header?"
            if abs(n - n_labels) == 1
            else "Did you drop rows from one file?"
        )
        raise Rejected(
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
        raise Rejected(
            "complex", f"{name} holds complex numbers ({dtype}).", "Save the real part: array.real.astype('float32')."
        )
    raise Rejected(
        "dtype",
        f"{name} holds values of type {dtype} where numbers are needed.",
        "Save it as array.astype('float32'), or choose another array.",
    )
