"""The ladder: from raw arrays to the canonical data set, one rung after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import KINDS
from calib.data.checks.outputs import (
    check_agreement,
    check_classes,
    check_constant,
    check_row_count,
    check_saturation,
    predicted_classes,
)
from calib.data.checks.report import InvalidUpload, Report, count, verb
from calib.data.interpret.labels import decode_labels
from calib.data.interpret.output_kind import bad_rows, decide_kind, refuse_single_column
from calib.data.interpret.parts import calibration_rows
from calib.data.interpret.reading import Upload
from calib.data.interpret.to_logits import to_logits
from calib.data.interpret.training_set import own_features, training_set
from calib.data.predictions import Predictions, fingerprint
from calib.numerics import Floats

MAX_GROUPS = 1000
"""Subgroups that are told apart; a column with more is an identifier."""


def understand(upload: Upload, name: str, report: Report) -> Predictions:
    """Climb the ladder of findings; what it stands on is overwritten on the way, never copied as a whole.

    Parameters
    ----------
    name : how pages call the data set.

    Raises
    ------
    InvalidUpload
        At the first rung that cannot be passed.
    """
    pair_rows(upload, report)
    what, width = upload.outputs_name, upload.outputs.shape[1]
    n_classes = max(width, 2)
    bad = bad_rows(upload.outputs, what, report)
    refuse_single_column(upload.outputs, upload.labels, what, report)
    decoded = decode_labels(upload.labels, n_classes, upload.column_names, upload.labels_name, report)
    labels = decoded.labels
    bad |= missing_labels(decoded.bad, upload.labels_name, report)
    given = "features" in upload.rows
    features, bad_features = own_features(upload.rows.pop("features", None), report)
    if features is not None and bad_features is not None:
        upload.rows["features"] = features
        bad |= bad_features
    del features
    if bad.any():
        labels = labels[~bad]
        keep_rows(upload, ~bad, report)
    if report.choices.percent and report.choices.kind in (None, "probabilities", "binary_probability"):
        upload.outputs /= 100
    if report.choices.renormalise:
        renormalise(upload.outputs, what)
    kind = decide_kind(upload.outputs, what, report)
    report.decide(**{key: bool(getattr(report.choices, key)) for key in ("percent", "renormalise", "drop_bad_rows")})
    report.decide(row_shift=report.choices.row_shift or 0)

    class_names = name_classes(upload, n_classes, report)
    predicted = predicted_classes(upload.outputs, "probabilit" in kind and not kind.startswith("log"))
    accuracy = check_agreement(predicted, labels, n_classes, report)
    check_row_count(len(labels), report)
    check_classes(labels, class_names, report)
    check_constant(upload.outputs, what, report)
    if kind not in ("logits", "binary_log_odds"):
        check_saturation(upload.outputs, kind, predicted, labels, what, report)
    logits, floor = to_logits(upload.outputs, kind, what, report)
    report.info(
        "understood",
        f"{count(len(labels), 'row')} with {n_classes:,} classes: {what} holds {KINDS[kind]}, {upload.labels_name} "
        f"the labels; accuracy {accuracy:.2%}.",
    )
    inputs = training_set(upload.rows.pop("features", None), upload.train, class_names, report, given=given)
    extras: dict[str, Any] = {**per_row(upload, report), **inputs}
    fields: dict[str, Any] = {
        "logits": logits,
        "labels": labels,
        "class_names": class_names,
        "kind": kind,
        "floor": floor,
        **extras,
    }
    return Predictions(**fields, name=name, sha256=fingerprint(fields), findings=report.findings)


def pair_rows(upload: Upload, report: Report) -> None:
    """Shift rows of outputs against labels where that was chosen; rows without partner go."""
    shift = report.choices.row_shift or 0
    if not shift:
        return
    n = len(upload.outputs)
    if abs(shift) >= n:
        raise InvalidUpload(
            "row_shift", f"A shift by {shift:,} leaves none of {count(n, 'row')}.", "Choose a smaller one."
        )
    own = slice(0, n - shift) if shift > 0 else slice(-shift, n)
    theirs = slice(shift, n) if shift > 0 else slice(0, n + shift)
    upload.outputs, upload.labels = upload.outputs[own], upload.labels[theirs]
    upload.rows = {role: array[own] for role, array in upload.rows.items()}


def missing_labels(bad: npt.NDArray[np.bool_], name: str, report: Report) -> npt.NDArray[np.bool_]:
    """Refuse rows without a label, unless it was chosen to leave them out."""
    n_bad = int(bad.sum())
    if n_bad and not report.choices.drop_bad_rows:
        raise InvalidUpload(
            "labels_missing",
            f"{count(n_bad, 'row')} of {len(bad):,} in {name} {verb(n_bad, 'has', 'have')} no label.",
            "Leave these rows out.",
            drop_bad_rows=True,
        )
    return bad


def keep_rows(upload: Upload, keep: npt.NDArray[np.bool_], report: Report) -> None:
    """Leave the bad rows out of everything that goes by rows."""
    n_bad = int((~keep).sum())
    if n_bad == len(keep):
        raise InvalidUpload(
            "all_rows_bad",
            f"None of {count(n_bad, 'row')} can be used: values or labels are missing.",
            "Save it again.",
        )
    upload.outputs = upload.outputs[keep]
    upload.rows = {role: array[keep] for role, array in upload.rows.items()}
    report.info("rows_dropped", f"{count(n_bad, 'row')} of {len(keep):,} left out, as chosen.")


def renormalise(outputs: Floats, name: str) -> None:
    """Divide each row by its sum, in place."""
    total = outputs.sum(axis=1, keepdims=True)
    if outputs.shape[1] == 1 or not (total > 0).all():
        raise InvalidUpload(
            "sums",
            f"The rows of {name} cannot be divided by their sums, some of which are not positive.",
            "Read the values as logits.",
            renormalise=False,
            kind="binary_log_odds" if outputs.shape[1] == 1 else "logits",
        )
    outputs /= total


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


def per_row(upload: Upload, report: Report) -> dict[str, Any]:
    """Split and groups in their final types."""
    found: dict[str, Any] = {}
    if "split" in upload.rows:
        name = report.choices.split or "The split"
        found["given_split"] = calibration_rows(upload.rows["split"], name, report)
    groups = upload.rows.get("groups")
    if groups is not None:
        found["groups"] = group_names(groups, report)
    return found


def group_names(groups: npt.NDArray[Any], report: Report) -> npt.NDArray[np.str_] | None:
    """The subgroup of each row as text; left out with a warning where it names rows rather than groups."""
    values, positions = np.unique(groups.reshape(len(groups), -1)[:, 0], return_inverse=True)
    if len(values) > MAX_GROUPS:
        report.warn(
            "too_many_groups",
            f"The groups have {len(values):,} different values; more than {MAX_GROUPS:,} are no groups, so they were "
            "left out.",
            "Choose another column as groups.",
        )
        report.decide(groups="")
        return None
    return np.array([str(value) for value in values.tolist()])[positions.reshape(-1)]
