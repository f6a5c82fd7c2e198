"""Smooth calibration error: no bins, a kernel whose width sets itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.confidence import Bools, top_label
from calib.numerics import Floats, Ints

GRID = 4096
TOLERANCE = 1e-9
"""How near to the fixed point a width must be."""
MAX_STEPS = 60
SILENT = 9.0
"""Standard deviations from which a Gaussian counts as 0: it is below 3e-18 there."""


def smooth_ece(probs: Any, labels: Any, convention: str | None = None) -> float:
    """Smooth ECE (Blasiok and Nakkiran 2023): the width s at which ``smECE_s = s``.

    ``smECE_s = integral_0^1 |1/n sum_i k_s(t, confidence_i) (correct_i - confidence_i)| dt`` with the Gaussian kernel
    of standard deviation s reflected at 0 and 1. It falls as s grows, so there is one such s. The residuals are
    summed in 4096 cells; reflected smoothing is then a product in the cosine basis.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    convention : None, or "relplot" for the numbers of the authors' package. Its kernel is not reflected for
        rows in the outermost of 1001 grid points, so confidences of about 1 count half; where many are saturated
        (CIFAR-100: .0606 for .0571) the two differ.
    """
    if convention not in (None, "relplot"):
        raise CalibrationError(f"There is no convention {convention!r}; choose None or 'relplot'.")
    confidence, correct = top_label(probs, labels)
    return smooth_error(confidence, correct) if convention is None else _relplot(confidence, correct)


def smooth_error(confidence: Floats, correct: Bools) -> float:
    """:func:`smooth_ece` of a pair that is known to be valid."""
    cell = cell_of(confidence, GRID)
    residual = np.bincount(cell, weights=correct - confidence, minlength=GRID) / len(cell)
    return float(smooth_errors(residual[None])[0])


def cell_of(confidence: Floats, n_cells: int) -> Ints:
    """Number of each confidence's cell, of ``n_cells`` of equal width on [0, 1]."""
    return np.clip((confidence * n_cells).astype(np.int64), 0, n_cells - 1)


def smooth_errors(residual: Floats) -> Floats:
    """Smooth ECE of many samples at once, shape (m,).

    Let ``S(s) = smECE_s``. Since S falls, the fixed point lies between any s and S(s), so that each evaluation
    gives both ends of a bracket; the next point is the secant's, or the bracket's middle where it would leave it.

    Parameters
    ----------
    residual : (m, n_cells) sums of (correct - confidence) in cells of equal width, divided by the number of rows.
    """
    from scipy.fft import dct, idct

    n_cells = residual.shape[1]
    spectrum = dct(residual, norm="ortho", axis=1)
    squared_frequency = (np.pi * np.arange(n_cells)) ** 2

    def smoothed(width: Floats, rows: Ints) -> Floats:
        heard = min(n_cells, 1 + int(SILENT / (np.pi * width.min(initial=1.0))))
        damping = np.exp(-0.5 * squared_frequency[:heard] * width[:, None] ** 2)
        return np.abs(idct(spectrum[rows, :heard] * damping, n=n_cells, norm="ortho", axis=1)).sum(axis=1)

    narrow = 1.0 / n_cells
    everything = np.arange(len(residual))
    width = np.full(len(residual), narrow)
    error = smoothed(width, everything)
    result = np.abs(residual).sum(axis=1)  # what stands where even the narrowest kernel is too wide
    active = everything[error > narrow]
    low, high = width[active], error[active]
    width, excess = low, high - low
    trial = 0.5 * (low + high)
    for _ in range(MAX_STEPS):
        error = smoothed(trial, active)
        low, high = np.maximum(low, np.minimum(trial, error)), np.minimum(high, np.maximum(trial, error))
        result[active] = trial
        going = high - low > TOLERANCE
        if not going.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = trial - (error - trial) * (trial - width) / (error - trial - excess)
        inside = (secant > low) & (secant < high)
        width, excess = trial[going], (error - trial)[going]
        trial = np.where(inside, secant, 0.5 * (low + high))[going]
        active, low, high = active[going], low[going], high[going]
    return result


RELPLOT_GRID = 1001
RELPLOT_MESH = 200


def _relplot(confidence: Floats, correct: Bools) -> float:
    """Value at the fixed point as the authors' package has it, on its grid and its mesh.

    Its mirror image leaves out the end points of the grid themselves: that is the cosine transform of type 1, which
    gives them half the weight of the others. It divides by the mass that is left.
    """
    from scipy.fft import dct, idct
    from scipy.optimize import brentq

    position = confidence * (RELPLOT_GRID - 1)
    left = np.clip(position.astype(np.int64), 0, RELPLOT_GRID - 2)
    share = position - left

    def on_grid(values: Floats) -> Floats:
        low = np.bincount(left, weights=(1.0 - share) * values, minlength=RELPLOT_GRID)
        high = np.bincount(left + 1, weights=share * values, minlength=RELPLOT_GRID)
        return dct(low + high, type=1)

    spectra = on_grid(correct - confidence), on_grid(np.ones_like(confidence))
    squared_frequency = (np.pi * np.arange(RELPLOT_GRID)) ** 2
    mesh = np.linspace(0.0, 1.0, RELPLOT_MESH) * (RELPLOT_GRID - 1)

    def error(width: float) -> float:
        damping = np.exp(-0.5 * squared_frequency * width**2)
        smooth = (np.interp(mesh, np.arange(RELPLOT_GRID), idct(s * damping, type=1)) for s in spectra)
        residual, mass = smooth
        return float(np.abs(residual).sum() / mass.sum())

    narrow = 1e-3
    if error(narrow) <= narrow:
        return error(narrow)
    return error(float(brentq(lambda width: error(width) - width, narrow, 1.0)))
