"""Uploads in several parts: test rows under names of their own or in a second file, and files with features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib.data.array_names import canonical
from calib.data.assemble.arrays import Arrays, check_there, read_aside, read_part, read_rows
from calib.data.assemble.beside import METADATA, ROW_ROLES
from calib.data.assemble.outputs import decide_form
from calib.data.findings import InvalidUpload, Notes, Step, left_out_as, listed, warning
from calib.data.guess.arrays import infer_array
from calib.data.guess.names import is_anonymous, plain_name
from calib.data.options import FEATURE_FILES, NOTHING, Choices, Columns, names_in
from calib.data.read.base import Array, Contents
from calib.formatting import plural
from calib.numerics import LARGEST

BESIDE = (*ROW_ROLES, "features")


def named_part(contents: Contents, choices: Choices) -> Step[Arrays]:
    """The test part that lies in the same file under its own names."""
    if not choices.test_labels:
        reason = (
            f"{choices.test_outputs} of {contents.name} was chosen as the outputs of the test part, "
            "without labels."
        )
        raise InvalidUpload("no_labels", reason, "Choose the labels of the test part too.")
    check_there(contents, choices.test_outputs)
    check_there(contents, choices.test_labels)
    part = read_part(contents, None, choices.test_outputs, choices.test_labels, choices)
    bases = {
        canonical(name).base: name for name in contents.names if canonical(name).part == "test"
    }
    own = {
        role: name for role in BESIDE if isinstance(name := getattr(choices, role), str) and name
    }
    rows = read_rows(
        contents,
        len(part.value.outputs),
        {r: bases.get(canonical(name).base) for r, name in own.items()},
    )
    return Step(replace(part.value, rows=rows.value), part.findings + rows.findings)


def in_file(contents: Contents, chosen: Any) -> bool:
    """Whether every name in a choice is one of this file."""
    return all(name in contents for name in names_in(chosen))


def named_by_file(arrays: Arrays, contents: Contents) -> Arrays:
    """Arrays called by their file too, since both parts may use the same names."""
    own, labels = arrays.outputs_name, arrays.labels_name
    return replace(
        arrays,
        outputs_name=own if own == contents.name else f"{own} of {contents.name}",
        labels_name=f"{labels} of {contents.name}" if labels in contents else labels,
    )


def one_after_the_other(first: Arrays, second: Arrays, choices: Choices) -> Step[Arrays]:
    """Calibration rows, then test rows, with the split marked.

    Refused where the columns are not those of the same classes, or both are written in different ways. Of the choices,
    ``outputs`` names the columns of the first part and ``test_outputs`` those of the second.
    """
    a = first.outputs.shape[1]
    b = second.outputs.shape[1]
    if a != b:
        reason = (
            f"{first.outputs_name} has {plural(a, 'column')} but {second.outputs_name} has {b:,}."
        )
        raise InvalidUpload("columns_differ", reason, "Use outputs of one model on both parts.")
    refuse_different_scales(first, second, choices)
    refuse_different_columns(first, second)
    findings = []
    rows: dict[str, Array] = {
        "split": np.arange(len(first.outputs) + len(second.outputs)) < len(first.outputs)
    }
    further = [name for name in first.rows if name.startswith(METADATA) and name in second.rows]
    for role in (*BESIDE, *further):
        own = first.rows.get(role)
        theirs = second.rows.get(role)
        if own is not None and theirs is not None and own.shape[1:] == theirs.shape[1:]:
            rows[role] = np.concatenate([own, theirs])
        elif own is not None or theirs is not None:
            reason = f"Only one part has {role}, so they were left out."
            said = warning("one_part_only", reason, f"Save {role} for both parts.")
            findings.append(replace(said, left_out="features" if role == "features" else ""))
    labels = [
        each.reshape(-1) if each.size == len(each) else each
        for each in (first.labels, second.labels)
    ]
    if labels[0].shape[1:] != labels[1].shape[1:] or (labels[0].dtype.kind == "U") != (
        labels[1].dtype.kind == "U"
    ):
        raise InvalidUpload(
            "labels_differ",
            f"{first.labels_name} holds {labels[0].dtype} of shape {labels[0].shape}, but "
            f"{second.labels_name} holds {labels[1].dtype} of shape {labels[1].shape}.",
            "Save both in the same way.",
        )
    if np.array_equal(labels[0], labels[1]) and np.array_equal(
        first.outputs, second.outputs, equal_nan=True
    ):
        reason = (
            f"{second.outputs_name} has the same outputs and labels as {first.outputs_name} in every one of "
            f"{plural(len(second.outputs), 'row')}: what is fitted to these rows is tested on them too."
        )
        findings.append(
            warning("same_rows", reason, "Give a test part of other rows, or leave it out.")
        )
    outputs = np.concatenate([first.outputs, second.outputs])
    return Step(
        replace(first, outputs=outputs, labels=np.concatenate(labels), rows=rows), tuple(findings)
    )


def refuse_different_columns(first: Arrays, second: Arrays) -> None:
    """Refuse parts whose columns have other names, or stand in another order."""
    names, others = (_names_of_columns(part) for part in (first, second))
    if names and others and [*map(plain_name, names)] != [*map(plain_name, others)]:
        raise InvalidUpload(
            "columns_differ",
            f"{first.outputs_name} has columns for {listed(names)}, but {second.outputs_name} for {listed(others)}.",
            "Use outputs of one model on both parts, with the same columns in one order.",
        )


def _names_of_columns(arrays: Arrays) -> tuple[str, ...]:
    """What the columns of several outputs are called; empty where they have no names."""
    names = arrays.column_names or arrays.class_names or ()
    width = arrays.outputs.shape[1]
    return () if width == 1 or len(names) != width or all(map(is_anonymous, names)) else names


def refuse_different_scales(first: Arrays, second: Arrays, choices: Choices) -> None:
    """Refuse parts that are read in different ways by themselves, such as probabilities and percent."""
    said = []
    for part, given in ((first, choices), (second, replace(choices, outputs=choices.test_outputs))):
        values = part.outputs[(np.abs(part.outputs) <= LARGEST).all(axis=1)]
        if not len(values):
            return  # which is said where bad rows are looked for
        form = decide_form(values, part.outputs_name, replace(given, scale=None)).value
        low = values.min()
        high = values.max()
        said.append(
            (
                form.in_words,
                f"{part.outputs_name} holds {form.in_words} (from {low:.3g} to {high:.3g})",
            )
        )
    if said[0][0] != said[1][0]:
        action = (
            "Save both in the same way; if they are, choose what both hold, such as kind=logits."
        )
        raise InvalidUpload("scales_differ", f"{said[0][1]}, but {said[1][1]}.", action)


def home_of(role: str, files: Mapping[str, Contents]) -> Contents | None:
    """The file that may hold an array of the features or of the training set: its own, or one that holds others too."""
    shared = [home for home in ("train_features", "features") if home in files and home != role]
    if role in files or role == "features":
        return files.get(role)
    return next(
        (files[home] for home in shared if home == "train_features" or not files[home].tabular),
        None,
    )


def left_to_files(files: Mapping[str, Contents], chosen: Choices) -> dict[str, str]:
    """The arrays that are not looked for in the file with the outputs, since files for them were given, as choices."""
    homes = {role: home for role in FEATURE_FILES if (home := home_of(role, files)) is not None}
    held = [
        role
        for role, home in homes.items()
        if (name := getattr(chosen, role)) and in_file(home, name)
    ]
    return {role: NOTHING for role in FEATURE_FILES if role in files or role in held}


def with_features(
    arrays: Arrays, files: Mapping[str, Contents], chosen: Choices, notes: Notes
) -> Arrays:
    """The arrays with what files for features and for the training set hold.

    Parameters
    ----------
    files : by the role that each was given for.
    chosen : what was chosen by hand, which its file must hold; every other array is inferred.
    """
    rows = dict(arrays.rows)
    train = dict(arrays.train)
    for role in FEATURE_FILES:
        contents = home_of(role, files)
        name = getattr(chosen, role)
        if contents is None or name == NOTHING or getattr(notes.choices, role):
            continue
        try:
            name = name or infer_array(contents, role, files.get(role))
            if role == "train_features" and "features" in rows:
                name = as_those_of_rows(notes.choices.features, name)
        except InvalidUpload as invalid:
            notes.add(left_out_as(role, invalid))
            continue
        if not name:
            continue
        check_there(contents, name)
        if role == "features":
            rows |= notes.take(read_rows(contents, len(arrays.outputs), {role: name}))
        else:
            train |= read_aside(contents, role, name, notes)
        notes.decide(**{role: name})
    return replace(arrays, rows=rows, train=train)


def as_those_of_rows(own: Columns | None, training: Columns | None) -> Columns | None:
    """The columns of the training set that are called as those of the rows, in their order; arrays as they are."""
    if not isinstance(own, tuple) or not isinstance(training, tuple):
        return training
    theirs = {plain_name(name): name for name in training}
    if absent := [name for name in own if plain_name(name) not in theirs]:
        reason = (
            f"The training set has no column {listed(absent)}, which the features of the rows have."
        )
        raise InvalidUpload("features_unmatched", reason, "Save the same columns of both.")
    return tuple(theirs[plain_name(name)] for name in own)
