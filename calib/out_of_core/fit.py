"""Fits to files larger than memory: the calibrators of the registry, learned from a stream of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from calib.base import Calibrator, Callback, no_callback
from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.imax import IMaxBinning
from calib.calibrators.temperature import TemperatureScaling
from calib.checked_arrays import check_labels
from calib.data.canonical import Kind
from calib.errors import CalibrationError
from calib.extras import missing_package
from calib.numerics import Floats
from calib.out_of_core.imax import check_can_stream, fit_imax
from calib.out_of_core.lazy_array import LazyLogits
from calib.out_of_core.outputs import LogitRows
from calib.out_of_core.progress import Progress, no_progress
from calib.out_of_core.reading import open_rows
from calib.out_of_core.rows import ArrayRows, Rows
from calib.out_of_core.stored import StoredPredictions, stored
from calib.out_of_core.survey import survey
from calib.out_of_core.temperature import fit_temperature
from calib.registry import calibrator as make_calibrator

METHODS = ("gpcalib", "temperature", "imax")
"""What can be fitted from a stream: their objectives need little per row."""


def fit_streaming(
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
    method : "gpcalib", "temperature" or "imax".
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
    if isinstance(outputs, (str, Path)):
        with open_rows(Path(outputs)) as rows:
            return _fit(calibrator, rows, labels, kind, floor, callback, progress)
    return _fit(calibrator, ArrayRows(outputs), labels, kind, floor, callback, progress)


def check_method(calibrator: Calibrator) -> Calibrator:
    """The calibrator, if it can be fitted from a stream with its parameters."""
    calibrator.check_params()
    if not isinstance(calibrator, (GPCalib, TemperatureScaling, IMaxBinning)):
        raise CalibrationError(
            f"{type(calibrator).__name__} needs all rows in memory; from a stream {', '.join(METHODS)} are fitted. "
            "Choose one of them, or fit fewer rows: 20,000 are plenty."
        )
    if isinstance(calibrator, IMaxBinning):
        check_can_stream(calibrator)
    return calibrator


def fit_stored(
    calibrator: Calibrator,
    data: StoredPredictions,
    callback: Callback | None = None,
    progress: Progress = no_progress,
) -> Calibrator:
    """Fit a calibrator of :func:`check_method` to rows that were surveyed; returns it."""
    if len(data) < calibrator.min_rows:
        raise CalibrationError(f"{len(data)} rows were given; at least {calibrator.min_rows} are needed.")
    calibrator.n_classes_ = data.n_classes
    try:
        if isinstance(calibrator, TemperatureScaling):
            fit_temperature(calibrator, data, progress)
        elif isinstance(calibrator, IMaxBinning):
            fit_imax(calibrator, data, progress)
        else:
            # It asks for the range, and then for the rows it would draw from all of them in memory too.
            calibrator._fit(cast(Floats, LazyLogits(data)), data.labels, callback or no_callback)
    except BaseException as error:
        del calibrator.n_classes_  # as in Calibrator.fit: half a fit is none
        if isinstance(error, ModuleNotFoundError):
            raise CalibrationError(missing_package(error)) from error
        raise
    return calibrator


def _fit(
    calibrator: Calibrator,
    outputs: Rows,
    labels: Any,
    kind: Kind,
    floor: float | None,
    callback: Callback | None,
    progress: Progress,
) -> Calibrator:
    labels = check_labels(labels, LogitRows(outputs, kind, floor).shape)
    found = survey(outputs, labels, kind, progress)
    return fit_stored(calibrator, stored(outputs, labels, kind, found, floor), callback, progress)
