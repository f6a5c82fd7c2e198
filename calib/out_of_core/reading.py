"""Open files whose rows are read when they are needed; with labels they are interpreted as uploads are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from calib.data.checks.agreement import check_agreement
from calib.data.checks.outputs import check_classes, check_row_count
from calib.data.checks.report import InvalidUpload, Report
from calib.data.formats.base import Allowance, Array, Contents
from calib.data.formats.detect import open_source, sniff
from calib.data.interpret.families import class_names as classes_of
from calib.data.interpret.kinds import ROUNDING, decide_kind, refuse_single_column
from calib.data.interpret.label_values import decode_labels
from calib.data.interpret.pipeline import name_classes
from calib.data.interpret.reading import Upload, check_rows, check_there, infer_label, read_any
from calib.data.interpret.scale import decide_scale
from calib.data.interpret.tables import infer_columns
from calib.data.load import check_choices, findings_as_error
from calib.data.options import Choices
from calib.data.predictions import Predictions
from calib.data.scales import Scale, to_plain
from calib.errors import Finding, reason
from calib.numerics import Floats, Ints
from calib.out_of_core.rows import NpyRows, ParquetRows, Progress, Rows, no_progress, on_plain_scale
from calib.out_of_core.survey import StoredPredictions, stored, survey

STREAMED = ("npy", "parquet")
"""Formats whose rows can be read one after the other."""


@contextmanager
def open_rows(path: Path, choices: Choices | None = None) -> Iterator[Rows]:
    """A model's outputs in a .npy or Parquet file of any size; labels may be there and are left alone.

    Raises
    ------
    DataError
        If the file is of another format, damaged, or holds no outputs; also while its rows are read.
    """
    report = Report(choices or Choices())
    with findings_as_error(report), ExitStack() as stack:
        check_choices(report.choices)
        yield rows_of(path, report, stack, separate_labels=True)


def can_read_rows(path: Path) -> bool:
    """Whether the rows of a file can be read one after the other; False too where there is no such file."""
    try:
        with path.open("rb") as file:
            return sniff(path.name, file) in STREAMED
    except (OSError, InvalidUpload):
        return False


def rows_of(path: Path, report: Report, stack: ExitStack, separate_labels: bool) -> Rows:
    """The rows of an open file; the roles of a table's columns are inferred as for files read at once."""
    file = _opened(path, stack)
    format = sniff(path.name, file)
    file.seek(0)
    if format == "npy":
        return NpyRows(path, file, path.stat().st_size)
    if format == "parquet":
        return ParquetRows(path, file, _columns(path, file, report, separate_labels))
    raise InvalidUpload(
        "not_streamed",
        f"{path.name} holds {format}, which cannot be read row by row.",
        "Save one .npy array, or a Parquet table.",
    )


def read_labels(path: Path, labels: Path | None, report: Report) -> tuple[Array, str]:
    """The labels as they stand in their own file, or in a column beside the outputs; and what they are called."""
    allowance = Allowance()
    with ExitStack() as stack:
        if labels is not None:
            contents = open_source(labels, allowance, report, stack)
            name = report.choices.labels or infer_label(contents)
            check_there(contents, name)
            return read_any(contents, name), labels.name
        file = _opened(path, stack)
        format = sniff(path.name, file)
        file.seek(0)
        if format != "parquet" or not isinstance(report.choices.labels, str):
            raise InvalidUpload(
                "no_labels", f"{path.name} holds outputs alone.", "Give the file of the labels beside it (--labels)."
            )
        return _table(path, file, allowance).read(report.choices.labels), report.choices.labels


def _columns(path: Path, file: BinaryIO, report: Report, separate_labels: bool) -> tuple[str, ...]:
    contents = _table(path, file, Allowance())
    infer_columns(contents, report, separate_labels)
    return check_there(contents, report.choices.outputs)


def _table(path: Path, file: BinaryIO, allowance: Allowance) -> Contents:
    from calib.data.formats.parquet import open_parquet

    return open_parquet(path.name, file, allowance, False)


def _opened(path: Path, stack: ExitStack) -> BinaryIO:
    try:
        return stack.enter_context(path.open("rb"))
    except OSError as error:
        raise InvalidUpload("missing", f"{path.name} cannot be opened ({reason(error)}).", "Check the path.") from error


