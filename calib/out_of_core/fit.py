"""Fit the calibrators of the registry to files larger than memory."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from calib.base import Calibrator, Callback, no_callback
from calib.canonical import Kind
from calib.errors import CalibrationError
from calib.arrays import check_labels
from calib.out_of_core.reading import open_rows
from calib.out_of_core.rows import ArrayRows, LogitRows, Progress, no_progress
from calib.out_of_core.survey import StoredPredictions, stored, survey
from calib.registry import METHODS
from calib.registry import calibrator as make_calibrator


def fit_out_of_core(
    method: str,
    outputs: Any,
    labels: Any,
    *,
    kind: Kind = "logits",
    floor: float | None = None,
    callback: Callback | None = None,
    progress: Progress = no_progress,
    **params: Any,
) -> Calibrator:
    """Fit a calibrator to outputs that need not fit into memory: a pass for the range, and one for the sums.

    Parameters
    ----------
    method : one of :func:`streamed_methods`.
    outputs : path of a .npy or Parquet file, or an array or memory map, of shape (n, n_classes).
    labels : (n,) integers in [0, n_classes).
    kind, floor : what the outputs are; None takes for zeros what loading takes.
    callback : of the optimiser, as in :meth:`calib.base.Calibrator.fit`.
    progress : ``progress(what, rows done, rows in all)``.
    **params : the method's parameters.

    Raises
    ------
    CalibrationError
        For a method that needs all rows at once, and for arrays that cannot be used.
    """
    calibrator = check_method(make_calibrator(method, **params))
    opened = open_rows(Path(outputs)) if isinstance(outputs, (str, Path)) else nullcontext(ArrayRows(outputs))
    with opened as rows:
        labels = check_labels(labels, LogitRows(rows, kind, floor).shape)
        data = stored(rows, labels, kind, survey(rows, labels, kind, progress), floor)
        return fit_stored(calibrator, data, callback, progress)


def streamed_methods() -> list[str]:
    """Registry names of the calibrators that learn from blocks of rows."""
    return [name for name, method in METHODS.items() if method.cls.learns_from_blocks()]


def check_method(calibrator: Calibrator) -> Calibrator:
    """The calibrator, if it can be fitted from a stream with its parameters."""
    calibrator.check_params()
    if not calibrator.learns_from_blocks():
        raise CalibrationError(
            f"{type(calibrator).__name__} needs all rows in memory; from a stream {', '.join(streamed_methods())} "
            "are fitted. Choose one of them, or fit fewer rows: 20,000 are plenty."
        )
    calibrator.check_blocks()
    return calibrator


def fit_stored(
    calibrator: Calibrator,
    data: StoredPredictions,
    callback: Callback | None = None,
    progress: Progress = no_progress,
) -> Calibrator:
    """Fit a calibrator of :func:`check_method` to rows that were surveyed; returns it."""
    with calibrator.complete_fit(*data.shape):
        calibrator.fit_blocks(replace(data, progress=progress), callback or no_callback)
    return calibrator
