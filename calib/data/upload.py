"""From the files of one upload to Predictions: read, guess, build, one after the other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from calib.data.build.join import joined
from calib.data.build.part import (
    Part,
    check_names,
    check_there,
    concatenated,
    named_by_file,
    read_part,
    read_rows,
    read_training,
)
from calib.data.findings import Findings, InvalidUpload
from calib.data.guess.files import SOURCE
from calib.data.guess.roles import (
    Roles,
    guess_roles,
    home_of,
    infer_in_file,
    left_to_files,
    roles_in_test_file,
    roles_of_test_part,
)
from calib.data.options import FEATURE_FILES, FILES, INFERRED, Choices, LoadOptions
from calib.data.read.base import Contents
from calib.data.read.files import open_source
from calib.data.read.table import Table
from calib.data.read.top_k import CONFIDENCE, CORRECT, read_as_pairs

Files = dict[str, Contents]


def open_files(
    first: Contents, options: LoadOptions, stack: ExitStack
) -> tuple[Files, Choices, Findings]:
    """Open the other files of an upload; features that cannot be opened are left out.

    Parameters
    ----------
    stack : closes what is opened here.
    """
    files: Files = {SOURCE: first}
    findings: Findings = tuple(first.findings)
    for role in FILES:
        file = options.files[role]
        if file is None:
            continue
        try:
            files[role] = open_source(file, options.choices, stack)
        except InvalidUpload as invalid:
            if role not in FEATURE_FILES:
                raise
            findings += (invalid.left_out(role),)
        else:
            findings += tuple(files[role].findings)
    choices = options.choices
    if first.format_choices:
        choices = replace(choices, **first.format_choices)
    return files, choices, findings


def align_files(files: Files, choices: Choices) -> tuple[Files, Choices, Findings]:
    """Join tables by their ids, and read the top k of very many classes as pairs."""
    files = dict(files)
    ids = choices.ids
    findings: Findings = ()
    parts = [(SOURCE, "labels", choices)]
    if "test" in files:
        of_test = replace(choices, outputs=choices.test_outputs, labels=choices.test_labels)
        parts.append(("test", "test_labels", of_test))
    for role, of_labels, of_part in parts:
        pairs, options, more = read_as_pairs(files[role], files.get(of_labels), of_part)
        findings += more
        if pairs is not files[role]:
            files[role] = pairs
            files.pop(of_labels, None)
            if role == SOURCE:
                choices = replace(choices, **options)
            else:
                choices = replace(choices, test_outputs=CONFIDENCE, test_labels=CORRECT)
        if of_labels in files:
            both = joined(files[role], files[of_labels], ids)
            findings += both.findings
            files |= {role: both.first, of_labels: both.second}
            choices = choices if both.ids is None else replace(choices, ids=both.ids)
    if "features" in files and "test" not in files:
        try:
            files, choices, more = join_features(files, choices, ids)
        except InvalidUpload as invalid:
            more = (invalid.left_out("features"),)
            del files["features"]
        findings += more
    return files, choices, findings


def join_features(
    files: Files, choices: Choices, ids: str | None
) -> tuple[Files, Choices, Findings]:
    """Keep the rows of outputs and labels that have features, where these are joined by ids."""
    first, labels = files[SOURCE], files.get("labels")
    both = joined(first, files["features"], ids)
    files = {**files, SOURCE: both.first, "features": both.second}
    in_line = isinstance(labels, Table) and labels.n_rows == first.arrays[0].shape[0]
    if both.rows is not None and isinstance(labels, Table) and in_line:
        files["labels"] = labels.taken(both.rows)
    choices = choices if both.ids is None else replace(choices, ids=both.ids)
    return files, choices, both.findings


def guess_files(files: Files, choices: Choices) -> tuple[Choices, Roles, Findings]:
    """Guess the roles in the file with the outputs; those that have files of their own are left to these."""
    beside = {role: files[role] for role in FEATURE_FILES if role in files}
    if beside:
        left: dict[str, Any] = left_to_files(beside, choices)
        choices = replace(choices, **left)
    return guess_file(files[SOURCE], files.get("labels"), choices)


def guess_file(
    contents: Contents, labels: Contents | None, choices: Choices
) -> tuple[Choices, Roles, Findings]:
    """Guess the roles of one file; names that were chosen must be there, and none for two roles."""
    if choices == INFERRED:
        return guess_roles(contents, labels, choices)
    check_names(contents, choices, labels)
    guessed = guess_roles(contents, labels, choices)
    check_names(
        contents, guessed[0], labels
    )  # a chosen array may also be inferred for another role
    return guessed


def read_arrays(
    files: Files, choices: Choices, chosen: Choices, roles: Roles
) -> tuple[Part, Choices, Findings]:
    """Read all arrays that are used, calibration rows first.

    Parameters
    ----------
    chosen : before anything was inferred.
    """
    first = files[SOURCE]
    part, findings = read_part(first, files.get("labels"), choices, roles)
    if "test" in files:
        test = files["test"]
        of_test = roles_in_test_file(test, choices, chosen)
        of_test, its_roles, of_guess = guess_file(test, files.get("test_labels"), of_test)
        second, more = read_part(test, files.get("test_labels"), of_test, its_roles)
        columns = choices.features, of_test.features
        if isinstance(columns[0], tuple) and columns[0] != columns[1]:
            second.rows.pop("features", None)
        names = part.outputs_name, part.labels_name
        part, last = concatenated(
            named_by_file(part, first), named_by_file(second, test), choices, of_test.outputs
        )
        part = replace(part, outputs_name=names[0], labels_name=names[1])
        choices = replace(choices, test_outputs=of_test.outputs, test_labels=of_test.labels)
        findings += of_guess + more + last
    elif choices.test_outputs:
        of_test = roles_of_test_part(first, choices)
        check_names(first, of_test, None)
        second, more = read_part(first, None, of_test)
        part, last = concatenated(part, second, choices, of_test.outputs)
        findings += more + last
    if any(role in files for role in FEATURE_FILES):
        part, choices, more = with_features(part, files, choices, chosen)
        findings += more
    return part, choices, findings


def with_features(
    part: Part, files: Files, choices: Choices, chosen: Choices
) -> tuple[Part, Choices, Findings]:
    """Add the arrays of the files for features and for the training set; what cannot be used is left out."""
    beside = {role: files[role] for role in FEATURE_FILES if role in files}
    rows, train = dict(part.rows), dict(part.train)
    findings: Findings = ()
    for role in FEATURE_FILES:
        if getattr(choices, role):
            continue
        of_rows = choices.features if "features" in rows else None
        try:
            name = infer_in_file(role, beside, getattr(chosen, role), of_rows or None)
        except InvalidUpload as invalid:
            findings += (invalid.left_out(role),)
            continue
        home = home_of(role, beside)
        if not name or home is None:
            continue
        check_there(home, name)
        inferred: dict[str, Any] = {role: name}
        choices = replace(choices, **inferred)
        if role == "features":
            more_rows, more = read_rows(home, len(part.outputs), {role: name})
            rows |= more_rows
        else:
            more_train, more = read_training(home, {role: name})
            train |= more_train
        findings += more
    return replace(part, rows=rows, train=train), choices, findings
