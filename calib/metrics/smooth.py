"""Smooth calibration error: no bins, a kernel whose width sets itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.metrics.top_label import top_label
from calib.numerics import Floats

GRID = 4096


def smooth_ece(probs: Any, labels: Any) -> float:
    """Smooth ECE (Blasiok and Nakkiran 2023): the width s at which ``smECE_s = s``.

    ``smECE_s = integral_0^1 |1/n sum_i k_s(t, confidence_i) (correct_i - confidence_i)| dt`` with the Gaussian kernel
    of standard deviation s reflected at 0 and 1. It falls as s grows, so there is one such s. The residuals are summed
    in 4096 cells; reflected smoothing is then a product in the cosine basis.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    """
    from scipy.fft import dct, idct
    from scipy.optimize import brentq

    confidence, correct = top_label(probs, labels)
    cell = np.clip((confidence * GRID).astype(np.int64), 0, GRID - 1)
    residual = np.bincount(cell, weights=correct - confidence, minlength=GRID) / len(cell)
    spectrum = dct(residual, norm="ortho")
    squared_frequency = (np.pi * np.arange(GRID)) ** 2

    def excess(width: float) -> float:
        smooth: Floats = idct(spectrum * np.exp(-0.5 * squared_frequency * width**2), norm="ortho")
        return float(np.abs(smooth).sum() - width)

    narrow = 1.0 / GRID
    if excess(narrow) <= 0.0:
        return float(np.abs(residual).sum())
    return float(brentq(excess, narrow, 1.0, xtol=1e-9))