LOOKED_AT = 2_000
"""Rows, from the first to the last, by which it is decided what the outputs are; every row is then held to it."""

_AT_ONCE = ("transposed", "renormalise", "row_shift", "split")
_OF_ROWS = ("clusters", "weights")


@dataclass(frozen=True, eq=False)
class Labelled:
    """A calibration set on disk with what an export should record.

    Attributes
    ----------
    data : the rows.
    class_names : one for each column.
    name : of the data set.
    findings : what was noticed.
    scale : how the file writes the outputs; None for the plain scale.
    """

    data: StoredPredictions
    class_names: tuple[str, ...]
    name: str
    findings: tuple[Finding, ...]
    scale: Scale | None = None

    def predictions(self, rows: Ints) -> Predictions:
        """Some rows, by their increasing numbers, in memory."""
        data = self.data
        return Predictions(
            data.logits.take(rows), data.labels[rows], self.class_names, data.kind, data.floor, name=self.name,
            scale=self.scale,
        )  # fmt: skip


@contextmanager
def open_labelled(
    path: Path, labels: Path | None, choices: Choices, progress: Progress = no_progress
) -> Iterator[Labelled]:
    """Read the labels, and all rows once; see :func:`calib.data.load` for what is found and said.

    Raises
    ------
    DataError
        If the files cannot be used; also later, while rows are read.
    CalibrationError
        For values that cannot be, with the number of the first such row.
    """
    report = Report(choices)
    with findings_as_error(report), ExitStack() as stack:
        check_choices(choices)
        for name in _AT_ONCE:
            if getattr(choices, name):
                raise InvalidUpload(
                    "not_streamed", f"{name} is not done row by row.", f"Save {path.name} that way, or fewer rows."
                )
        for name in _OF_ROWS:
            if getattr(choices, name):
                raise InvalidUpload(
                    "not_streamed",
                    f"{name.capitalize()} are not kept where rows are read in blocks.",
                    f"Leave out {name}, or save fewer rows.",
                )
        outputs = rows_of(path, report, stack, separate_labels=labels is not None)
        yield _understood(outputs, path, labels, report, progress)


def _understood(outputs: Rows, path: Path, labels: Path | None, report: Report, progress: Progress) -> Labelled:
    raw, labels_name = read_labels(path, labels, report)
    check_rows(outputs, len(raw) if raw.ndim else 0, outputs.name, labels_name)  # type: ignore[arg-type]
    n_classes = max(outputs.width, 2)
    sample = _sample(outputs)
    if len(sample):
        refuse_single_column(sample, raw, outputs.name, report)
    columns = classes_of(outputs.columns) if isinstance(outputs, ParquetRows) else None
    scale = decide_scale(sample, outputs.name, report)
    outputs, sample = on_plain_scale(outputs, scale), to_plain(sample, scale)
    decoded = decode_labels(raw, n_classes, columns, labels_name, report)
    bad = decoded.bad
    known = np.where(bad, 0, decoded.labels)
    kind = decide_kind(sample, outputs.name, report) if len(sample) else report.choices.kind or "logits"
    upload = Upload(np.empty((0, outputs.width)), raw, outputs.name, labels_name, column_names=columns)
    names = name_classes(upload, n_classes, report)
    surveyed = survey(outputs, known, kind, progress)
    if kind == "probabilities" and surveyed.off_one > max(ROUNDING, n_classes * float(np.finfo(outputs.dtype).eps)):
        report.warn(
            "sums",
            f"Rows of {outputs.name} miss a sum of one by up to {surveyed.off_one:.3g}; printed decimals or a missing "
            "column usually cause it. They are kept as they are.",
        )
    good = np.flatnonzero(~bad)
    check_agreement(surveyed.predicted[good], known[good], n_classes, report)
    check_row_count(len(good), report)
    check_classes(known[good], names, report)
    data = stored(outputs, known, kind, surveyed, report.choices.floor)
    return Labelled(data.part(good) if bad.any() else data, names, path.stem, report.findings, scale)


def _sample(outputs: Rows) -> Floats:
    """Rows from all of the file, without those that cannot be used, which the survey then names."""
    rows = np.unique(np.linspace(0, len(outputs) - 1, LOOKED_AT).astype(np.int64))
    sample = outputs.take(rows).reshape(len(rows), -1)
    return sample[~(np.isnan(sample) | np.isposinf(sample)).any(axis=1)]
