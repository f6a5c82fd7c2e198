"""Roles of the arrays or columns of the files of one upload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calib.data.findings import Findings, InvalidUpload, listed
from calib.data.guess.arrays import infer_array, infer_arrays, infer_label
from calib.data.guess.question import infer_columns
from calib.data.names import canonical, plain_name
from calib.data.options import FEATURE_FILES, NOTHING, Choices, Columns, names_in
from calib.data.read.base import Contents
from calib.data.roles import ColumnRole
from calib.data.rows import ROW_ROLES

Roles = tuple[ColumnRole, ...]


def guess_roles(
    contents: Contents, labels: Contents | None, choices: Choices
) -> tuple[Choices, Roles, Findings]:
    """Return the choices with the arrays or columns that were left to be inferred, and the role of every column.

    Parameters
    ----------
    labels : the file of the labels, where they have one.

    Raises
    ------
    InvalidUpload
        Where no reading is clearly meant, with the readings as a question; or where there is none.
    """
    roles: Roles = ()
    findings: Findings = ()
    if contents.tabular:
        choices, roles, findings = infer_columns(contents, choices, labels is not None)
    else:
        choices = infer_arrays(contents, choices, labels is not None)
    if labels is not None and not choices.labels:
        choices = replace(choices, labels=infer_label(labels))
    return choices, roles, findings


def roles_of_test_part(contents: Contents, choices: Choices) -> Choices:
    """Return the choices for the test part that lies in the same file under its own names."""
    if not choices.test_labels:
        outputs = f"{choices.test_outputs} of {contents.name}"
        reason = f"{outputs} was chosen as the outputs of the test part, without labels."
        raise InvalidUpload("no_labels", reason, "Choose the labels of the test part too.")
    bases = {
        canonical(name).base: name for name in contents.names if canonical(name).part == "test"
    }
    rows: dict[str, Any] = dict.fromkeys((*FEATURE_FILES[1:], "split", "predicted"))
    for role in (*ROW_ROLES, "features"):
        name = getattr(choices, role)
        rows[role] = bases.get(canonical(name).base) if isinstance(name, str) and name else None
    return replace(choices, outputs=choices.test_outputs, labels=choices.test_labels, **rows)


def roles_in_test_file(test: Contents, own: Choices, chosen: Choices) -> Choices:
    """Return the choices for a test file, whose other roles are inferred anew, since its names may differ.

    Parameters
    ----------
    own : of the first file.
    chosen : by hand.
    """
    shared = {
        role: name if in_file(test, name := getattr(own, role)) else None
        for role in (*ROW_ROLES, "features")
    }
    # Parts that the first file may bring itself are overruled by giving two files.
    return Choices(
        outputs=chosen.test_outputs,
        labels=chosen.test_labels,
        label_values=chosen.label_values,
        split=NOTHING,
        **shared,
    )


def in_file(contents: Contents, chosen: Any) -> bool:
    """Return whether every name in a choice is one of this file."""
    return all(name in contents for name in names_in(chosen))


# Files of features and of the training set.


def home_of(role: str, files: Mapping[str, Contents]) -> Contents | None:
    """Return the file that may hold features or training data: its own, or one that holds others too."""
    if role in files or role == "features":
        return files.get(role)
    if role != "train_features" and "train_features" in files:
        return files["train_features"]
    features = files.get("features")
    return None if features is None or features.tabular else features


def left_to_files(files: Mapping[str, Contents], chosen: Choices) -> dict[str, str]:
    """Return the arrays that are not looked for in the file with the outputs, as choices that leave them out."""
    homes = {role: home_of(role, files) for role in FEATURE_FILES}
    return {
        role: NOTHING
        for role, home in homes.items()
        if role in files
        or (home is not None and (name := getattr(chosen, role)) and in_file(home, name))
    }


def training_columns(own: Columns | None, training: Columns | None) -> Columns | None:
    """Return the columns of the training set that are called as those of the rows; arrays as they are."""
    if not isinstance(own, tuple) or not isinstance(training, tuple):
        return training
    by_name = {plain_name(name): name for name in training}
    absent = [name for name in own if plain_name(name) not in by_name]
    if absent:
        lacks = (
            f"The training set has no column {listed(absent)}, which the features of the rows have."
        )
        raise InvalidUpload("features_unmatched", lacks, "Save the same columns of both.")
    return tuple(by_name[plain_name(name)] for name in own)


def infer_in_file(
    role: str, files: Mapping[str, Contents], chosen: Columns | None, of_rows: Columns | None
) -> Columns | None:
    """Return the array or columns of one role in the file that may hold them; None where there are none.

    Parameters
    ----------
    of_rows : the features of the rows, whose columns those of the training set must match.
    """
    home = home_of(role, files)
    if home is None or chosen == NOTHING:
        return None
    name = chosen or infer_array(home, role, files.get(role))
    if role == "train_features" and of_rows is not None:
        name = training_columns(of_rows, name)
    return name
