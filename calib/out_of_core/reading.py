"""Open a file whose rows are read when they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from calib.data.checks.report import InvalidUpload, Report
from calib.data.formats.base import Allowance, Array, Contents
from calib.data.formats.detect import open_source, sniff
from calib.data.interpret.reading import check_there, infer_label, read_any
from calib.data.interpret.tables import infer_columns
from calib.data.load import check_choices, findings_as_error
from calib.data.options import Choices
from calib.errors import reason
from calib.out_of_core.rows import NpyRows, ParquetRows, Rows

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
    outputs = report.choices.outputs
    columns = (outputs,) if isinstance(outputs, str) else tuple(outputs or ())
    check_there(contents, columns)
    return columns


def _table(path: Path, file: BinaryIO, allowance: Allowance) -> Contents:
    from calib.data.formats.parquet import open_parquet

    return open_parquet(path.name, file, allowance, False)


def _opened(path: Path, stack: ExitStack) -> BinaryIO:
    try:
        return stack.enter_context(path.open("rb"))
    except OSError as error:
        raise InvalidUpload("missing", f"{path.name} cannot be opened ({reason(error)}).", "Check the path.") from error
