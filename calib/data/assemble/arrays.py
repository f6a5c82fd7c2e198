"""The arrays of an upload as read: outputs as (rows, classes) floats, labels, and what else has one entry per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.array_names import CLASS_NAMES, LABELS, first_named
from calib.data.assemble.beside import OTHER_TIMES, ROW_ROLES
from calib.data.assemble.predicted import texts_of
from calib.data.findings import (
    InvalidUpload,
    Notes,
    Step,
    info,
    left_out_as,
    listed,
    shortened,
    warning,
)
from calib.data.guess.names import class_names
from calib.data.limits import MAX_CLASSES, MAX_ROWS
from calib.data.options import FEATURE_FILES, Choices, names_in
from calib.data.read.base import Array, Contents, check_size
from calib.data.roles import ColumnRole
from calib.errors import Finding
from calib.formatting import plural
from calib.numerics import Floats

LONGEST_SHOWN = 80
"""Characters of an array's name in a sentence."""


@dataclass(frozen=True)
class Arrays:
    """Arrays as read, before anything is said of their values.

    Attributes
    ----------
    outputs : (n, k) floats; k is 1 for a single binary column.
    labels : (n,), (n, 1) or one-hot labels of any type.
    outputs_name, labels_name : for sentences.
    rows : further arrays with one entry per row: features, split, predicted and those of ``ROW_ROLES``.
    column_names : what the columns of a table are called, without their common stem; None for arrays.
    class_names : the array that names the classes.
    train : train_features and train_labels.
    roles : what each column of a table was taken for.
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

    def with_rows(self, keep: npt.NDArray[np.bool_]) -> Arrays:
        """The same without the rows that are not kept; labels stay as they are."""
        if keep.all():
            return self
        if not keep.any():
            reason = (
                f"None of {plural(len(keep), 'row')} can be used: values or labels are missing."
            )
            raise InvalidUpload("all_rows_bad", reason, "Save it again.")
        rows = {role: array[keep] for role, array in self.rows.items()}
        return replace(self, outputs=self.outputs[keep], rows=rows)


def read_part(
    contents: Contents, labels: Contents | None, outputs: Any, label: Any, choices: Choices
) -> Step[Arrays]:
    """Outputs as (n, k) floats, and as many labels, of one part; these may lie in a file of their own."""
    beside = labels or contents
    outputs_name = display_name(contents, outputs)
    labels_name = display_name(beside, label)
    if labels is not None:
        outputs_name, labels_name = contents.name, beside.name
    findings: list[Finding] = []
    values = read_any(contents, names_in(outputs) if contents.tabular else outputs)
    raw = read_any(beside, label)
    if raw.ndim == 2 and len(raw) == 1 != raw.shape[1] and raw.shape[1] in values.shape:
        findings.append(
            info(
                "labels_squeezed",
                f"{labels_name} has the shape {raw.shape}; read as one label per row.",
            )
        )
        raw = raw[0]
    if raw.ndim == 0:
        reason = f"{labels_name} is a single value, not one label per row."
        raise InvalidUpload("shape_0d", reason, "Save one label for each row.")
    shaped = rows_by_classes(values, len(raw), outputs_name, labels_name)
    columns = class_names(names_in(outputs)) if contents.tabular else None
    arrays = Arrays(
        as_floats(shaped.value, outputs_name), raw, outputs_name, labels_name, column_names=columns
    )
    return Step(arrays, (*findings, *shaped.findings))


def read_rows(contents: Contents, n_rows: int, chosen: dict[str, Any]) -> Step[dict[str, Array]]:
    """The array of each role with one entry per row; left out with a finding where it cannot be read or does not fit.

    Parameters
    ----------
    chosen : the name of the array of each role; nothing is read for those without one.
    """
    found: dict[str, Array] = {}
    findings: list[Finding] = []
    decided: dict[str, Any] = {}
    for role, name in ((role, name) for role, name in chosen.items() if name):
        try:
            if role == "groups" and isinstance(name, tuple):
                array: Array = crossed(
                    [texts_of(contents.read(column).reshape(-1)) for column in name]
                )
            else:
                array = read_any(contents, name)
        except InvalidUpload as invalid:
            if role not in (
                "features",
                "times",
            ):  # nothing else depends on times, which may have been inferred
                raise
            reason = f"{invalid.finding.message} The column of times was left out."
            findings.append(
                left_out_as(role, invalid)
                if role == "features"
                else info("times", reason, OTHER_TIMES)
            )
            decided |= {} if role == "features" else {role: ""}
            continue
        if array.ndim and len(array) == n_rows and (array.size or role == "features"):
            found[role] = array
            continue
        shape = f"{display_name(contents, name)} has the shape {array.shape} for {plural(n_rows, 'row')}"
        said = warning(
            "rows_differ_beside", f"{shape}; it was left out.", "Save one entry per row."
        )
        findings.append(replace(said, left_out="features" if role == "features" else ""))
        decided[role] = ""
    return Step(found, tuple(findings), decided)


def crossed(columns: Sequence[npt.NDArray[np.str_]]) -> npt.NDArray[np.str_]:
    """(n,) the subgroups of several columns as one: ``sme · north``."""
    whole = columns[0]
    for column in columns[1:]:
        whole = np.char.add(np.char.add(whole, " · "), column)
    return whole


def read_aside(contents: Contents, role: str, name: Any, notes: Notes) -> dict[str, Array]:
    """An array of the training set; one that cannot be read is left out with a warning."""
    try:
        return {role: read_any(contents, name)}
    except InvalidUpload as invalid:
        notes.add(left_out_as(role, invalid))
        return {}


def read_any(contents: Contents, name: Any) -> Array:
    """One array, or columns side by side."""
    return contents.read_columns(name) if isinstance(name, tuple) else contents.read(name)


def read_class_names(contents: Contents) -> tuple[str, ...] | None:
    """What the array that names the classes holds, in a file of arrays that has one."""
    if contents.tabular:
        return None
    name = first_named(contents.names, CLASS_NAMES, None)
    if (
        name is None
        and "classes" in contents
        and first_named(contents.names, LABELS, None) != "classes"
    ):
        name = "classes"  # scikit-learn's classes_, beside labels of another name
    return (
        None
        if name is None
        else tuple(map(str, read_any(contents, name).reshape(-1)[:MAX_CLASSES].tolist()))
    )


def display_name(contents: Contents, name: Any) -> str:
    """What an array is called in a sentence; columns of a table by their file."""
    return (
        contents.name
        if isinstance(name, tuple) or len(contents.arrays) == 1
        else shortened(name, LONGEST_SHOWN)
    )


def check_names(contents: Contents, choices: Choices, labels: Contents | None) -> None:
    """Refuse arrays and columns that were chosen but are not there, or chosen twice."""
    of_labels = ("labels",) if labels is None else ()
    chosen = choices.names("outputs", *of_labels, "split", *ROW_ROLES, *FEATURE_FILES)
    check_there(contents, (*chosen, choices.predicted or ""))
    if labels is not None:
        check_there(labels, choices.labels)
    if twice := next((name for name, times in Counter(chosen).items() if times > 1), None):
        raise InvalidUpload(
            "chosen_twice",
            f"{twice!r} was chosen for two things.",
            "Choose another array or column.",
        )


def check_there(contents: Contents, chosen: Any) -> tuple[str, ...]:
    """The names in a choice, each of which the file must hold."""
    names = names_in(chosen)
    if absent := [name for name in names if name not in contents.by_name]:
        reason = f"{contents.name} has no array or column {absent[0]!r}; it holds {listed(contents.names)}."
        raise InvalidUpload("no_such_array", reason, "Choose one of them.")
    return names


def rows_by_classes(
    outputs: Array, n_labels: int, outputs_name: str, labels_name: str
) -> Step[Array]:
    """The outputs as (n, k) with as many rows as labels, transposed where only that fits; a single column is (n, 1)."""
    shape = outputs.shape
    findings = []
    if outputs.ndim == 0:
        reason = f"{outputs_name} is a single value, not one row of scores per example."
        raise InvalidUpload("shape_0d", reason, "Save the whole array.")
    if outputs.ndim > 2:
        outputs = outputs.reshape([n for n in shape if n != 1] or [1])
        findings.append(
            info(
                "squeezed",
                f"{outputs_name} has the shape {shape}; axes of length one were dropped.",
            )
        )
    if outputs.ndim > 2:
        raise InvalidUpload(
            "shape_3d",
            f"{outputs_name} has the shape {shape}, {len(shape)} axes instead of (rows, classes). The first or last "
            "axis may count the members of an ensemble, augmented copies, or pixels.",
            "Average the members' probabilities, or reshape pixels to rows: array.reshape(-1, n_classes).",
        )
    outputs = outputs[:, None] if outputs.ndim == 1 else outputs
    if outputs.shape[0] != n_labels == outputs.shape[1]:
        said = f"{outputs_name} has the shape {outputs.shape} and there are {plural(n_labels, 'label')}"
        findings.append(info("transposed", f"{said}: read as (classes, rows) and transposed."))
        outputs = outputs.T
    check_rows(len(outputs), n_labels, outputs_name, labels_name)
    if outputs.shape[1] == 0 or outputs.shape[1] > MAX_CLASSES:
        raise InvalidUpload(
            "too_many_classes" if outputs.shape[1] else "no_outputs",
            f"{outputs_name} has {outputs.shape[1]:,} columns, one for each class; 1 to {MAX_CLASSES:,} are read.",
            "Save the outputs as (rows, classes).",
        )
    return Step(outputs, tuple(findings))


def check_rows(n: int, n_labels: int, outputs_name: str, labels_name: str) -> None:
    """Refuse outputs and labels of different lengths, or of none."""
    if max(n, n_labels) > MAX_ROWS:
        reason = f"{outputs_name} has {plural(n, 'row')} and {labels_name} {n_labels:,}; at most {MAX_ROWS:,} are read."
        raise InvalidUpload("too_large", reason, "Save fewer rows: 20,000 are plenty to calibrate.")
    if n == 0 or n_labels == 0:
        empty = outputs_name if n == 0 else labels_name
        raise InvalidUpload(
            "no_rows", f"{empty} has 0 rows.", "Check that saving it ended, and upload it again."
        )
    if n != n_labels:
        first_line = "Was the first line of one file taken as its header?"
        cause = first_line if abs(n - n_labels) == 1 else "Did you drop rows from one file?"
        reason = (
            f"{labels_name} has {plural(n_labels, 'row')} but {outputs_name} has {n:,}. {cause}"
        )
        raise InvalidUpload("rows_differ", reason, "Upload another labels file.")


def as_floats(outputs: Array, name: str) -> Floats:
    """Native, contiguous floats; float32 stays float32, and what already fits is not copied."""
    dtype = float_dtype(outputs.dtype, name)
    check_size(outputs.size * dtype.itemsize, f"{name} as {dtype}")  # a byte may become four
    return np.ascontiguousarray(outputs, dtype=dtype)


def float_dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """The smaller of float32 and float64 that holds every value."""
    if dtype.kind not in "fiub":
        reason = f"{name} holds values of type {dtype} where numbers are needed."
        raise InvalidUpload(
            "dtype", reason, "Save it as array.astype('float32'), or choose another array."
        )
    single = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.dtype(np.float32 if single else np.float64)
