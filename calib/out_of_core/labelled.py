"""Outputs on disk with their labels, interpreted as uploads are: kind, classes, agreement, findings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calib.data.checks.agreement import check_agreement
from calib.data.checks.outputs import check_classes, check_row_count
from calib.data.checks.report import InvalidUpload, Report
from calib.data.interpret.families import class_names as classes_of
from calib.data.interpret.kinds import ROUNDING, decide_kind, refuse_single_column
from calib.data.interpret.labels import decode_labels
from calib.data.interpret.pipeline import name_classes
from calib.data.interpret.reading import Upload, check_rows
from calib.data.interpret.scale import decide_scale
from calib.data.load import check_choices, findings_as_error
from calib.data.options import Choices
from calib.data.predictions import Predictions
from calib.data.scales import Scale, to_plain
from calib.errors import Finding
from calib.numerics import Floats, Ints
from calib.out_of_core.reading import read_labels, rows_of
from calib.out_of_core.rows import ParquetRows, Progress, Rows, no_progress, on_plain_scale
from calib.out_of_core.survey import StoredPredictions, stored, survey

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
