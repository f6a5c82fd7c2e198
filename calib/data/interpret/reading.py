"""The arrays of an upload, joined from the files and parts they lie in; not yet understood."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from calib.data.checks.report import InvalidUpload, Report, listed, verb
from calib.data.formats.base import Array, Contents
from calib.data.interpret.columns import class_names_array, guess_arrays, guess_columns, left_out, named
from calib.data.interpret.features import leave_out
from calib.data.interpret.names import LABELS, output_column
from calib.data.interpret.output_kind import as_floats, rows_by_classes
from calib.data.limits import MAX_CLASSES
from calib.data.options import Choices
from calib.numerics import Floats


@dataclass
class Upload:
    """Arrays as read.

    Attributes
    ----------
    outputs : (n, k) floats; k is 1 for a single binary column.
    labels : (n,), (n, 1) or one-hot labels of any type.
    rows : further arrays with one entry per row: groups, features, split.
    column_names : what the columns of a table are called, without their common stem.
    class_names : the array that names the classes.
    train : train_features and train_labels.
    outputs_name, labels_name : for sentences.
    """

    outputs: Floats
    labels: Array
    outputs_name: str
    labels_name: str
    rows: dict[str, Array] = field(default_factory=dict)
    column_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    train: dict[str, Array] = field(default_factory=dict)


def read_upload(contents: Contents, labels: Contents | None, report: Report) -> Upload:
    """Outputs and labels of one part, from one file or two, with what else the file holds per row."""
    check_names(contents, report.choices, labels)
    guess = guess_columns if contents.tabular else guess_arrays
    report.choices = guess(contents, report.choices, labels is not None)
    if labels is not None and not report.choices.labels:
        report.decide(labels=guess_label(labels))
    choices = report.choices
    check_names(contents, choices, labels)
    beside = left_out(contents, choices) if contents.tabular else []
    if beside:
        report.info(
            "left_out",
            f"{listed(beside)} of {contents.name} {verb(len(beside), 'is', 'are')} named like predictions as a whole, "
            "not like the score of one class: left out.",
        )
    upload = read_part(contents, labels, choices.outputs, choices.labels, report)
    for role in ("groups", "features", "split"):
        read_rows(upload, contents, role, getattr(choices, role), report)
    for role in ("train_features", "train_labels"):
        if getattr(choices, role):
            read_aside(upload.train, contents, role, getattr(choices, role), report)
    names = class_names_array(contents) if not contents.tabular else None
    if names is not None and choices.class_names is None:
        upload.class_names = tuple(str(name) for name in read_any(contents, names).reshape(-1)[:MAX_CLASSES].tolist())
    return upload


def read_part(contents: Contents, labels: Contents | None, outputs: Any, label: Any, report: Report) -> Upload:
    """Outputs as (n, k) floats, and as many labels."""
    beside = labels or contents
    outputs_name, labels_name = said(contents, outputs), said(beside, label)
    if labels is not None:
        outputs_name, labels_name = contents.name, beside.name
    values = read_any(contents, (outputs,) if contents.tabular and isinstance(outputs, str) else outputs)
    raw = read_any(beside, label)
    if raw.ndim == 2 and len(raw) == 1 != raw.shape[1] and raw.shape[1] in values.shape:
        report.info("labels_squeezed", f"{labels_name} has the shape {raw.shape}; read as one label per row.")
        raw = raw[0]
    n_labels = len(raw) if raw.ndim else 0
    values = as_floats(rows_by_classes(values, n_labels, outputs_name, labels_name, report), outputs_name)
    suffixes = None
    if contents.tabular:
        columns = (outputs,) if isinstance(outputs, str) else outputs
        suffixes = tuple((output_column(c) or ("", c))[1] for c in columns)
    return Upload(values, raw, outputs_name, labels_name, column_names=suffixes)


def read_rows(upload: Upload, contents: Contents, role: str, name: Any, report: Report) -> None:
    """One more entry per row; left out with a warning where the number of rows differs."""
    if not name:
        return
    read: dict[str, Array] = {}
    if role == "features":
        read_aside(read, contents, role, name, report)
    else:
        read[role] = read_any(contents, name)
    if role not in read:
        return
    array = read[role]
    if array.ndim == 0 or len(array) != len(upload.outputs):
        reason = f"{said(contents, name)} has the shape {array.shape} for {len(upload.outputs):,} rows"
        finding = ("rows_differ_beside", f"{reason}; it was left out.", "Save one entry per row.")
        if role == "features":
            report.leave_out(role, *finding)
        else:
            report.warn(*finding)
        report.decide(**{role: ""})
        return
    upload.rows[role] = array


def read_aside(found: dict[str, Array], contents: Contents, role: str, name: Any, report: Report) -> None:
    """Keep an array that only some methods need; one that cannot be read is left out and the upload goes on."""
    try:
        found[role] = read_any(contents, name)
    except InvalidUpload as invalid:
        leave_out(invalid, role, report)


def read_any(contents: Contents, name: Any) -> Array:
    """One array, or columns side by side."""
    return contents.read_columns(name) if isinstance(name, tuple) else contents.read(name)


def said(contents: Contents, name: Any) -> str:
    """What an array is called in a sentence; columns of a table by their file."""
    if isinstance(name, tuple):
        return contents.name
    single = len(contents.arrays) == 1
    return contents.name if single else str(name)


def guess_label(labels: Contents) -> str:
    """The array of a file that holds labels: the only one, by name, else the last of whole numbers or strings."""
    names = labels.names
    found = next((n for part in (None, "calibration", "test") if (n := named(labels, LABELS, part))), None)
    if found or len(names) == 1:
        return found or names[0]
    telling = [
        a.name for a in labels.arrays if a.dtype.startswith(("int", "uint", "<U", "|S", "string", "large_string"))
    ]
    if telling:
        return telling[-1]
    raise InvalidUpload(
        "no_labels", f"{labels.name} holds {listed(names)}; none looks like labels.", "Name the array with the labels."
    )


def check_names(contents: Contents, choices: Choices, labels: Contents | None) -> None:
    """Refuse arrays and columns that were chosen but are not there, or chosen twice."""
    chosen: list[str] = []
    for role in ("outputs", "labels", "split", "groups", "features", "train_features", "train_labels"):
        if role == "labels" and labels is not None:
            check_there(labels, choices.labels)
        else:
            chosen += check_there(contents, getattr(choices, role))
    for name, times in Counter(chosen).items():
        if times > 1:
            raise InvalidUpload(
                "chosen_twice", f"{name!r} was chosen for two things.", "Choose another array or column."
            )


def check_there(contents: Contents, chosen: Any) -> list[str]:
    """The names in a choice, each of which the file must hold."""
    names = [name for name in ((chosen,) if isinstance(chosen, str) else chosen or ()) if name]
    for name in names:
        if name not in contents:
            raise InvalidUpload(
                "no_such_array",
                f"{contents.name} has no array or column {name!r}; it holds {listed(contents.names)}.",
                "Choose one of them.",
            )
    return names
