"""What every view of a latent function needs first: a fitted GPcalib, and not more data than a picture can show."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.base import Calibrator
from calib.calibrators.gpcalib import GPCalib
from calib.checked_arrays import check_logits
from calib.errors import CalibrationError
from calib.numerics import Floats

MOST_ENTRIES = 1_000_000
"""Logits a curve is computed from: with 10,000 x 1000 of them every tenth row, which moves no line visibly."""

MOST_ROWS = 10_000


def fitted_gp(calibrator: Calibrator) -> GPCalib:
    """The calibrator, if it is a fitted GPcalib.

    Raises
    ------
    CalibrationError
        For anything else.
    """
    if not isinstance(calibrator, GPCalib) or not calibrator.fitted:
        raise CalibrationError("A latent function needs a fitted GPCalib; call fit(logits, labels) first.")
    return calibrator


def every_nth_row(calibrator: GPCalib, logits: Any, most: int = MOST_ENTRIES) -> tuple[slice, Floats]:
    """Evenly spaced rows, about ``most`` entries and 10,000 rows at most: which they are, and their logits.

    Raises
    ------
    CalibrationError
        If the logits are not usable, or have another number of classes than the fit.
    """
    array = np.asarray(logits)
    step = max(1, -(-array.size // most), -(-len(array) // MOST_ROWS))
    rows = slice(None, None, step)
    checked = check_logits(array[rows])
    if checked.shape[1] != calibrator.n_classes_:
        raise CalibrationError(
            f"The calibrator was fitted on {calibrator.n_classes_} classes, but these logits have {checked.shape[1]}."
        )
    return rows, checked


def spread_of_draws(calibrator: GPCalib, draws: Floats, points: Floats) -> Floats:
    """Standard deviation over drawn functions on the grid, at one-dimensional ``points``."""
    stencil = calibrator.grid().stencil(points)
    return np.std([stencil.interpolate(draw) for draw in draws], axis=0)
