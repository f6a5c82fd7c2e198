"""Scales of outputs: probabilities in percent or as counts, and a column of their logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, blocks

Scale = str | float
"""A name of :data:`SCALES`, or the number that a probability of one is written as: 500 for votes of 500 trees."""

PLAIN = "plain"
"""The scale of outputs that are what their kind says."""

SCALES: dict[str, str] = {
    PLAIN: "as they are",
    "percent": "percent, 0 to 100",
    "counts": "counts, or shares of the sum of their row",
    "log": "natural logarithms of probabilities",
}
"""Every scale by its name, and how sentences call it."""

SLACK = 1e-3
"""How far the sum of a row of probabilities may lie from one."""


def is_scale(value: Any) -> bool:
    """Whether a value is one of the scales, or a number above zero that can be divided by."""
    if isinstance(value, str):
        return value in SCALES
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(
        value, bool
    )
    return bool(number and np.isfinite(value) and value > 0)


def one_of(scale: Scale | None) -> float | None:
    """What a probability of one is written as; None where outputs are not divided by one number."""
    if isinstance(scale, str):
        return {PLAIN: 1.0, "percent": 100.0}.get(scale)
    return 1.0 if scale is None else float(scale)


def in_words(scale: Scale) -> str:
    """How sentences call a scale."""
    return SCALES[scale] if isinstance(scale, str) else f"a probability of one written as {scale:g}"


def to_plain(outputs: Any, scale: Scale | None, out: Floats | None = None) -> Any:
    """Outputs as their kind has them: probabilities in [0, 1], or natural logarithms of them.

    Values are not checked here; what is no probability leaves [0, 1].

    Parameters
    ----------
    outputs : (n, k) or (n,) numbers. A single column of logarithms becomes one of probabilities, several stay
        logarithms.
    scale : how they are written; None is the plain scale, which gives them back as they are.
    out : float64 to write to, which may be the outputs themselves; a new array unless given.

    Raises
    ------
    CalibrationError
        For an unknown scale, outputs that are no numbers, or counts without a row to divide by.
    """
    if scale is None or scale == PLAIN:
        return outputs
    if not is_scale(scale):
        raise CalibrationError(
            f"Unknown scale of outputs {scale!r:.40}; it is a number or one of {', '.join(SCALES)}."
        )
    array = np.asarray(outputs)
    if array.dtype.kind not in "fiub":
        raise CalibrationError(f"A model's outputs must be numbers; got dtype {array.dtype}.")
    wide = array.ndim == 2 and array.shape[1] > 1
    if scale == "counts" and not wide:
        raise CalibrationError(
            f"Counts are divided by the sum of each row, but the outputs have shape {array.shape}."
        )
    if out is None:
        out = np.empty(array.shape)
    for rows in blocks(len(array), array[:1].size or 1):
        with np.errstate(all="ignore"):
            out[rows] = _converted(array[rows].astype(out.dtype, copy=False), scale, wide)
    return out


def _converted(values: Floats, scale: Scale, wide: bool) -> Floats:
    if scale == "counts":
        return values / values.sum(axis=1, dtype=np.float64, keepdims=True).astype(values.dtype)
    if scale == "log":
        return values if wide else np.exp(values)
    return values / (one_of(scale) or 1.0)


def check_rescaled(outputs: Any, scale: Scale | None) -> None:
    """Refuse probabilities whose scale was taken off already.

    Raises
    ------
    CalibrationError
        If several columns of outputs sum to one before they are divided.
    """
    array = np.asarray(outputs)
    divided = one_of(scale) not in (None, 1.0)
    wide = array.dtype.kind in "fiub" and array.ndim == 2 and array.shape[1] > 1 and len(array) > 1
    if divided and wide and np.abs(array.sum(axis=1, dtype=np.float64) - 1).max() < SLACK:
        raise CalibrationError(
            f"Every row sums to one already, but the calibration data were {in_words(scale or PLAIN)}; give the "
            "outputs on the scale they had."
        )
