"""Calibrated probabilities of all rows of a file, which is read and written in blocks of rows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calib.apply.parts import ENDINGS, Part, Progress, as_path, no_progress, parts_of
from calib.base import Calibrator
from calib.canonical import Kind
from calib.data import Choices
from calib.data.findings import InvalidUpload, Notes
from calib.data.load import check_choices, findings_as_error
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.numerics import Floats

DTYPES = ("float64", "float32")
"""Of what is written; float32 is right to 6e-8 of a probability and takes half the room."""

Write = Callable[[Floats], Any]
"""``write(probs)`` adds (n, n_classes) probabilities to a file."""


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
        For outputs that the calibrator does not know, values that cannot be (with the rows of their block, and the
        number of the first row with NaN or infinity, from 1), a target that cannot be written, or a disk without room.
        Parts that were completed before stay.
    DataError
        If the file cannot be read, or has no rows.
    """
    source, target = as_path(source, "source"), as_path(target, "target")
    if isinstance(calibrator, Calibrator):
        calibrator = ExportedCalibrator(calibrator, kind or "logits")
    if not isinstance(calibrator, ExportedCalibrator):
        raise CalibrationError(
            f"A fitted calibrator is needed; got {type(calibrator).__name__}. A saved one is loaded first: "
            "calib.runtime.load(path)."
        )
    calibrator.check_kind(kind)
    if dtype not in DTYPES:
        raise CalibrationError(f"dtype is one of {', '.join(DTYPES)}; got {dtype!r}.")
    notes = Notes(choices or Choices())
    with findings_as_error(notes):
        check_choices(notes.choices)
        parts = parts_of(source, notes)
        targets = [target / part.path.name for part in parts] if source.is_dir() else [target]
        _check_target(source, target)
        if source.is_dir():
            target.mkdir(exist_ok=True)
        jobs = [(calibrator, part, to, kind, dtype) for part, to in zip(parts, targets, strict=True)]
        done, total = 0, sum(part.n_rows for part in parts)

        def count(n_rows: int) -> None:
            nonlocal done
            done += n_rows
            progress("calibrated", done, total)

        if client is None:
            for job in jobs:
                _predict_part(*job, count)
        else:
            for future in [client.submit(_on_a_worker, *job, pure=False) for job in jobs]:
                count(future.result())
    return total


def _check_target(source: Path, target: Path) -> None:
    """Refuse to write over the source, into a folder that is not there, or a file in the place of a folder."""
    own = "folder" if source.is_dir() else "file"
    if target.resolve() == source.resolve():
        raise CalibrationError(f"The results need a {own} of their own, or they would overwrite the outputs.")
    if target.exists() and target.is_dir() != source.is_dir():
        there = "folder" if target.is_dir() else "file"
        raise CalibrationError(
            f"{target.name} is a {there}, but the results of a {own} are a {own}; give them another name."
        )
    if not target.parent.is_dir():
        raise CalibrationError(
            f"The folder {target.parent.name}, where {target.name} is to be written, does not exist; make it first, or "
            "choose another."
        )


def _predict_part(
    exported: ExportedCalibrator,
    part: Part,
    target: Path,
    kind: Kind | None,
    dtype: str,
    count: Callable[[int], None],
) -> None:
    """Predict the rows of a file; ``count`` is told how many rows each block has."""
    # Of pairs, only the confidence that an answer is correct.
    first, names = (1, ("confidence",)) if exported.kind == "pairs" else (0, exported.class_names)
    done = 0
    with probabilities_file(target, part.n_rows, names, dtype) as write:
        for block in part.outputs():
            try:
                write(exported.calibrate(exported.in_class_order(block, part.columns), kind)[:, first:])
            except CalibrationError as error:
                rows = f"{part.path.name}, rows {done + 1:,} to {done + len(block):,} of {part.n_rows:,}"
                raise CalibrationError(f"{rows}: {error}{_first_bad_row(block, done)}") from None
            kind = exported.kind  # the first block has shown what the outputs are
            done += len(block)
            count(len(block))


def _first_bad_row(block: Floats, before: int) -> str:
    """Which row of the file has the first NaN or infinity of a block, which ``before`` rows precede; "" for none."""
    if block.dtype.kind != "f":
        return ""
    good = (block.reshape(len(block), -1) < np.inf).all(axis=1)  # minus infinity may be the logarithm of a zero
    return "" if good.all() else f" Row {before + int(good.argmin()) + 1:,} is the first."


def _on_a_worker(exported: ExportedCalibrator, part: Part, target: Path, kind: Kind | None, dtype: str) -> int:
    """Predict the rows of a file in another process; returns how many these are."""
    try:
        _predict_part(exported, part, target, kind, dtype, lambda n_rows: None)
    except InvalidUpload as error:  # it does not travel between processes
        raise CalibrationError(str(error)) from None
    return part.n_rows


@contextmanager
def probabilities_file(path: Path, n: int, class_names: Sequence[str], dtype: str) -> Iterator[Write]:
    """A function that writes the next rows of (n, n_classes) probabilities; a single column is (n,) in a .npy file.

    They lie in ``.NAME.part`` until all are written, so that ``path`` is whole or not there. A Parquet file has a
    column for each class and a row group for each block.
    """
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise CalibrationError(f"{path.name}: in blocks of rows only {' and '.join(ENDINGS)} are written.")
    needed, free = n * len(class_names) * np.dtype(dtype).itemsize, shutil.disk_usage(path.parent).free
    if needed > free:
        raise CalibrationError(
            f"{path.name} will take {needed / 1e6:,.0f} MB, but {free / 1e6:,.0f} MB are free where it is written; "
            "choose a larger disk."
        )
    writer = _npy_writer if suffix == ".npy" else _parquet_writer
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("wb") as file, writer(file, n, class_names, dtype) as write:
            yield write
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _npy_writer(file: BinaryIO, n: int, class_names: Sequence[str], dtype: str) -> Iterator[Write]:
    shape = (n, len(class_names)) if len(class_names) > 1 else (n,)
    header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(file, header)
    yield lambda probs: file.write(np.ascontiguousarray(probs, dtype).data)


@contextmanager
def _parquet_writer(file: BinaryIO, n: int, class_names: Sequence[str], dtype: str) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    alike = len(set(class_names)) < len(class_names)
    names = [f"p_{k}" for k in range(len(class_names))] if alike else class_names
    schema = pa.schema([(name, pa.from_numpy_dtype(np.dtype(dtype))) for name in names])

    def write(probs: Floats) -> None:
        table.write_table(pa.table([*np.ascontiguousarray(probs.T, dtype)], schema=schema))

    # Dictionaries of probabilities would be as long as the column.
    with pq.ParquetWriter(file, schema, use_dictionary=False, write_statistics=False) as table:
        yield write
