"""Calibrated probabilities of all rows of a file, which is read and written in blocks of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calib.apply.parts import ENDINGS, Progress, no_progress, parts_of
from calib.base import Calibrator
from calib.canonical import PLAIN, Kind
from calib.data import Choices
from calib.data.build.outputs import check_sums
from calib.data.loading import check_choices, findings_as_error
from calib.errors import CalibrationError, CalibrationWarning, Finding
from calib.export.provenance import exported
from calib.export.runtime import ExportedCalibrator
from calib.formatting import plural
from calib.numerics import Floats
from calib.outputs import AmbiguousOutputs

Write = Callable[[Floats], Any]
"""``write(probs)`` adds (n, n_classes) probabilities to a file."""


def _warn(finding: Finding) -> None:
    warnings.warn(f"{finding.message} {finding.action}", CalibrationWarning, stacklevel=3)


def predict_file(
    calibrator: Calibrator | ExportedCalibrator,
    source: str | Path,
    target: str | Path,
    *,
    kind: Kind | None = None,
    choices: Choices | None = None,
    progress: Progress = no_progress,
    warn: Callable[[Finding], Any] = _warn,
) -> int:
    """Write the calibrated probabilities of a file of outputs; returns how many rows these are.

    A few blocks of rows are in memory at a time. The result appears under its name when it is complete.

    Parameters
    ----------
    calibrator : Calibrator or ExportedCalibrator
        A fitted calibrator, or one that was loaded with :func:`calib.runtime.load`.
    source : str or Path
        A model's outputs as it writes them: .npy or Parquet. Labels beside them are left alone, and columns that are
        called as the classes are taken by name.
    target : str or Path
        File to write, .npy or .parquet.
    kind : str or None, default None
        What the outputs are; only needed where it asks, because most rows of a block look like another kind.
    choices : Choices or None, default None
        How the file is read, as for :func:`calib.load`.
    progress : callable, optional
        Called as ``progress(rows done, rows in all)``.
    warn : callable, optional
        Called once with a finding where rows of probabilities do not quite sum to one; by default a Python warning.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    CalibrationError
        For outputs that the calibrator does not know, values that cannot be (with the rows of their block, and the
        number of the first row with NaN or infinity, from 1), and a target that cannot be written.
    DataError
        If the file cannot be read, or has no rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import calib
    >>> data = calib.load_sample("digits-cnn")
    >>> calibrator = calib.calibrator("temperature").fit(data)
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     np.save(folder / "outputs.npy", data.logits)
    ...     predict_file(calibrator, folder / "outputs.npy", folder / "probabilities.npy")
    1547
    """
    source = Path(source)
    target = Path(target)
    if isinstance(calibrator, Calibrator):
        calibrator = exported(calibrator)
    if not isinstance(calibrator, ExportedCalibrator):
        raise CalibrationError(
            f"A fitted calibrator is needed; got {type(calibrator).__name__}. A saved one is loaded first: "
            "calib.runtime.load(path)."
        )
    calibrator.check_kind(kind)
    if source.is_dir():
        raise CalibrationError(f"{source.name} is a folder; give its files one by one.")
    if target.resolve() == source.resolve():
        raise CalibrationError(
            "The results need a file of their own, or they would overwrite the outputs."
        )
    choices = choices or Choices()
    done = 0
    loose = list[Finding]()
    # Of pairs, only the confidence that an answer is correct.
    first, names = (
        (1, ("confidence",)) if calibrator.kind == "pairs" else (0, calibrator.class_names)
    )
    with findings_as_error():
        check_choices(choices)
        (part,) = parts_of(source, choices)
        with probabilities_file(target, part.n_rows, names) as write:
            for block in _last_two_as_one(part.outputs()):
                rows = f"{source.name}, rows {done + 1:,} to {done + len(block):,}"
                try:
                    probs = calibrator.predict_proba(
                        calibrator.in_class_order(block, part.columns), kind
                    )
                    loose += sums_of_rows(calibrator, block, f"{rows},")
                    write(probs[:, first:])
                except CalibrationError as error:
                    more = _first_bad_row(block, done)
                    if done and isinstance(error, AmbiguousOutputs):
                        more = " Rows before do not: probably outputs of two kinds were written to one file."
                    raise CalibrationError(f"{rows} of {part.n_rows:,}: {error}{more}") from None
                done += len(block)
                progress(done, part.n_rows)
    if loose:
        more = (
            f" So it is in {plural(len(loose) - 1, 'more block')} of the file."
            if len(loose) > 1
            else ""
        )
        warn(replace(loose[0], reason=f"{loose[0].reason}{more}"))
    return done


def _last_two_as_one(blocks: Iterator[Floats]) -> Iterator[Floats]:
    """Blocks of rows of which the last is not a few rows alone, which may look like another kind by chance."""
    first = list(islice(blocks, 2))
    for block in blocks:
        yield first.pop(0)
        first.append(block)
    yield np.concatenate(first)


def sums_of_rows(calibrator: ExportedCalibrator, outputs: Any, name: str) -> tuple[Finding, ...]:
    """The warning where rows of probabilities do not sum to one, as where a data set is loaded.

    Raises
    ------
    InvalidUpload
        If most of them are far off.
    """
    if calibrator.kind != "probabilities" or calibrator.scale not in (None, PLAIN):
        return ()
    findings = check_sums(np.asarray(outputs, dtype=np.result_type(outputs, np.float32)), name)
    return tuple(finding for finding in findings if finding.level == "warning")


def _first_bad_row(block: Floats, before: int) -> str:
    """Describe the row of the first NaN or infinity of a block, which ``before`` rows precede; "" for none."""
    if block.dtype.kind != "f":
        return ""
    good = (block.reshape(len(block), -1) < np.inf).all(
        axis=1
    )  # minus infinity may be the logarithm of a zero
    return "" if good.all() else f" Row {before + int(good.argmin()) + 1:,} is the first."


@contextmanager
def probabilities_file(path: Path, n: int, class_names: Sequence[str]) -> Iterator[Write]:
    """A function that writes the next rows of (n, n_classes) probabilities; a single column is (n,) in a .npy file.

    They lie in ``.NAME.part`` until all are written, so that ``path`` is whole or not there. A Parquet file has a
    column for each class and a row group for each block.
    """
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise CalibrationError(
            f"{path.name}: in blocks of rows only {' and '.join(ENDINGS)} are written."
        )
    if path.is_dir() or not path.parent.is_dir():
        raise CalibrationError(
            f"{path.name} cannot be written: it, or where it is to stand, is a folder or not there."
        )
    writer = _npy_writer if suffix == ".npy" else _parquet_writer
    unfinished = path.with_name(f".{path.name}.part")
    try:
        with unfinished.open("wb") as file, writer(file, n, class_names) as write:
            yield write
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def _npy_writer(file: BinaryIO, n: int, class_names: Sequence[str]) -> Iterator[Write]:
    shape = (n, len(class_names)) if len(class_names) > 1 else (n,)
    header = {"descr": np.dtype(np.float64).str, "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(file, header)
    yield lambda probs: file.write(np.ascontiguousarray(probs, np.float64).data)


@contextmanager
def _parquet_writer(file: BinaryIO, n: int, class_names: Sequence[str]) -> Iterator[Write]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    repeated = len(set(class_names)) < len(class_names)
    names = [f"p_{k}" for k in range(len(class_names))] if repeated else class_names
    schema = pa.schema([(name, pa.float64()) for name in names])

    def write(probs: Floats) -> None:
        table.write_table(pa.table([*np.ascontiguousarray(probs.T, np.float64)], schema=schema))

    # Dictionaries of probabilities would be as long as the column.
    with pq.ParquetWriter(file, schema, use_dictionary=False, write_statistics=False) as table:
        yield write
