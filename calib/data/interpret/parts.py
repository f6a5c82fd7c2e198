"""Uploads in several parts: test rows under names of their own or in a second file, and files with features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, Report, count, listed
from calib.data.interpret.array_roles import infer_features, infer_training_labels, infer_training_part
from calib.data.interpret.join import same_columns
from calib.data.interpret.names import PARTS, canonical
from calib.data.interpret.reading import Upload, check_there, read_aside, read_part, read_rows, read_upload
from calib.data.interpret.roles import ROW_ROLES
from calib.data.options import NOTHING, Choices, Source, names_in
from calib.data.read.base import Array, Contents


def add_named_part(first: Upload, contents: Contents, report: Report) -> Upload:
    """Join the test part that lies in the same file under its own names."""
    choices = report.choices
    if not choices.test_labels:
        raise InvalidUpload(
            "no_labels",
            f"{choices.test_outputs} of {contents.name} was chosen as the outputs of the test part, without labels.",
            "Choose the labels of the test part too.",
        )
    check_there(contents, choices.test_outputs)
    check_there(contents, choices.test_labels)
    second = read_part(contents, None, choices.test_outputs, choices.test_labels, report)
    for role in (*ROW_ROLES, "features"):
        read_rows(second, contents, role, counterpart(contents, getattr(choices, role)), report)
    return join(first, second, report)


def read_given_parts(
    first: Contents,
    first_labels: Contents | None,
    second: Contents,
    second_labels: Contents | None,
    report: Report,
) -> Upload:
    """Two files: calibration, then test; the roles in the second are inferred anew, since its names may differ."""
    # Parts that the first file may bring itself are overruled by giving two files.
    test_outputs, test_labels = report.choices.test_outputs, report.choices.test_labels
    calibration = read_upload(first, first_labels, report)
    chosen = report.choices
    other = Report(
        Choices(
            outputs=test_outputs,
            labels=test_labels,
            transposed=chosen.transposed,
            split="",
            **{role: same_name(second, getattr(chosen, role)) for role in (*ROW_ROLES, "features")},
        )
    )
    test = read_upload(second, second_labels, other)
    for finding in other.findings:
        report.add(finding)
    report.decide(test_outputs=other.choices.outputs, test_labels=other.choices.labels)
    outputs_name, labels_name = calibration.outputs_name, calibration.labels_name
    name_files(calibration, first)
    name_files(test, second)
    return replace(join(calibration, test, report), outputs_name=outputs_name, labels_name=labels_name)


def name_files(upload: Upload, contents: Contents) -> None:
    """Call arrays by their file too, since both parts may use the same names."""
    if upload.outputs_name != contents.name:
        upload.outputs_name += f" of {contents.name}"
    if upload.labels_name in contents:
        upload.labels_name += f" of {contents.name}"


def same_name(contents: Contents, name: Any) -> Any:
    """A choice made for the first file, where the second holds the same name; else None, to be inferred."""
    return name if in_file(contents, name) else None


def counterpart(contents: Contents, name: Any) -> str | None:
    """The array of the test part that goes by the same name as one of the calibration part."""
    if not isinstance(name, str) or not name:
        return None
    base = canonical(name).base
    return next((n for n in contents.names if canonical(n) == ("test", base)), None)


def join(first: Upload, second: Upload, report: Report) -> Upload:
    """Calibration rows, then test rows, with the split marked."""
    a, b = first.outputs.shape[1], second.outputs.shape[1]
    if a != b:
        raise InvalidUpload(
            "columns_differ",
            f"{first.outputs_name} has {a:,} columns but {second.outputs_name} has {b:,}.",
            "Use outputs of one model on both parts.",
        )
    rows: dict[str, Array] = {"split": np.arange(len(first.outputs) + len(second.outputs)) < len(first.outputs)}
    for role in (*ROW_ROLES, "features"):
        if role in first.rows and role in second.rows and first.rows[role].shape[1:] == second.rows[role].shape[1:]:
            rows[role] = np.concatenate([first.rows[role], second.rows[role]])
        elif role in first.rows or role in second.rows:
            reason = f"Only one part has {role}, so they were left out."
            finding = ("one_part_only", reason, f"Save {role} for both parts.")
            if role == "features":
                report.leave_out(role, *finding)
            else:
                report.warn(*finding)
    labels = [flat(first.labels), flat(second.labels)]
    texts = [array.dtype.kind in "US" for array in labels]
    if labels[0].shape[1:] != labels[1].shape[1:] or texts[0] != texts[1]:
        raise InvalidUpload(
            "labels_differ",
            f"{first.labels_name} holds {labels[0].dtype} of shape {labels[0].shape}, but "
            f"{second.labels_name} holds {labels[1].dtype} of shape {labels[1].shape}.",
            "Save both in the same way.",
        )
    outputs = np.concatenate([first.outputs, second.outputs])
    first.outputs = second.outputs = outputs[:0]  # let the parts go before anything else is built
    return replace(first, outputs=outputs, labels=np.concatenate(labels), rows=rows)


def flat(labels: Array) -> Array:
    """Labels of shape (n, 1) as (n,)."""
    return labels.reshape(-1) if labels.ndim > 1 and labels.size == len(labels) else labels


def calibration_rows(split: Array, report: Report) -> npt.NDArray[np.bool_] | None:
    """Which rows are for calibration, from booleans, 0 and 1, or words such as val and test.

    Returns None, with a warning, where the values do not say so.
    """
    values, positions = np.unique(split, return_inverse=True)
    if split.ndim == 1 and len(values) == 2:
        if split.dtype.kind in "bf" or (split.dtype.kind in "iu" and values.tolist() == [0, 1]):
            return np.asarray(split == values[1])
        parts = [PARTS.get(str(value).strip().lower()) for value in values.tolist()]
        if "test" in parts and parts[0] != parts[1] and None not in parts:
            return np.asarray([part != "test" for part in parts])[positions.reshape(-1)]
    name = report.choices.split or "The split"
    report.warn(
        "split_unclear",
        f"{name} holds {count(len(values), 'value')} ({listed(values.tolist())}), which do not say which rows are "
        "for calibration; it was left out.",
        'Save "calibration" and "test", or true for calibration rows.',
    )
    return None


HOMES = {
    "features": ("features",),
    "train_features": ("train_features", "features"),
    "train_labels": ("train_labels", "train_features", "features"),
}
"""The files that may hold each array, the one that is meant for it first."""


@dataclass
class FeatureFiles:
    """Files given for features or for the training set, beside the file with the outputs.

    Attributes
    ----------
    files : the files that could be opened, by the role they were given for.
    chosen : what was chosen by hand; every other array is inferred.
    """

    files: dict[str, Contents]
    chosen: Choices

    @classmethod
    def from_sources(cls, given: Mapping[str, Source], open_file: Callable[[Source], Contents], report: Report) -> Self:
        """Open the files; one that cannot be opened is left out and the upload goes on."""
        files = {}
        for role, source in given.items():
            try:
                files[role] = open_file(source)
            except InvalidUpload as invalid:
                report.leave_out_as(role, invalid)
        return cls(files, report.choices)

    def claim_roles(self, main: Contents, report: Report) -> None:
        """Keep the file with the outputs from answering for what these files hold.

        It answers where an array of its own was chosen, and where nothing was chosen and no file was given for the
        role.
        """
        for role, homes in HOMES.items():
            chosen = getattr(self.chosen, role)
            if chosen:
                answers = in_file(main, chosen) and not (role in self.files and in_file(self.files[role], chosen))
            else:
                answers = role not in self.files
            if any(home in self.files for home in homes) and not answers:
                report.decide(**{role: NOTHING})

    def read_into(self, upload: Upload, report: Report) -> None:
        """Add what the files hold to the upload.

        Raises
        ------
        InvalidUpload
            If an array was chosen that none of the files holds.
        """
        for role, homes in HOMES.items():
            given = [self.files[home] for home in homes if home in self.files]
            chosen = getattr(self.chosen, role)
            if not given or chosen == NOTHING or getattr(report.choices, role):
                continue
            try:
                contents, name = self._find(given, role, chosen)
            except InvalidUpload as invalid:
                report.leave_out_as(role, invalid)
                continue
            if not name:
                continue
            check_there(contents, name)
            if role == "train_features" and self.chosen.train_features is None:
                name = self._matched(upload, name, report)
            report.decide(**{role: name})
            if role == "features":
                read_rows(upload, contents, role, name, report)
            else:
                read_aside(upload.train, contents, role, name, report)

    def _find(self, given: list[Contents], role: str, chosen: Any) -> tuple[Contents, Any]:
        """The file and the name of an array, chosen or inferred; the name is None where there is none."""
        if chosen:
            return next((contents for contents in given if in_file(contents, chosen)), given[0]), chosen
        inferred = ((contents, self._infer(contents, role)) for contents in given)
        return next(((contents, name) for contents, name in inferred if name), (given[0], None))

    def _matched(self, upload: Upload, training: Any, report: Report) -> Any:
        """The training set's columns in the order of the features; features that it lacks are left out of the rows."""
        own, rows = report.choices.features, upload.rows.get("features")
        if not (isinstance(own, tuple) and isinstance(training, tuple) and rows is not None):
            return training
        kept, names = same_columns(own, training, report)
        if len(kept) < len(own):
            upload.rows["features"] = rows[:, kept]
            report.decide(features=tuple(own[j] for j in kept))
        return names

    def _infer(self, contents: Contents, role: str) -> Any:
        """The array or the columns that a role most likely means in one file; None if it is not there."""
        if contents is self.files.get(role):
            return infer_training_labels(contents) if role == "train_labels" else infer_features(contents, role)
        return infer_training_part(contents, role, beside=contents is self.files.get("train_features"))


def in_file(contents: Contents, chosen: Any) -> bool:
    """Whether every name in a choice is one of this file."""
    return all(name in contents for name in names_in(chosen))
