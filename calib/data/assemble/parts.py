"""Uploads in several parts: test rows under names of their own or in a second file, and files with features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib.data.array_names import canonical
from calib.data.assemble.arrays import Arrays, check_there, read_aside, read_part, read_rows
from calib.data.assemble.beside import ROW_ROLES
from calib.data.findings import InvalidUpload, Notes, Step, count, info, left_out, left_out_as, listed, verb, warning
from calib.data.guess.arrays import infer_features, infer_training_labels, infer_training_part
from calib.data.options import NOTHING, Choices, names_in
from calib.data.read.base import Array, Contents

BESIDE = (*ROW_ROLES, "features")


def named_part(contents: Contents, choices: Choices) -> Step[Arrays]:
    """The test part that lies in the same file under its own names."""
    if not choices.test_labels:
        raise InvalidUpload(
            "no_labels",
            f"{choices.test_outputs} of {contents.name} was chosen as the outputs of the test part, without labels.",
            "Choose the labels of the test part too.",
        )
    check_there(contents, choices.test_outputs)
    check_there(contents, choices.test_labels)
    part = read_part(contents, None, choices.test_outputs, choices.test_labels, choices)
    rows = read_rows(
        contents, len(part.value.outputs), {role: counterpart(contents, getattr(choices, role)) for role in BESIDE}
    )
    return Step(replace(part.value, rows=rows.value), part.findings + rows.findings)


def counterpart(contents: Contents, name: Any) -> str | None:
    """The array of the test part that goes by the same name as one of the calibration part."""
    if not isinstance(name, str) or not name:
        return None
    return next((n for n in contents.names if canonical(n) == ("test", canonical(name).base)), None)


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


def one_after_the_other(first: Arrays, second: Arrays) -> Step[Arrays]:
    """Calibration rows, then test rows, with the split marked."""
    a, b = first.outputs.shape[1], second.outputs.shape[1]
    if a != b:
        raise InvalidUpload(
            "columns_differ",
            f"{first.outputs_name} has {a:,} columns but {second.outputs_name} has {b:,}.",
            "Use outputs of one model on both parts.",
        )
    rows: dict[str, Array] = {"split": np.arange(len(first.outputs) + len(second.outputs)) < len(first.outputs)}
    findings = []
    for role in BESIDE:
        own, theirs = first.rows.get(role), second.rows.get(role)
        if own is not None and theirs is not None and own.shape[1:] == theirs.shape[1:]:
            rows[role] = np.concatenate([own, theirs])
        elif own is not None or theirs is not None:
            said = (
                "one_part_only",
                f"Only one part has {role}, so they were left out.",
                f"Save {role} for both parts.",
            )
            findings.append(left_out(role, *said) if role == "features" else warning(*said))
    labels = [each.reshape(-1) if each.size == len(each) else each for each in (first.labels, second.labels)]
    if labels[0].shape[1:] != labels[1].shape[1:] or (labels[0].dtype.kind == "U") != (labels[1].dtype.kind == "U"):
        raise InvalidUpload(
            "labels_differ",
            f"{first.labels_name} holds {labels[0].dtype} of shape {labels[0].shape}, but "
            f"{second.labels_name} holds {labels[1].dtype} of shape {labels[1].shape}.",
            "Save both in the same way.",
        )
    outputs = np.concatenate([first.outputs, second.outputs])
    return Step(replace(first, outputs=outputs, labels=np.concatenate(labels), rows=rows), tuple(findings))


HOMES: dict[str, tuple[str, ...]] = {
    "features": ("features",),
    "train_features": ("train_features", "features"),
    "train_labels": ("train_labels", "train_features", "features"),
}
"""The files that may hold each array, the one that is meant for it first."""


def left_to_files(files: Mapping[str, Contents], main: Contents, chosen: Choices) -> dict[str, str]:
    """The arrays that are not looked for in the file with the outputs, since files for them were given, as choices.

    It answers where an array of its own was chosen, and where nothing was chosen and no file was given for the role.
    """
    found = {}
    for role, homes in HOMES.items():
        name = getattr(chosen, role)
        own = role in files and (not name or in_file(files[role], name))
        if any(home in files for home in homes) and (own or (name and not in_file(main, name))):
            found[role] = NOTHING
    return found


def with_features(arrays: Arrays, files: Mapping[str, Contents], chosen: Choices, notes: Notes) -> Arrays:
    """The arrays with what files for features and for the training set hold.

    Parameters
    ----------
    files : by the role that each was given for.
    chosen : what was chosen by hand; every other array is inferred.

    Raises
    ------
    InvalidUpload
        If an array was chosen that none of the files holds.
    """
    rows, train = dict(arrays.rows), dict(arrays.train)
    for role, homes in HOMES.items():
        given = [files[home] for home in homes if home in files]
        name = getattr(chosen, role)
        if not given or name == NOTHING or getattr(notes.choices, role):
            continue
        contents = given[0]
        try:
            for contents in given:
                if in_file(contents, name) if name else (name := _infer(contents, role, files)):
                    break
        except InvalidUpload as invalid:
            notes.add(left_out_as(role, invalid))
            continue
        if not name:
            continue
        check_there(contents, name)
        if role == "features":
            notes.decide(features=name)
            rows |= notes.take(read_rows(contents, len(arrays.outputs), {role: name}))
            continue
        own = notes.choices.features
        if role == "train_features" and "features" in rows and isinstance(own, tuple) and isinstance(name, tuple):
            kept, name = notes.take(same_columns(own, name)) if chosen.train_features is None else (None, name)
            if kept is not None and len(kept) < len(own):
                rows["features"] = rows["features"][:, kept]
                notes.decide(features=tuple(own[j] for j in kept))
        notes.decide(**{role: name})
        train |= read_aside(contents, role, name, notes)
    return replace(arrays, rows=rows, train=train)


def _infer(contents: Contents, role: str, files: Mapping[str, Contents]) -> Any:
    """The array or the columns that a role most likely means in one file; None if it is not there."""
    if contents is files.get(role):
        return infer_training_labels(contents) if role == "train_labels" else infer_features(contents, role)
    return infer_training_part(contents, role, beside=contents is files.get("train_features"))


def same_columns(own: tuple[str, ...], training: tuple[str, ...]) -> Step[tuple[list[int], tuple[str, ...]]]:
    """Features of the rows and of the training set matched by the names of their columns.

    Returns
    -------
    The numbers of the own columns that both have, and the training set's columns in the same order. Where no name is
    in both, all are taken in the order they have.
    """
    theirs = {name.strip().casefold(): name for name in training}
    keys = [name.strip().casefold() for name in own]
    common = [j for j, key in enumerate(keys) if key in theirs]
    if not common:
        return Step((list(range(len(own))), training))
    alone = [own[j] for j, key in enumerate(keys) if key not in theirs]
    others = [name for key, name in theirs.items() if key not in keys]
    said = []
    if alone:
        reason = (
            f"The training set has no {listed(alone)}; {count(len(common), 'feature')} that both have "
            f"{verb(len(common), 'is', 'are')} used."
        )
        said = [warning("features_unmatched", reason, "Save the same columns of both.")]
    elif others:
        reason = f"{listed(others)} of the training set left out: not among the features."
        said = [info("features_unmatched", reason)]
    return Step((common, tuple(theirs[keys[j]] for j in common)), tuple(said))
