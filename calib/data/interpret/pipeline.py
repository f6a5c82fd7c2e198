"""The interpretation pipeline: from the arrays of an upload to the data set in canonical form.

Each check passes, notes a finding, or raises InvalidUpload. The arrays are overwritten on the way; none is copied as a
whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import KINDS, ONE_COLUMN, Kind, zero_floor
from calib.data.checks.outputs import check_outputs
from calib.data.checks.report import InvalidUpload, Report, count, row_numbers, shortened, verb
from calib.data.event import Event
from calib.data.interpret.features import own_features, training_set
from calib.data.interpret.kinds import ROUNDING, decide_kind, is_log_probabilities, refuse_single_column
from calib.data.interpret.label_values import decode_labels
from calib.data.interpret.names import outcome_name
from calib.data.interpret.parts import calibration_rows
from calib.data.interpret.predicted import check_predicted
from calib.data.interpret.reading import Upload, keep_rows, renormalise, shift_rows
from calib.data.interpret.roles import ROW_ROLES
from calib.data.interpret.scale import decide_scale
from calib.data.predictions import Predictions
from calib.data.read.base import Array
from calib.data.scales import LOGS, to_plain
from calib.numerics import LARGEST, Floats, Ints, blocks


def understand(upload: Upload, name: str, report: Report) -> Predictions:
    """Interpret the arrays of an upload; the data set has no hash yet.

    Parameters
    ----------
    name : how pages call the data set.

    Raises
    ------
    InvalidUpload
        At the first check that fails.
    """
    if report.choices.row_shift:
        shift_rows(upload, report.choices.row_shift)
    what, n_classes = upload.outputs_name, max(upload.outputs.shape[1], 2)
    dropped = {"no outputs": bad_rows(upload.outputs, what, report, upload.column_names is not None)}
    refuse_single_column(upload.outputs, upload.labels, what, report)
    scale = decide_scale(upload.outputs, what, report)
    if scale is not None:
        to_plain(upload.outputs, scale, out=upload.outputs)
    table = upload.column_names is not None
    decoded = decode_labels(upload.labels, n_classes, upload.column_names, upload.labels_name, report, table)
    labels = decoded.labels
    dropped |= {"no label": decoded.missing, "a label of no column": decoded.unknown}
    has_features = "features" in upload.rows
    if has_features:
        dropped["bad features"] = own_features(upload.rows, report)
    keep = rows_to_keep(dropped, report)
    if not keep.all():
        labels = labels[keep]
        keep_rows(upload, keep)
    if report.choices.renormalise:
        renormalise(upload.outputs, what)
    kind = decide_kind(upload.outputs, what, report)
    report.decide(**{key: bool(getattr(report.choices, key)) for key in ("renormalise", "drop_bad_rows")})
    report.decide(row_shift=report.choices.row_shift or 0)
    class_names = name_classes(upload, n_classes, report)
    accuracy = check_outputs(upload.outputs, kind, labels, class_names, what, report)
    predicted = upload.rows.pop("predicted", None)
    if predicted is not None and kind != "pairs":
        check_predicted(predicted, upload.outputs, kind, n_classes, upload.column_names, report)
    logits, floor = to_logits(upload.outputs, kind, what, report)
    report.info(
        "understood",
        f"{count(len(labels), 'row')} with {n_classes:,} classes: {what} holds {KINDS[kind]}, {upload.labels_name} "
        f"the labels; accuracy {accuracy:.2%}.",
    )
    features = upload.rows.pop("features", None)
    fields: dict[str, Any] = {
        **{"logits": logits, "labels": labels, "class_names": class_names},
        **{"kind": kind, "scale": scale, "floor": floor},
        **training_set(features, upload.train, class_names, report, has_features),
    }
    fields |= row_fields(upload.rows, report)
    if n_classes == 2:
        fields["event"] = decide_event(class_names, labels, upload, report)
    return Predictions(**fields, name=name, findings=report.findings, roles=upload.roles)


def row_fields(rows: Mapping[str, Array], report: Report) -> dict[str, Any]:
    """The split and the arrays of ``ROW_ROLES``, as fields of Predictions; what cannot be used is left out."""
    fields: dict[str, Any] = {"given_split": calibration_rows(rows["split"], report)} if "split" in rows else {}
    for role in (role for role in ROW_ROLES if role in rows):
        fields[role] = ROW_ROLES[role].convert(rows[role].reshape(len(rows[role]), -1)[:, 0], report)
    report.decide(**{"split" if name == "given_split" else name: "" for name, array in fields.items() if array is None})
    if fields.get("weights") is not None:
        fields["weight_kind"] = report.choices.weight_kind
    return fields


def decide_event(class_names: tuple[str, ...], labels: Ints, upload: Upload, report: Report) -> Event:
    """Which of two classes is the event: the one that was chosen, else the one that the labels say.

    Raises
    ------
    InvalidUpload
        If what was chosen is neither of the classes.
    """
    outcome = outcome_name(upload.labels_name)
    chosen = report.choices.event
    if report.choices.kind == "pairs":
        return Event(1, "correct", "the confidence is that of a correct answer")
    if chosen is None:
        event = Event.infer(class_names, labels, outcome, scored=report.choices.kind in ONE_COLUMN)
        report.decide(event=class_names[event.column])
        return event
    if chosen not in class_names:
        raise InvalidUpload(
            "event",
            f"The event was chosen as {shortened(chosen)}, but the classes are {' and '.join(class_names)}.",
            "Choose one of the two.",
        )
    return Event.chosen(class_names, class_names.index(chosen), outcome)


def name_classes(upload: Upload, n_classes: int, report: Report) -> tuple[str, ...]:
    """Names by hand, from the file, from the labels or from the columns; numbers otherwise."""
    choices = report.choices
    columns = upload.column_names
    if choices.one_based and columns is not None and list(columns) == [str(j) for j in range(n_classes)]:
        columns = tuple(str(j + 1) for j in range(n_classes))  # columns counted from zero: the labels name the classes
    candidates = (choices.class_names, upload.class_names, choices.label_values, columns)
    names = next((c for c in candidates if c and len(c) == n_classes), None)
    if choices.class_names and len(choices.class_names) != n_classes:
        report.warn(
            "class_names",
            f"There are {len(choices.class_names):,} class names for {n_classes:,} classes; they were left out.",
            "Give one name for each class.",
        )
    elif upload.class_names and len(upload.class_names) != n_classes:
        report.warn(
            "class_names",
            f"The file names {len(upload.class_names):,} classes, but there are {n_classes:,}; they were left out.",
            "Save one name for each class.",
        )
    class_names = tuple(str(name) for name in names) if names else tuple(map(str, range(n_classes)))
    n_same = n_classes - len(set(class_names))
    if n_same:
        report.warn(
            "class_names",
            f"{count(n_same, 'class name')} of {n_classes:,} repeat another, so no page can tell them apart.",
            "Give each class a name of its own.",
        )
    report.decide(class_names=class_names)
    return class_names


def rows_to_keep(dropped: dict[str, npt.NDArray[np.bool_]], report: Report) -> npt.NDArray[np.bool_]:
    """(n,) rows without any of the reasons to be left out; each reason is said with its rows, counted from 1.

    Raises
    ------
    InvalidUpload
        If more than half of the rows would go, and nobody has chosen that.
    """
    first = 1 + max(0, -(report.choices.row_shift or 0))
    gone = np.logical_or.reduce(list(dropped.values()))
    reasons = [
        f"{count(int(mask.sum()), 'row')} of {len(mask):,} {verb(int(mask.sum()), 'has', 'have')} {reason} "
        f"({row_numbers(mask, first)})"
        for reason, mask in dropped.items()
        if mask.any()
    ]
    n_gone = int(gone.sum())
    if 2 * n_gone > len(gone) and not report.choices.drop_bad_rows:
        raise InvalidUpload(
            "mostly_missing",
            f"More than half of the rows would have to be left out: {'; '.join(reasons)}. Another column may be meant, "
            "or a join found few partners.",
            "Leave these rows out all the same, or choose other columns.",
            drop_bad_rows=True,
        )
    for reason in reasons:
        report.warn("rows_left_out", f"{reason}; left out, nothing was filled in.")
    return ~gone


def bad_rows(outputs: Floats, name: str, report: Report, table: bool = False) -> npt.NDArray[np.bool_]:
    """Mark rows with NaN, infinite values or values beyond 1e100; minus infinity is a plain zero in log-probabilities.

    Parameters
    ----------
    table : whether the outputs are cells of a table, where NaN is an empty one and no failed computation.

    Raises
    ------
    InvalidUpload
        With the counts, unless ``drop_bad_rows`` was chosen or only cells of a table are empty.
    """
    bad = np.zeros(len(outputs), dtype=bool)
    low, high = outputs.min(), outputs.max()
    if low >= -LARGEST and high <= LARGEST:
        return bad
    if low == -np.inf and high <= ROUNDING and is_logarithms(outputs, name, report):
        return bad
    n_nan = n_inf = n_large = 0
    for rows in blocks(*outputs.shape):
        nan, large = np.isnan(outputs[rows]), np.abs(outputs[rows]) > LARGEST
        infinite = int(np.isinf(outputs[rows]).sum())
        n_nan, n_inf, n_large = n_nan + int(nan.sum()), n_inf + infinite, n_large + int(large.sum()) - infinite
        bad[rows] = (nan | large).any(axis=1)
    if bad.all():
        too_large = f", or values beyond {LARGEST:g}" if n_large else ""
        raise InvalidUpload(
            "all_rows_bad",
            f"Every one of the {count(len(bad), 'row')} of {name} holds NaN or infinite values{too_large}.",
            "Look for a diverged training or a division by zero where they were saved.",
        )
    if not report.choices.drop_bad_rows and (n_inf or n_large or not table):
        too_large = f", and {count(n_large, 'value')} beyond {LARGEST:g}" if n_large else ""
        raise InvalidUpload(
            "not_finite",
            f"{name} has bad values in {count(int(bad.sum()), 'row')} of {len(bad):,}: {count(n_nan, 'NaN')} and "
            f"{count(n_inf, 'infinite value')}{too_large}; empty cells and overflow in float16 usually cause it.",
            "Leave these rows out.",
            drop_bad_rows=True,
        )
    return bad


def is_logarithms(outputs: Floats, name: str, report: Report) -> bool:
    """Whether outputs are logarithms of probabilities, to any base."""
    return decide_scale(outputs, name, report) in LOGS or is_log_probabilities(outputs, report)


def to_logits(outputs: Floats, kind: Kind, name: str, report: Report) -> tuple[Floats, float | None]:
    """Logits, or log-probabilities, in place; and what exact zeros became.

    Parameters
    ----------
    outputs : (n, k) array owned by the caller, overwritten; k is 1 for the binary kinds.

    Returns
    -------
    logits : (n, n_classes); log-odds s are stored as (0, s), a probability p as (log(1 - p), log p).
    floor : as inferred by :func:`calib.canonical.zero_floor`, or what was chosen; None if there was no zero.
    """
    if kind == "binary_log_odds":
        return np.concatenate([np.zeros_like(outputs), outputs], axis=1), None
    if kind in ("binary_probability", "pairs"):
        outputs = np.concatenate([1 - outputs, outputs], axis=1)
    if kind == "logits":
        return outputs, None
    return log_in_place(outputs, kind == "log_probabilities", name, report)


def log_in_place(values: Floats, logs: bool, name: str, report: Report) -> tuple[Floats, float | None]:
    """Logarithms of probabilities, with zeros (and values rounded below zero) raised to the floor.

    Parameters
    ----------
    logs : whether the values are logarithms already, of which minus infinity is a zero.
    """
    smallest, n_zero, n_negative, n_rows = np.inf, 0, 0, 0
    for rows in blocks(*values.shape):
        block = values[rows]
        zero = block == -np.inf if logs else block <= 0
        smallest = min(smallest, float(np.min(block, where=~zero, initial=0.0 if logs else np.inf)))
        if zero.any():
            n_zero += int(np.count_nonzero(zero))
            n_negative += 0 if logs else int(np.count_nonzero(block < 0))
            n_rows += int(zero.any(axis=1).sum())
    floor = None
    if n_zero:
        floor, reason = choose_floor(float(np.exp(smallest)) if logs else smallest, values.shape[1], report)
        below = f" ({n_negative:,} of them a little below zero)" if n_negative else ""
        report.info(
            "zeros",
            f"{count(n_zero, 'value')} in {count(n_rows, 'row')} of {len(values):,} of {name} "
            f"{verb(n_zero, 'is', 'are')} exactly zero{below}; the logarithm would be infinite, so zeros became "
            f"{floor:.2g} ({reason}).",
            "Save logits instead of probabilities, or choose another floor.",
        )
    for rows in blocks(*values.shape):
        block = values[rows]
        if not logs:
            with np.errstate(divide="ignore", invalid="ignore"):
                np.log(block, out=block)
        if floor is not None:
            block[~np.isfinite(block)] = np.log(floor)
    return values, floor


def choose_floor(smallest: float, n_classes: int, report: Report) -> tuple[float, str]:
    """The floor that was chosen, or the inferred one; and where it comes from, for a sentence."""
    if report.choices.floor is not None:
        return float(report.choices.floor), "as chosen"
    floor = zero_floor(smallest, n_classes)
    report.decide(floor=floor)
    if smallest >= 1:
        return floor, "no other probability is below one, so that rows keep a confidence near one"
    if smallest > 1 / n_classes:
        return floor, f"half of 1/{n_classes}; half the smallest positive value, {smallest:.2g}, would be too much"
    return floor, f"half the smallest positive value, {smallest:.2g}"
