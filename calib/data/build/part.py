"""Outputs, labels and what else has one entry per row, read from one file or two; parts one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.canonical import KINDS, describe_scale
from calib.data.build.labels import correct_answers, crossed, squeezed
from calib.data.build.outputs import ask_whether_percent, decide_form
from calib.data.findings import (
    MAX_CLASSES,
    MAX_ROWS,
    Findings,
    InvalidUpload,
    info,
    listed,
    shortened,
    warning,
)
from calib.data.names import (
    CLASS_NAMES,
    LABELS,
    class_names,
    first_named,
    is_anonymous,
    names_model,
    plain_name,
)
from calib.data.options import (
    FEATURE_ARRAYS,
    Choices,
    Columns,
    columns_in_use,
    names_in,
    names_in_options,
)
from calib.data.read.base import Array, Contents, check_size, distinct
from calib.data.roles import ColumnRole
from calib.data.rows import ROW_ROLES
from calib.formatting import plural
from calib.numerics import LARGEST, Floats

LONGEST_SHOWN = 80
"""Characters of an array's name in a sentence."""

MOST_METADATA = 100
"""Further subgroups of one data set."""

LONGEST_MODEL = 200
"""Characters of a model's name and version."""

MOST_VALUES = 50
"""Values of an array of a file that is kept as a further subgroup."""


@dataclass(frozen=True)
class Part:
    """Arrays as read, before any check of their values.

    Attributes
    ----------
    outputs : (n, k) floats; k is 1 for a single binary column.
    labels : (n,), (n, 1) or one-hot labels of any type.
    outputs_name, labels_name : for sentences.
    rows : further arrays with one entry per row: features, split and those of ``ROW_ROLES``.
    metadata : columns of few values, by name.
    column_names : names of the columns of a table without their common stem; None for arrays.
    class_names : the array that names the classes.
    train : train_features and train_labels.
    roles : role of each column of a table.
    unused : arrays or columns without a role.
    model : name and version of the model.
    """

    outputs: Floats
    labels: Array
    outputs_name: str
    labels_name: str
    rows: dict[str, Array] = field(default_factory=dict)
    metadata: dict[str, Array] = field(default_factory=dict)
    column_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    train: dict[str, Array] = field(default_factory=dict)
    roles: tuple[ColumnRole, ...] = ()
    unused: tuple[str, ...] = ()
    model: str = ""

    def take(self, rows: npt.NDArray[np.bool_]) -> Part:
        """Return the same with the rows of a mask alone; labels stay whole."""
        if not rows.any():
            reason = (
                f"None of {plural(len(rows), 'row')} can be used: values or labels are missing."
            )
            raise InvalidUpload("all_rows_bad", reason, "Save it again.")
        return replace(
            self,
            outputs=self.outputs[rows],
            rows={role: array[rows] for role, array in self.rows.items()},
            metadata={name: array[rows] for name, array in self.metadata.items()},
        )


def read_part(
    contents: Contents,
    labels: Contents | None,
    choices: Choices,
    roles: tuple[ColumnRole, ...] = (),
) -> tuple[Part, Findings]:
    """Read outputs as (n, k) floats, as many labels, and what else has one entry per row.

    Parameters
    ----------
    labels : the file of the labels, where they have one.
    """
    is_table = contents.tabular
    columns = names_in(choices.outputs) if is_table else ()
    outputs_name, labels_name = contents.name, (labels or contents).name
    if labels is None:
        outputs_name, labels_name = display_names(contents, choices.outputs, choices.labels)
    values = contents.read(columns if is_table else choices.outputs or "")
    truth = squeezed((labels or contents).read(choices.labels or ""))
    values, findings = rows_by_classes(values, len(truth), outputs_name, labels_name)
    outputs = as_floats(values, outputs_name)
    signs = [finding.reason for finding in contents.findings if finding.code == "percent_signs"]
    if is_table and not any(shortened(columns[0]) in reason for reason in signs):
        ask_whether_percent(outputs, choices)
    naming = None if is_table else class_names_in(contents)
    names = read_class_names(contents, naming)
    per_row = (*ROW_ROLES, "features", "split")
    if choices.kind == "pairs":
        predicted = contents.read(choices.predicted) if choices.predicted else None
        truth = correct_answers(truth, predicted, labels_name, choices.event)
        names = names or ("wrong", "correct")
    rows, skipped = read_rows(contents, {r: getattr(choices, r) for r in per_row}, len(outputs))
    training, unread = read_rows(contents, {r: getattr(choices, r) for r in FEATURE_ARRAYS[1:]})
    metadata, unused = read_metadata(contents, choices, roles, len(outputs), naming)
    part = Part(
        outputs,
        truth,
        outputs_name,
        labels_name,
        rows,
        metadata,
        class_names(columns) if is_table else None,
        names or None,
        training,
        roles,
        unused,
        read_model(contents, unused),
    )
    return part, findings + skipped + unread


