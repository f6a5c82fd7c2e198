"""Smooth calibration error: no bins, a kernel whose width sets itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.base import CalibrationError
from calib.metrics.top_label import Bools, top_label
from calib.numerics import Floats

GRID = 4096


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
    return _by_definition(confidence, correct) if convention is None else _relplot(confidence, correct)


def _by_definition(confidence: Floats, correct: Bools) -> float:
    from scipy.fft import dct, idct
    from scipy.optimize import brentq

    cell = np.clip((confidence * GRID).astype(np.int64), 0, GRID - 1)
    residual = np.bincount(cell, weights=correct - confidence, minlength=GRID) / len(cell)
    spectrum = dct(residual, norm="ortho")
    squared_frequency = (np.pi * np.arange(GRID)) ** 2

    def excess(width: float) -> float:
        smooth = idct(spectrum * np.exp(-0.5 * squared_frequency * width**2), norm="ortho")
        return float(np.abs(smooth).sum() - width)

    narrow = 1.0 / GRID
    if excess(narrow) <= 0.0:
        return float(np.abs(residual).sum())
    return float(brentq(excess, narrow, 1.0, xtol=1e-9))


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
