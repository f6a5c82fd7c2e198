"""Training labels as column numbers, in the order that the labels of the upload gave the classes."""

from __future__ import annotations

from dataclasses import replace

from calib.data.checks.report import Rejected, Report
from calib.data.formats.base import Array
from calib.data.interpret.features import leave_out
from calib.data.interpret.labels import Decoded, as_numbers_if_possible, decode_labels, one_per_row


def decode_training_labels(raw: Array, class_names: tuple[str, ...], report: Report) -> Decoded | None:
    """Column numbers, and which rows belong to no class; None, with a warning, where the labels cannot be read.

    Names are looked up among the labels' values, else among the names of the classes; numbers count as the upload's
    own labels do, from zero or from one. How that was understood was said for the upload's labels already.
    """
    try:
        raw = one_per_row(raw, len(class_names), "train_labels", Report(report.choices))
        if raw.dtype.kind in "US":
            raw = as_numbers_if_possible(raw, "train_labels")
        order = report.choices.label_values
        named = order is not None and not all(str(value).lstrip("+-").isdecimal() for value in order)
        if raw.dtype.kind in "US":
            order = order if named else class_names
        elif named:
            order = None  # numbers beside named labels are columns
        chosen = replace(report.choices, label_values=order, drop_bad_rows=True)
        return decode_labels(raw, len(class_names), None, "train_labels", Report(chosen))
    except Rejected as rejected:
        leave_out(rejected, "the training set", report)
        return None
