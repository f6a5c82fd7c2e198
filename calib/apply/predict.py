"""Calibrated probabilities for a file of any size, in blocks of rows, or for a folder of Parquet parts."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calib.apply.rows import Progress, Rows, no_progress
from calib.base import Calibrator
from calib.canonical import Kind, check_values
from calib.data import Choices
from calib.data.checks.report import Report
from calib.data.load import check_choices, findings_as_error
from calib.data.scales import to_plain
from calib.errors import CalibrationError, DataError
from calib.export.runtime import ExportedCalibrator
from calib.export.seen import AmbiguousOutputs
from calib.numerics import Floats

ENDINGS = (".npy", ".parquet")
"""Files that can be written in blocks of rows."""

DTYPES = ("float64", "float32")
"""Of what is written; float32 is right to 6e-8 of a probability and takes half the room."""

Write = Callable[[Floats], Any]


def predict_file(
    calibrator: Calibrator | ExportedCalibrator,
    source: str | Path,
    target: str | Path,
    *,
    kind: Kind | None = None,
    dtype: str = "float64",
    choices: Choices | None = None,
    client: Any = None,
    progress: Progress = no_progress,
) -> int:
    """Write the calibrated probabilities of a file of outputs; returns how many rows these are.

    One block of rows is in memory at a time. The result appears under its name when it is complete.

    Parameters
    ----------
    calibrator : a fitted calibrator, or one that was loaded with :func:`calib.runtime.load`.
    source : a model's outputs as it writes them: .npy, Parquet, or a folder of Parquet files. Labels beside them are
        left alone, and columns that are called as the classes are taken by name.
    target : .npy or .parquet; of a folder the folder of the results, one file for each part, under its name.
    kind : what the outputs are. Of a calibrator that was just fitted these are logits unless said otherwise; for a
        loaded one it is only needed where it asks, see :func:`calib.export.seen.check_alike`.
    dtype : of the result, "float64" or "float32".
    choices : how the file is read, as for :func:`calib.load`.
    client : a ``distributed.Client``, on whose workers the parts of a folder are predicted. They must see both folders.
    progress : ``progress("calibrated", rows done, rows in all)``.

    Raises
    ------
    CalibrationError
        For outputs that the calibrator does not know, values that cannot be (with the number of the row, from 1), or a
        disk without room. Parts that were completed before stay.
    DataError
        If the file cannot be read.
    """
    source, target = Path(source), Path(target)
    if isinstance(calibrator, Calibrator):
        calibrator = ExportedCalibrator(calibrator, kind or "logits")
    calibrator.check_kind(kind)
    if dtype not in DTYPES:
        raise CalibrationError(f"dtype is one of {', '.join(DTYPES)}; got {dtype!r}.")
    report = Report(choices or Choices())
    with findings_as_error(report):
        check_choices(report.choices)
        rows = Rows.from_path(source, report)
        if source.is_dir():
            options = {"kind": kind, "dtype": dtype, "choices": replace(report.choices, outputs=rows.columns)}
            return _predict_parts(calibrator, rows, target, options, client, progress)
        return _predict_rows(calibrator, rows, target, kind, dtype, progress)


def _predict_parts(
    exported: ExportedCalibrator,
    rows: Rows,
    target: Path,
    options: dict[str, Any],
    client: Any,
    progress: Progress,
) -> int:
    if target.resolve() == rows.parts[0].parent.resolve():
        raise CalibrationError("The results need a folder of their own, or they would overwrite the outputs.")
    target.mkdir(exist_ok=True)
    if client is None:
        counts: Any = (_predict_part(exported, part, target, options) for part in rows.parts)
    else:
        futures = [client.submit(_predict_part, exported, part, target, options, pure=False) for part in rows.parts]
        counts = (future.result() for future in futures)
    done = 0
    for count in counts:
        done += count
        progress("calibrated", done, rows.n_rows)
    return done


def _predict_part(exported: ExportedCalibrator, part: Path, target: Path, options: dict[str, Any]) -> int:
    try:
        return predict_file(exported, part, target / part.name, **options)
    except DataError as error:  # its findings do not travel between processes
        raise CalibrationError(str(error)) from None


def _predict_rows(
    exported: ExportedCalibrator, rows: Rows, target: Path, kind: Kind | None, dtype: str, progress: Progress
) -> int:
    # Of pairs, only the confidence that an answer is correct.
    first, names = (1, ("confidence",)) if exported.kind == "pairs" else (0, exported.class_names)
    done = 0
    with probabilities_file(target, rows.n_rows, names, dtype) as write:
        for block in rows.outputs():
            outputs = exported.in_class_order(block, rows.columns)
            write(_calibrated(exported, outputs, kind, done, rows)[:, first:])
            kind = exported.kind  # the first block has shown what the outputs are
            done += len(block)
            progress("calibrated", done, rows.n_rows)
    return done


def _calibrated(exported: ExportedCalibrator, outputs: Floats, kind: Kind | None, start: int, rows: Rows) -> Floats:
    """The probabilities of a block; an error about values names the first row of the file that cannot be used."""
    try:
        return exported.calibrate(outputs, kind)
    except AmbiguousOutputs:
        raise
    except CalibrationError as error:
        bad = next((row for row in range(len(outputs)) if not _usable(exported, outputs[row : row + 1])), None)
        if bad is None:
            raise
        first, last = start + 1, start + len(outputs)
        raise CalibrationError(
            f"{rows.name}, rows {first:,} to {last:,} of {rows.n_rows:,}: {error} Row {first + bad:,} is the first."
        ) from None


def _usable(exported: ExportedCalibrator, row: Floats) -> bool:
    try:
        check_values(to_plain(row, exported.scale), exported.kind)
    except CalibrationError:
        return False
    return True


@contextmanager
def probabilities_file(path: Path, n: int, class_names: tuple[str, ...], dtype: str) -> Iterator[Write]:
    """A function that writes the next rows of (n, n_classes) probabilities; a single column is (n,) in a .npy file.

    They lie in ``.NAME.part`` until all are written, so that ``path`` is whole or not there.
    """
    if path.suffix.lower() not in ENDINGS:
        raise CalibrationError(f"{path.name}: in blocks of rows only {' and '.join(ENDINGS)} are written.")
    needed, free = n * len(class_names) * np.dtype(dtype).itemsize, shutil.disk_usage(path.parent).free
    if needed > free:
        raise CalibrationError(
            f"{path.name} will take {needed / 1e6:,.0f} MB, but {free / 1e6:,.0f} MB are free where it is written; "
            "choose a larger disk."
        )
    unfinished = path.with_name(f".{path.name}.part")
    writer = _write_parquet if path.suffix.lower() == ".parquet" else _write_npy
    try:
        with unfinished.open("wb") as file, writer(file, n, class_names, np.dtype(dtype)) as write:
            yield write
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _write_npy(file: BinaryIO, n: int, class_names: tuple[str, ...], dtype: np.dtype[Any]) -> Iterator[Write]:
    shape = (n, len(class_names)) if len(class_names) > 1 else (n,)
    npy_format.write_array_header_1_0(file, {"descr": dtype.str, "fortran_order": False, "shape": shape})
    yield lambda probs: file.write(np.ascontiguousarray(probs, dtype).data)


@contextmanager
def _write_parquet(file: BinaryIO, n: int, class_names: tuple[str, ...], dtype: np.dtype[Any]) -> Iterator[Write]:
    """A column for each class and a row group for each block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = class_names if len(set(class_names)) == len(class_names) else [f"p_{k}" for k in range(len(class_names))]
    schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in names])
    # Dictionaries of probabilities would be as long as the column.
    with pq.ParquetWriter(file, schema, use_dictionary=False, write_statistics=False) as writer:
        yield lambda probs: writer.write_table(pa.table([*np.ascontiguousarray(probs.T, dtype)], schema=schema))
