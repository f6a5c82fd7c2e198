"""Features and the training set from files of their own, beside the file with the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from calib.data.checks.report import Rejected, Report
from calib.data.formats.base import Contents
from calib.data.formats.detect import Source, open_source
from calib.data.interpret.features import leave_out
from calib.data.interpret.guess_features import guess_features, guess_training_labels, guess_training_part
from calib.data.interpret.reading import Upload, check_there, read_aside, read_rows
from calib.data.limits import Allowance
from calib.data.options import NOTHING, Choices

HOMES = {
    "features": ("features",),
    "train_features": ("train_features", "features"),
    "train_labels": ("train_labels", "train_features", "features"),
}
"""The files that may hold each array, the one that is meant for it first."""

Files = Mapping[str, Contents]


def open_files(given: Mapping[str, Source | None], allowance: Allowance, report: Report, stack: ExitStack) -> Files:
    """Open the files with features by role; one that cannot be opened is left out and the upload goes on."""
    files: dict[str, Contents] = {}
    for role, source in given.items():
        if source is None:
            continue
        try:
            files[role] = open_source(source, allowance, report, stack)
        except Rejected as rejected:
            leave_out(rejected, role, report)
    return files


def set_aside(files: Files, main: Contents, report: Report) -> Choices:
    """Keep the file with the outputs from answering for what other files hold; returns the choices as made.

    It answers where an array of its own was chosen, and where nothing was chosen and no file was given for the role.
    """
    made = report.choices
    for role, homes in HOMES.items():
        chosen = getattr(made, role)
        if chosen:
            answers = in_file(main, chosen) and not (role in files and in_file(files[role], chosen))
        else:
            answers = role not in files
        if any(home in files for home in homes) and not answers:
            report.decide(**{role: NOTHING})
    return made


def in_file(contents: Contents, chosen: Any) -> bool:
    """Whether every name in a choice is one of this file."""
    return all(name in contents for name in ([chosen] if isinstance(chosen, str) else chosen))


def read_files(upload: Upload, files: Files, made: Choices, report: Report) -> None:
    """Add what the files hold to the upload.

    Parameters
    ----------
    made : choices by hand; each array that they leave open is guessed.

    Raises
    ------
    Rejected
        If an array was chosen that none of the files holds.
    """
    for role, homes in HOMES.items():
        given = [files[home] for home in homes if home in files]
        chosen = getattr(made, role)
        if not given or chosen == NOTHING or getattr(report.choices, role):
            continue
        try:
            contents, name = find(given, role, chosen, files)
        except Rejected as rejected:
            leave_out(rejected, role, report)
            continue
        if not name:
            continue
        check_there(contents, name)
        report.decide(**{role: name})
        if role == "features":
            read_rows(upload, contents, role, name, report)
        else:
            read_aside(upload.train, contents, role, name, report)


def find(given: list[Contents], role: str, chosen: Any, files: Files) -> tuple[Contents, Any]:
    """The file and the name of an array that was chosen or is guessed; the name is None where there is none."""
    if chosen:
        return next((contents for contents in given if in_file(contents, chosen)), given[0]), chosen
    guesses = ((contents, guess(contents, role, files)) for contents in given)
    return next(((contents, name) for contents, name in guesses if name), (given[0], None))


def guess(contents: Contents, role: str, files: Files) -> Any:
    """The array or the columns that a role is most likely to mean in one file; None if it is not there."""
    if contents is files.get(role):
        return guess_training_labels(contents) if role == "train_labels" else guess_features(contents, role)
    return guess_training_part(contents, role, beside=contents is files.get("train_features"))
