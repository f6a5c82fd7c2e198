"""Random rows of a file to fit on: each parameter that is fitted to n rows costs about 1/(2n) nats."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calib.apply.rows import Progress, Rows, no_progress
from calib.data import Choices, Predictions, load
from calib.data.checks.report import InvalidUpload, Report
from calib.data.formats.base import Allowance, Array
from calib.data.formats.detect import open_source
from calib.data.interpret.families import class_names
from calib.data.interpret.label_values import decode_labels
from calib.data.interpret.reading import check_rows, check_there, infer_label, read_any
from calib.data.limits import MAX_BYTES
from calib.data.load import check_choices, findings_as_error
from calib.errors import CalibrationError, Finding
from calib.numerics import Floats, Ints

SAMPLED_ROWS = 50_000
"""Rows to fit on where there are very many."""

MANY_ROWS = 200_000
"""The app and the command line fit on a sample of more calibration rows than these, unless all are asked for."""


def sample_rows(
    source: str | Path,
    n_rows: int = SAMPLED_ROWS,
    *,
    labels: Any = None,
    choices: Choices | None = None,
    random_state: int = 0,
    progress: Progress = no_progress,
) -> Predictions:
    """Random rows of a file of any size, with their labels, as :func:`calib.load` reads a file of these rows alone.

    The file is read once, in blocks. What the labels mean is decided by those of all rows.

    Parameters
    ----------
    source : a .npy file, a Parquet table, or a folder of Parquet tables that belong together.
    n_rows : how many rows to draw, without replacement. They are fewer where the file has fewer, and where they would
        take more memory than ``CALIB_DATA_MB``; a finding says how many were drawn.
    labels : their file, or an array of them, unless they are a column of the table.
    choices : how the file is read, as for :func:`calib.load`.
    random_state : seed of the draw.
    progress : ``progress("read", rows done, rows in all)``.

    Raises
    ------
    DataError
        If the file cannot be used: NaN or infinite values in a .npy file, with the number of the first such row, labels
        of no class, or outputs and labels of different lengths.

    Examples
    --------
    >>> import tempfile
    >>> generator = np.random.default_rng(0)
    >>> file, labels = Path(tempfile.mkdtemp()) / "big.npy", generator.integers(0, 3, size=1000)
    >>> np.save(file, generator.normal(size=(1000, 3)))
    >>> data = sample_rows(file, 50, labels=labels)
    >>> data.logits.shape, data.labels.shape
    ((50, 3), (50,))
    """
    if not isinstance(n_rows, (int, np.integer)) or n_rows < 1:
        raise CalibrationError(f"The number of rows to draw must be 1 or more; got {n_rows!r}.")
    report = Report(choices or Choices())
    with findings_as_error(report):
        check_choices(report.choices)
        if report.choices.row_shift or report.choices.transposed:
            raise InvalidUpload(
                "not_in_blocks",
                "row_shift and transposed need all rows at once.",
                "Save the file that way, or fewer rows.",
            )
        rows = Rows.from_path(Path(source), report, separate_labels=labels is not None)
        all_labels = _all_labels(labels, rows, report)
        n_drawn = min(int(n_rows), rows.n_rows, max(1, MAX_BYTES // rows.row_bytes))
        drawn = _draw(rows.n_rows, n_drawn, random_state)
        taken, start = [], 0
        for block in rows.blocks():
            within = drawn[slice(*np.searchsorted(drawn, [start, start + len(block)]))] - start
            if not rows.columns and not report.choices.drop_bad_rows:
                _check_finite(block, start, rows)
            taken.append(block.take(within) if rows.columns else block[within])
            start += len(block)
            progress("read", start, rows.n_rows)
    data = _loaded(rows, taken, None if labels is None else all_labels[drawn], report.choices)
    if n_drawn < rows.n_rows:
        said = f"{n_drawn:,} of the {rows.n_rows:,} rows of {rows.name} were drawn at random (seed {random_state})."
        data = replace(data, findings=(*data.findings, Finding("info", "sampled", said)))
    return replace(data, name=Path(rows.name).stem)


def fewer_rows(data: Predictions, n_rows: int | None = None, random_state: int = 0) -> tuple[Predictions, str]:
    """Random calibration rows to fit on, and a sentence that says so; all rows and "" where none are left out.

    Parameters
    ----------
    n_rows : how many rows at most; None takes 50,000 of more than 200,000 rows, and all of fewer.
    random_state : seed of the draw.
    """
    many = len(data) > MANY_ROWS
    n_drawn = n_rows if n_rows is not None else SAMPLED_ROWS if many else len(data)
    if n_drawn >= len(data):
        return data, ""
    said = f"{n_drawn:,} of the {len(data):,} calibration rows were drawn at random (seed {random_state}) to fit on."
    return data.take(_draw(len(data), n_drawn, random_state)), said


def _draw(n_rows: int, n_drawn: int, random_state: int) -> Ints:
    """Increasing numbers of different rows."""
    return np.sort(np.random.default_rng(random_state).choice(n_rows, n_drawn, replace=False, shuffle=False))


def _all_labels(labels: Any, rows: Rows, report: Report) -> Any:
    """The labels of all rows as they stand, with their meaning decided in the report: a sample may miss a class.

    None where a table has a column for each class, which needs no decision.
    """
    column = report.choices.labels
    with ExitStack() as stack:
        if labels is None and not rows.columns:
            raise InvalidUpload("no_labels", f"{rows.name} holds outputs alone.", "Give the file of the labels.")
        if labels is None:
            import pyarrow as pa

            if not isinstance(column, str):
                return None
            labels = pa.concat_tables(rows.blocks((column,)), promote_options="permissive")
        source = {"labels": labels} if isinstance(labels, np.ndarray) else labels
        contents = open_source(source, Allowance(), report, stack)
        column = column or infer_label(contents)
        check_there(contents, column)
        read = read_any(contents, column)
    what = contents.name if isinstance(labels, (str, Path)) else f"The labels of {rows.name}"
    check_rows(range(rows.n_rows), len(read) if read.ndim else 0, rows.name, what)  # type: ignore[arg-type]
    if report.choices.kind != "pairs":
        names = class_names(rows.columns) if rows.columns else None
        decode_labels(read, max(rows.n_outputs, 2), names, what, report, may_miss=True)
    return read


def _loaded(rows: Rows, taken: list[Any], labels: Array | None, choices: Choices) -> Predictions:
    """The drawn rows as a data set; ``labels`` are theirs, where they do not lie in the table."""
    if not rows.columns:
        arrays = {"outputs": np.concatenate(taken), "labels": labels}
        return load(arrays, choices=replace(choices, outputs="outputs", labels="labels"))
    import pyarrow as pa

    table = pa.concat_tables(taken, promote_options="permissive")
    if labels is None:
        return load(table, choices=choices)
    return load(table, labels={"labels": labels}, choices=replace(choices, labels="labels"))


def _check_finite(block: Floats, start: int, rows: Rows) -> None:
    """Refuse NaN and infinity; minus infinity may be the logarithm of a zero, which loading decides."""
    if block.dtype.kind != "f" or not block.size or block.max() < np.inf:  # the last is also false of NaN
        return
    row = start + int(np.argmin((block.reshape(len(block), -1) < np.inf).all(axis=1))) + 1
    raise InvalidUpload(
        "not_finite",
        f"Row {row:,} of {rows.n_rows:,} of {rows.name} is the first with NaN or infinite values; overflow in float16 "
        "usually causes it.",
        "Leave these rows out.",
        drop_bad_rows=True,
    )
