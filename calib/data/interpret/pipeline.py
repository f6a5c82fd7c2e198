"""The interpretation pipeline: from the arrays of an upload to the data set in canonical form.

Each check passes, notes a finding, or raises InvalidUpload. The arrays are overwritten on the way; none is copied as a
whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import IN_UNIT, KINDS, ONE_COLUMN, Kind, zero_floor
from calib.data.checks.outputs import check_outputs
from calib.data.checks.report import InvalidUpload, Report, count, shortened, verb
from calib.data.event import Event
from calib.data.formats.base import Array
from calib.data.interpret.features import own_features, training_set
from calib.data.interpret.labels import decode_labels
from calib.data.interpret.names import LABELS, canonical
from calib.data.interpret.parts import calibration_rows
from calib.data.interpret.reading import Upload, keep_rows, renormalise, shift_rows
from calib.data.interpret.roles import ROW_ROLES
from calib.data.predictions import Predictions, fingerprint, identifying
from calib.numerics import Floats, Ints, blocks

ROUNDING = 1e-3
"""How far the sum of a row of probabilities may lie from one without a finding (float16 and printed decimals)."""

BELOW_ZERO = -1e-6
"""Probabilities a little below zero or above one come from sums in float32."""


def understand(upload: Upload, name: str, report: Report) -> Predictions:
    """Interpret the arrays of an upload.

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
    bad = bad_rows(upload.outputs, what, report)
    refuse_single_column(upload.outputs, upload.labels, what, report)
    decoded = decode_labels(upload.labels, n_classes, upload.column_names, upload.labels_name, report)
    labels, bad = decoded.labels, bad | decoded.bad
    has_features = "features" in upload.rows
    if has_features:
        bad |= own_features(upload.rows, report)
    if bad.any():
        labels = labels[~bad]
        keep_rows(upload, ~bad, report)
    if report.choices.percent and report.choices.kind in (None, *IN_UNIT):
        upload.outputs /= 100
    if report.choices.renormalise:
        renormalise(upload.outputs, what)
    kind = decide_kind(upload.outputs, what, report)
    report.decide(**{key: bool(getattr(report.choices, key)) for key in ("percent", "renormalise", "drop_bad_rows")})
    report.decide(row_shift=report.choices.row_shift or 0)
    class_names = name_classes(upload, n_classes, report)
    accuracy = check_outputs(upload.outputs, kind, labels, class_names, what, report)
    logits, floor = to_logits(upload.outputs, kind, what, report)
    report.info(
        "understood",
        f"{count(len(labels), 'row')} with {n_classes:,} classes: {what} holds {KINDS[kind]}, {upload.labels_name} "
        f"the labels; accuracy {accuracy:.2%}.",
    )
    features = upload.rows.pop("features", None)
    fields: dict[str, Any] = {
        **{"logits": logits, "labels": labels, "class_names": class_names, "kind": kind, "floor": floor},
        **training_set(features, upload.train, class_names, report, has_features),
    }
    if "split" in upload.rows:
        fields["given_split"] = calibration_rows(upload.rows["split"], report)
    for role, declared in ROW_ROLES.items():
        if role in upload.rows:
            fields[role] = declared.convert(upload.rows[role], report)
    if fields.get("weights") is not None:
        fields["weight_kind"] = report.choices.weight_kind
    if n_classes == 2:
        fields["event"] = decide_event(class_names, labels, upload, report)
    return Predictions(
        **fields, name=name, sha256=fingerprint(identifying(fields)), findings=report.findings, roles=upload.roles
    )


def decide_event(class_names: tuple[str, ...], labels: Ints, upload: Upload, report: Report) -> Event:
    """Which of two classes is the event: the one that was chosen, else the one that the labels say.

    Raises
    ------
    InvalidUpload
        If what was chosen is neither of the classes.
    """
    generic = canonical(upload.labels_name).base in LABELS or "." in upload.labels_name
    outcome = "" if generic else upload.labels_name
    chosen = report.choices.event
    if chosen is None:
        event = Event.infer(class_names, labels, outcome)
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
    candidates = (choices.class_names, upload.class_names, choices.label_values, upload.column_names)
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
    if (kind in ONE_COLUMN) != (width == 1):
        raise InvalidUpload(
            "kind", f"{name} has {count(width, 'column')}, which cannot be {KINDS[kind]}.", "Choose another kind."
        )
    if kind in IN_UNIT and not (low >= BELOW_ZERO and high <= 1 - BELOW_ZERO):
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
