"""The arrays of an upload as read: outputs as (rows, classes) floats, labels, and other arrays with one entry per row.

Files and parts are joined here; what the values mean is decided in the pipeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, Report, count, listed, shortened, verb
from calib.data.guess.names import class_names, is_prediction
from calib.data.interpret.array_roles import infer_arrays
from calib.data.interpret.kinds import with_left_out_class
from calib.data.interpret.names import CLASS_NAMES, LABELS, first_named
from calib.data.interpret.predicted import as_text, correct_answers
from calib.data.interpret.roles import ROW_ROLES, ColumnRole
from calib.data.interpret.tables import infer_columns
from calib.data.interpret.verbal import words_as_numbers
from calib.data.limits import MAX_CLASSES, MAX_ROWS
from calib.data.options import Choices, names_in
from calib.data.read.base import Allowance, Array, Contents, book_texts
from calib.numerics import Floats

LONGEST_SHOWN = 80
"""Characters of an array's name in a sentence."""


@dataclass
class Upload:
    """Arrays as read.

    Attributes
    ----------
    outputs : (n, k) floats; k is 1 for a single binary column.
    labels : (n,), (n, 1) or one-hot labels of any type.
    rows : further arrays with one entry per row: features, split and those of ``ROW_ROLES``.
    column_names : what the columns of a table are called, without their common stem.
    class_names : the array that names the classes.
    train : train_features and train_labels.
    roles : what each column of a table was taken for.
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
    roles: tuple[ColumnRole, ...] = ()


def read_upload(contents: Contents, labels: Contents | None, report: Report) -> Upload:
    """Outputs and labels of one part, from one file or two, with what else the file holds per row."""
    check_names(contents, report.choices, labels)
    roles: tuple[ColumnRole, ...] = ()
    if contents.tabular:
        roles = infer_columns(contents, report, labels is not None)
    else:
        report.choices = infer_arrays(contents, report.choices, labels is not None)
    if labels is not None and not report.choices.labels:
        report.decide(labels=infer_label(labels))
    choices = report.choices
    check_names(contents, choices, labels)
    beside = [
        role.column for role in roles if role.role in ("predicted", "id", "ignore") and is_prediction(role.column)
    ]
    if choices.kind == "pairs":
        beside = []
    if beside:
        report.info(
            "left_out",
            f"{listed(beside)} of {contents.name} {verb(len(beside), 'is', 'are')} named like predictions as a whole, "
            "not like the score of one class: left out.",
        )
    upload = read_part(contents, labels, choices.outputs, choices.labels, report)
    upload.roles = roles
    if choices.kind == "pairs":
        predicted = read_any(contents, choices.predicted) if choices.predicted else None
        upload.labels = correct_answers(upload.labels, predicted, upload.labels_name, choices.event)
        upload.class_names = ("wrong", "correct")
    for role in (*ROW_ROLES, "features", "split", *(("predicted",) if choices.kind != "pairs" else ())):
        read_rows(upload, contents, role, getattr(choices, role), report)
    for role in ("train_features", "train_labels"):
        if getattr(choices, role):
            read_aside(upload.train, contents, role, getattr(choices, role), report)
    if choices.class_names is None:
        upload.class_names = read_class_names(contents) or upload.class_names
    return upload


def read_class_names(contents: Contents) -> tuple[str, ...] | None:
    """What the array that names the classes holds, in a file of arrays that has one."""
    name = first_named(contents.names, CLASS_NAMES, None) if not contents.tabular else None
    if name is None and not contents.tabular and first_named(contents.names, LABELS, None) != "classes" in contents:
        name = "classes"  # scikit-learn's classes_, beside labels of another name
    return None if name is None else tuple(map(str, read_any(contents, name).reshape(-1)[:MAX_CLASSES].tolist()))


def read_part(contents: Contents, labels: Contents | None, outputs: Any, label: Any, report: Report) -> Upload:
    """Outputs as (n, k) floats, and as many labels."""
    beside = labels or contents
    outputs_name, labels_name = display_name(contents, outputs), display_name(beside, label)
    if labels is not None:
        outputs_name, labels_name = contents.name, beside.name
    values = words_as_numbers(contents, outputs, report)
    if values is None:
        values = read_any(contents, names_in(outputs) if contents.tabular else outputs)
    raw = read_any(beside, label)
    if raw.ndim == 2 and len(raw) == 1 != raw.shape[1] and raw.shape[1] in values.shape:
        report.info("labels_squeezed", f"{labels_name} has the shape {raw.shape}; read as one label per row.")
        raw = raw[0]
    if raw.ndim == 0:
        raise InvalidUpload(
            "shape_0d", f"{labels_name} is a single value, not one label per row.", "Save one label for each row."
        )
    n_labels = len(raw)
    values = as_floats(rows_by_classes(values, n_labels, outputs_name, labels_name, report), outputs_name)
    columns = class_names(names_in(outputs)) if contents.tabular else None
    if raw.ndim == 1:
        values, columns = with_left_out_class(values, raw, columns, outputs_name, report)
    return Upload(values, raw, outputs_name, labels_name, column_names=columns)


def read_rows(upload: Upload, contents: Contents, role: str, name: Any, report: Report) -> None:
    """One more entry per row; left out with a warning where the number of rows differs."""
    if not name:
        return
    read: dict[str, Array] = {}
    if role == "features":
        read_aside(read, contents, role, name, report)
    elif role == "groups" and isinstance(name, tuple):
        read[role] = crossed([as_text(contents.read(column).reshape(-1)) for column in name])
    elif role == "times":
        try:
            read[role] = contents.read_times(name)
        except InvalidUpload as invalid:  # it may have been inferred, and nothing else depends on it
            report.info("times", f"{invalid.finding.message} The column of times was left out.")
            report.decide(times="")
    else:
        read[role] = read_any(contents, name)
    if role not in read:
        return
    array = read[role]
    empty = role != "features" and array.size == 0
    if array.ndim == 0 or empty or len(array) != len(upload.outputs):
        reason = f"{display_name(contents, name)} has the shape {array.shape} for {len(upload.outputs):,} rows"
        finding = ("rows_differ_beside", f"{reason}; it was left out.", "Save one entry per row.")
        if role == "features":
            report.leave_out(role, *finding)
        else:
            report.warn(*finding)
        report.decide(**{role: ""})
        return
    upload.rows[role] = array


def crossed(columns: Sequence[npt.NDArray[np.str_]]) -> npt.NDArray[np.str_]:
    """(n,) the subgroups of several columns as one: ``sme · north``."""
    letters = sum(column.itemsize // 4 + 3 for column in columns)
    book_texts(len(columns[0]), letters, "The groups of several columns", Allowance())
    whole = columns[0]
    for column in columns[1:]:
        whole = np.char.add(np.char.add(whole, " · "), column)
    return whole


def read_aside(found: dict[str, Array], contents: Contents, role: str, name: Any, report: Report) -> None:
    """Read an array that only some methods need; one that cannot be read is left out with a warning."""
    try:
        found[role] = read_any(contents, name)
    except InvalidUpload as invalid:
        report.leave_out_as(role, invalid)


def read_any(contents: Contents, name: Any) -> Array:
    """One array, or columns side by side."""
    return contents.read_columns(name) if isinstance(name, tuple) else contents.read(name)


def display_name(contents: Contents, name: Any) -> str:
    """What an array is called in a sentence; columns of a table by their file."""
    return contents.name if isinstance(name, tuple) or len(contents.arrays) == 1 else shortened(name, LONGEST_SHOWN)


def infer_label(labels: Contents) -> str:
    """The array of a file that holds labels: the only one, by name, else the last of whole numbers or strings."""
    names = labels.names
    found = first_named(names, LABELS, None, "calibration", "test")
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
    check_there(contents, choices.predicted)
    chosen: list[str] = []
    for role in ("outputs", "labels", "split", *ROW_ROLES, "features", "train_features", "train_labels"):
        if role == "labels" and labels is not None:
            check_there(labels, choices.labels)
        else:
            chosen += check_there(contents, getattr(choices, role))
    for name, times in Counter(chosen).items():
        if times > 1:
            raise InvalidUpload(
                "chosen_twice", f"{name!r} was chosen for two things.", "Choose another array or column."
            )


def check_there(contents: Contents, chosen: Any) -> tuple[str, ...]:
    """The names in a choice, each of which the file must hold."""
    names = names_in(chosen)
    for name in names:
        if name not in contents:
            raise InvalidUpload(
                "no_such_array",
                f"{contents.name} has no array or column {name!r}; it holds {listed(contents.names)}.",
                "Choose one of them.",
            )
    return names


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
    """Drop axes of length one; refuse a third axis."""
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


def shift_rows(upload: Upload, shift: int) -> None:
    """Pair row i of the outputs with row i + shift of the labels; rows without partner are left out."""
    n = len(upload.outputs)
    if abs(shift) >= n:
        raise InvalidUpload(
            "row_shift", f"A shift by {shift:,} leaves none of {count(n, 'row')}.", "Choose a smaller one."
        )
    own = slice(0, n - shift) if shift > 0 else slice(-shift, n)
    theirs = slice(shift, n) if shift > 0 else slice(0, n + shift)
    upload.outputs, upload.labels = upload.outputs[own], upload.labels[theirs]
    upload.rows = {role: array[own] for role, array in upload.rows.items()}


def keep_rows(upload: Upload, keep: npt.NDArray[np.bool_]) -> None:
    """Leave rows out of everything that goes by rows."""
    n_bad = int((~keep).sum())
    if n_bad == len(keep):
        raise InvalidUpload(
            "all_rows_bad",
            f"None of {count(n_bad, 'row')} can be used: values or labels are missing.",
            "Save it again.",
        )
    upload.outputs = upload.outputs[keep]
    upload.rows = {role: array[keep] for role, array in upload.rows.items()}


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