def read_rows(
    contents: Contents, chosen: Mapping[str, Any], n_rows: int | None = None
) -> tuple[dict[str, Array], Findings]:
    """Read the array of each role that has a name; one that cannot be read or does not fit is left out.

    Parameters
    ----------
    chosen : name of the array of each role.
    n_rows : entries that each array must have; None for those of the training set.
    """
    rows: dict[str, Array] = {}
    findings: Findings = ()
    for role, name in ((role, name) for role, name in chosen.items() if name):
        try:
            if role == "groups" and isinstance(name, tuple):
                array = crossed([contents.read(column) for column in name])
            else:
                array = contents.read(name)
            empty = not array.size and role != "features"
            if n_rows is not None and (array.shape[:1] != (n_rows,) or empty):
                (label,) = display_names(contents, name)
                reason = f"{label} has the shape {array.shape} for {plural(n_rows, 'row')}."
                raise InvalidUpload("rows_differ_beside", reason, "Save one entry per row.")
            rows[role] = array
        except InvalidUpload as invalid:
            finding = invalid.left_out(role if role in FEATURE_ARRAYS else "")
            if not finding.left_out:
                finding = replace(finding, reason=f"{finding.reason} It was left out.")
            findings += (finding,)
    return rows, findings


def read_metadata(
    contents: Contents,
    choices: Choices,
    roles: Sequence[ColumnRole],
    n_rows: int,
    naming: str | None,
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Read columns of few values as further subgroups; return them, and all without a role but names of classes."""
    if contents.tabular:
        chosen = [role.column for role in roles if role.role == "metadata"][:MOST_METADATA]
        unused = tuple(role.column for role in roles if role.role == "ignore")
        return {name: contents.read(name) for name in chosen}, unused
    used = {*columns_in_use(choices), *names_in_options(choices, *FEATURE_ARRAYS), naming}
    metadata: dict[str, Array] = {}
    free = [array for array in contents.arrays if array.name not in used]
    for array in free:
        if array.shape == (n_rows,) and "float" not in array.dtype:
            values = contents.read(array.name)
            if 2 <= len(distinct(values)[0]) <= MOST_VALUES:
                metadata[array.name] = values
    return metadata, tuple(array.name for array in free if array.name not in metadata)


def read_model(contents: Contents, unused: Iterable[str]) -> str:
    """Read name and version of the model from columns of one value; empty where there are none."""
    if not contents.tabular:
        return ""
    columns = [contents.read(name) for name in unused if names_model(name)]
    names = [str(cells[0]) for cells in columns if len(cells) and (cells == cells[0]).all()]
    return " ".join(names)[:LONGEST_MODEL]


def read_class_names(contents: Contents, name: str | None) -> tuple[str, ...]:
    """Read the array that names the classes; empty where there is none."""
    values = [] if name is None else contents.read(name).reshape(-1)[:MAX_CLASSES].tolist()
    return tuple(map(str, values))


def class_names_in(contents: Contents) -> str | None:
    """Return the array of a file that names the classes."""
    name = first_named(contents.names, CLASS_NAMES, None)
    if name is not None or "classes" not in contents.by_name:
        return name
    # The classes_ of scikit-learn, where the labels have another name.
    return "classes" if first_named(contents.names, LABELS, None) != "classes" else None


def display_names(contents: Contents, *names: Any) -> list[str]:
    """Return names of arrays for a sentence; of columns of a table that of their file."""
    alone = len(contents.arrays) == 1
    return [
        contents.name if alone or isinstance(name, tuple) else shortened(name, LONGEST_SHOWN)
        for name in names
    ]


def check_names(contents: Contents, choices: Choices, labels: Contents | None) -> None:
    """Refuse arrays and columns that were chosen but are not there, or chosen twice."""
    of_labels = ("labels",) if labels is None else ()
    chosen = names_in_options(choices, "outputs", *of_labels, "split", *ROW_ROLES, *FEATURE_ARRAYS)
    check_there(contents, (*chosen, choices.predicted or ""))
    if labels is not None:
        check_there(labels, choices.labels)
    if twice := next((name for name, times in Counter(chosen).items() if times > 1), None):
        reason = f"{twice!r} was chosen for two things."
        raise InvalidUpload("chosen_twice", reason, "Choose another array or column.")


def check_there(contents: Contents, chosen: Any) -> tuple[str, ...]:
    """Return the names in a choice, each of which the file must hold."""
    names = names_in(chosen)
    if absent := [name for name in names if name not in contents.by_name]:
        reason = f"{contents.name} has no array or column {absent[0]!r}; it holds {listed(contents.names)}."
        raise InvalidUpload("no_such_array", reason, "Choose one of them.")
    return names


def rows_by_classes(
    outputs: Array, n_labels: int, outputs_name: str, labels_name: str
) -> tuple[Array, Findings]:
    """Return outputs as (n, k) with as many rows as labels, transposed where only that fits."""
    shape = outputs.shape
    if outputs.ndim > 2:
        outputs = outputs.reshape([n for n in shape if n != 1] or [1])
    if outputs.ndim > 2:
        raise InvalidUpload(
            "shape_3d",
            f"{outputs_name} has the shape {shape}, {len(shape)} axes instead of (rows, classes). The first or last "
            "axis may count the members of an ensemble, augmented copies, or pixels.",
            "Average the members' probabilities, or reshape pixels to rows: array.reshape(-1, n_classes).",
        )
    outputs = outputs if outputs.ndim == 2 else outputs.reshape(-1, 1)
    findings: Findings = ()
    if outputs.shape[0] != n_labels == outputs.shape[1]:
        reason = f"{outputs_name} has the shape {outputs.shape} and there are {plural(n_labels, 'label')}"
        findings = (info("transposed", f"{reason}: read as (classes, rows) and transposed."),)
        outputs = outputs.T
    check_rows(len(outputs), n_labels, outputs_name, labels_name)
    if not 0 < outputs.shape[1] <= MAX_CLASSES:
        raise InvalidUpload(
            "too_many_classes" if outputs.shape[1] else "no_outputs",
            f"{outputs_name} has {outputs.shape[1]:,} columns, one for each class; 1 to {MAX_CLASSES:,} are read.",
            "Save the outputs as (rows, classes).",
        )
    return outputs, findings


def check_rows(n: int, n_labels: int, outputs_name: str, labels_name: str) -> None:
    """Refuse outputs and labels of different lengths, or of none."""
    if max(n, n_labels) > MAX_ROWS:
        reason = f"{outputs_name} has {plural(n, 'row')} and {labels_name} {n_labels:,}; at most {MAX_ROWS:,} are read."
        raise InvalidUpload("too_large", reason, "Save fewer rows: 20,000 are plenty to calibrate.")
    if n == 0 or n_labels == 0:
        reason = f"{labels_name if n else outputs_name} has 0 rows."
        raise InvalidUpload("no_rows", reason, "Check that saving it ended, and upload it again.")
    if n != n_labels:
        header = "Was the first line of one file taken as its header?"
        cause = header if abs(n - n_labels) == 1 else "Did you drop rows from one file?"
        rows = f"{labels_name} has {plural(n_labels, 'row')} but {outputs_name} has {n:,}."
        raise InvalidUpload("rows_differ", f"{rows} {cause}", "Upload another labels file.")


def as_floats(outputs: Array, name: str) -> Floats:
    """Return native, contiguous floats; float32 stays float32, and what already fits is not copied."""
    dtype = float_dtype(outputs.dtype, name)
    check_size(outputs.size * dtype.itemsize, f"{name} as {dtype}")  # a byte may become four
    return np.ascontiguousarray(outputs, dtype=dtype)


def float_dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    """Return the smaller of float32 and float64 that holds every value."""
    if dtype.kind not in "fiub":
        reason = f"{name} holds values of type {dtype} where numbers are needed."
        action = "Save it as array.astype('float32'), or choose another array."
        raise InvalidUpload("dtype", reason, action)
    single = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.dtype(np.float32 if single else np.float64)


# Parts one after the other.


def concatenated(
    first: Part, second: Part, choices: Choices, test_outputs: Columns | None
) -> tuple[Part, Findings]:
    """Return calibration rows, then test rows, with the split marked.

    Parameters
    ----------
    choices : of the first part.
    test_outputs : names of the outputs of the second.

    Raises
    ------
    InvalidUpload
        If the parts have other columns, another scale, or labels of another form.
    """
    refuse_different_columns(first, second)
    refuse_different_scales(first, second, choices, test_outputs)
    n = len(first.outputs)
    rows = {"split": np.arange(n + len(second.outputs)) < n}
    findings: Findings = ()
    for role in (*ROW_ROLES, "features"):
        both = [part.rows[role] for part in (first, second) if role in part.rows]
        if len(both) == 2 and both[0].shape[1:] == both[1].shape[1:]:
            rows[role] = np.concatenate(both)
        elif both:
            reason = f"Only one part has {role}, so they were left out."
            finding = warning("one_part_only", reason, f"Save {role} for both parts.")
            findings += (replace(finding, left_out="features" if role == "features" else ""),)
    labels = first.labels, second.labels
    if len({(array.shape[1:], array.dtype.kind == "U") for array in labels}) == 2:
        forms = [f"{array.dtype} of shape {array.shape}" for array in labels]
        reason = f"{first.labels_name} holds {forms[0]}, but {second.labels_name} holds {forms[1]}."
        raise InvalidUpload("labels_differ", reason, "Save both in the same way.")
    same_outputs = np.array_equal(first.outputs, second.outputs, equal_nan=True)
    if same_outputs and np.array_equal(*labels):
        reason = (
            f"{second.outputs_name} has the same outputs and labels as {first.outputs_name} in every one of "
            f"{plural(len(second.outputs), 'row')}: what is fitted to these rows is tested on them too."
        )
        action = "Give a test part of other rows, or leave it out."
        findings += (warning("same_rows", reason, action),)
    metadata = {
        name: np.concatenate([values, second.metadata[name]])
        for name, values in first.metadata.items()
        if name in second.metadata
    }
    outputs = np.concatenate([first.outputs, second.outputs])
    truth = np.concatenate(labels)
    return replace(first, outputs=outputs, labels=truth, rows=rows, metadata=metadata), findings


def named_by_file(part: Part, contents: Contents) -> Part:
    """Return a part whose names for sentences hold that of its file, since both parts may use the same names."""
    names = part.outputs_name, part.labels_name
    outputs, labels = (f"{name} of {contents.name}" if name in contents else name for name in names)
    return replace(part, outputs_name=outputs, labels_name=labels)


def refuse_different_columns(first: Part, second: Part) -> None:
    """Refuse parts of other numbers of columns, whose columns have other names, or that stand in another order."""
    described, plain = [], []
    for part in (first, second):
        width = part.outputs.shape[1]
        names = part.column_names or part.class_names or ()
        named = width > 1 and len(names) == width and not all(map(is_anonymous, names))
        described.append(f"columns for {listed(names)}" if named else plural(width, "column"))
        plain.append([*map(plain_name, names)] if named else [""] * width)
    both_named = any(plain[0]) and any(plain[1])
    if plain[0] == plain[1] or (not both_named and len(plain[0]) == len(plain[1])):
        return
    reason = (
        f"{first.outputs_name} has {described[0]} but {second.outputs_name} has {described[1]}."
    )
    action = "Use outputs of one model on both parts, with the same columns in one order."
    raise InvalidUpload("columns_differ", reason, action)


def refuse_different_scales(
    first: Part, second: Part, choices: Choices, test_outputs: Columns | None
) -> None:
    """Refuse parts that are read in different ways by themselves, such as probabilities and percent."""
    forms = []
    sentences = []
    for part, outputs in ((first, choices.outputs), (second, test_outputs)):
        values = part.outputs[(np.abs(part.outputs) <= LARGEST).all(axis=1)]
        if not len(values):
            return  # which is refused where bad rows are looked for
        of_part = replace(choices, outputs=outputs, scale=None)
        kind, scale, _ = decide_form(values, part.outputs_name, of_part)
        forms.append(KINDS[kind] if scale in (None, 1.0) else describe_scale(scale))
        reach = f"(from {values.min():.3g} to {values.max():.3g})"
        sentences.append(f"{part.outputs_name} holds {forms[-1]} {reach}")
    if forms[0] != forms[1]:
        action = (
            "Save both in the same way; if they are, choose what both hold, such as kind=logits."
        )
        raise InvalidUpload("scales_differ", f"{', but '.join(sentences)}.", action)
