"""Apply a calibrator to a file of any size, block by block in constant memory.

The output (.npy or Parquet) appears under its name when it is complete, and not at all otherwise; work that is stopped
from outside cleans up first.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from calib.canonical import Kind, class_order
from calib.data.scales import to_plain
from calib.errors import CalibrationError
from calib.export.runtime import ExportedCalibrator
from calib.export.seen import check_alike
from calib.numerics import Floats
from calib.out_of_core.rows import Block, LogitRows, ParquetRows, Progress, Rows, in_order, no_progress, on_plain_scale

Write = Callable[[Floats], None]
ENDINGS = (".npy", ".parquet")
"""Formats that can be written from the first row to the last."""
DTYPES = ("float64", "float32")
"""Of what is written. float32 takes half the room and is right to 6e-8 of a probability down to 1e-38; from there on
ever fewer digits are left, and below 1e-45 none.
"""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, beside its place until all is written; removed where that fails.

    What kills the process without a chance to clean up leaves ``.NAME.XXXX.part``, never a part of ``path``.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("xb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_space(path: Path, nbytes: int) -> None:
    """Refuse to begin what the disk cannot hold."""
    free = shutil.disk_usage(path.parent).free
    if nbytes > free:
        raise CalibrationError(
            f"{path.name} will take {nbytes / 1e6:,.0f} MB, but {free / 1e6:,.0f} MB are free where it is written; "
            "give --out on a larger disk."
        )


@contextmanager
def probabilities_file(path: Path, n: int, class_names: tuple[str, ...], dtype: str = "float64") -> Iterator[Write]:
    """A function that writes the next rows of (n, n_classes) probabilities, as one of ``DTYPES``; the suffix says how.

    With one name they are (n, 1), and an array of shape (n,) in the file.

    The file is there when the block is left without an error, after ``n`` rows.
    """
    n_classes = len(class_names)
    check_space(path, n * n_classes * np.dtype(dtype).itemsize)
    writer = _parquet if path.suffix.lower() == ".parquet" else _npy
    written = 0
    with writer(path, n, class_names, np.dtype(dtype)) as write:

        def counted(probs: Floats) -> None:
            nonlocal written
            write(probs)
            written += len(probs)

        yield counted
        if written != n:
            raise CalibrationError(
                f"{written:,} rows were read where the file announces {n:,}; it is damaged, or was changed meanwhile."
            )


@contextmanager
def _npy(path: Path, n: int, class_names: tuple[str, ...], dtype: np.dtype[Any]) -> Iterator[Write]:
    little = dtype.newbyteorder("<")
    with whole_file(path) as file:
        shape = (n, len(class_names)) if len(class_names) > 1 else (n,)
        header = {"descr": little.str, "fortran_order": False, "shape": shape}
        npy_format.write_array_header_1_0(file, header)
        yield lambda probs: file.write(np.ascontiguousarray(probs, dtype=little).data)  # type: ignore[misc]


@contextmanager
def _parquet(path: Path, n: int, class_names: tuple[str, ...], dtype: np.dtype[Any]) -> Iterator[Write]:
    """A column for each class and a row group for each block."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = class_names if len(set(class_names)) == len(class_names) else [f"p_{k}" for k in range(len(class_names))]
    schema = pa.schema([(name, pa.from_numpy_dtype(dtype)) for name in names])
    with (
        whole_file(path) as file,
        # Dictionaries of probabilities are as long as the column, and are given up only after they were built.
        pq.ParquetWriter(file, schema, use_dictionary=False, write_statistics=False) as writer,
    ):
        yield lambda probs: writer.write_table(pa.table([*np.ascontiguousarray(probs.T, dtype)], schema=schema))


def apply_out_of_core(
    exported: ExportedCalibrator,
    outputs: Rows,
    out: Path,
    *,
    dtype: str = "float64",
    kind: Kind | None = None,
    progress: Progress = no_progress,
) -> int:
    """Write the calibrated probabilities of stored outputs; returns how many rows.

    Reading, predicting on several threads and writing go on side by side. The numbers are those that
    ``exported.calibrate`` gives for all rows at once, to the last bit unless ``dtype`` rounds them: both cut the rows
    at the same places.

    Parameters
    ----------
    outputs : as the model wrote them, from :func:`~calib.out_of_core.reading.open_rows`.
    out : .npy or .parquet; it appears when it is complete, and not at all if anything fails.
    dtype : what is written, one of :data:`~calib.out_of_core.apply.DTYPES`.
    kind : what the outputs are, where somebody says so; without it those of the first block are compared with the
        calibration data, see :func:`calib.export.seen.check_alike`.

    Raises
    ------
    CalibrationError
        For outputs the calibrator does not know, values that cannot be (with their row number), or a full disk.
    """
    if out.suffix.lower() not in ENDINGS:
        raise CalibrationError(f"{out.name}: block by block only {' and '.join(ENDINGS)} can be written.")
    exported.check_kind(kind)
    if isinstance(outputs, ParquetRows):
        outputs.columns = tuple(outputs.columns[place] for place in class_order(outputs.columns, exported.class_names))
    if kind is None:
        some = next((block for _, block in outputs.blocks()), np.empty((0, 1)))
        check_alike(some, to_plain(some, exported.scale), exported.kind, exported.seen)
    outputs = on_plain_scale(outputs, exported.scale)
    logits = LogitRows(outputs, exported.kind, exported.floor)
    if logits.shape[1] != exported.n_classes:
        raise CalibrationError(
            f"The outputs have {logits.shape[1]} columns; {exported.n_classes} classes were calibrated."
        )
    calibrator, n = exported.calibrator, len(outputs)
    # Of pairs, only the confidence that an answer is correct.
    first, names = (1, ("confidence",)) if exported.kind == "pairs" else (0, exported.class_names)

    def calibrated(block: Block) -> Floats:
        # Rounded here, on its thread, so that the one that writes does nothing else.
        return calibrator.predict_proba(logits.checked(*block))[:, first:].astype(dtype, copy=False)

    with probabilities_file(out, n, names, dtype) as write:
        done = 0
        for probs in in_order(calibrated, outputs.blocks()):
            write(probs)
            done += len(probs)
            progress("calibrated", done, n)
    return n


@contextmanager
def stopped_in_words(consequence: str) -> Iterator[None]:
    """Let Ctrl-C, and the signal with which systems end a process, run through the work's own cleaning up.

    Raises
    ------
    CalibrationError
        Then, with what it means.
    """
    on_main_thread = threading.current_thread() is threading.main_thread()  # no other may set signals
    before = signal.signal(signal.SIGTERM, _interrupt) if on_main_thread else None
    try:
        yield
    except KeyboardInterrupt:
        raise CalibrationError(f"Stopped before the end: {consequence}.") from None
    finally:
        if on_main_thread:
            signal.signal(signal.SIGTERM, before)


def _interrupt(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
