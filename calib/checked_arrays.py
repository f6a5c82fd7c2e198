"""Logits and labels as calibrators take them: checked, and copied only where the dtype differs."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, Ints


def check_logits(logits: Any) -> Floats:
    """Logits as a finite float64 array of shape (n, n_classes), copied only where the dtype differs."""
    array = np.asarray(logits)
    if array.ndim != 2 or array.shape[1] < 2:
        raise CalibrationError(f"Logits must have shape (n, n_classes) with at least 2 classes; got {array.shape}.")
    if array.dtype.kind not in "fiu":
        raise CalibrationError(f"Logits must be numbers; got dtype {array.dtype}.")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        bad = int((~np.isfinite(array)).any(axis=1).sum())
        raise CalibrationError(f"{bad} of {len(array)} rows of logits hold NaN or infinite values.")
    return array


def check_labels(labels: Any, shape: tuple[int, ...]) -> Ints:
    """Labels as int64 of shape (n,), each in [0, n_classes)."""
    array = np.asarray(labels)
    if array.ndim != 1 or len(array) != shape[0]:
        raise CalibrationError(f"Labels must have shape ({shape[0]},), one for each row of logits; got {array.shape}.")
    if array.dtype.kind not in "iub":
        raise CalibrationError(f"Labels must be integers; got dtype {array.dtype}.")
    if array.size and (array.min() < 0 or array.max() >= shape[1]):
        raise CalibrationError(
            f"Labels must lie in 0..{shape[1] - 1}, the columns of the logits; found {array.min()}..{array.max()}."
        )
    return array.astype(np.int64, copy=False)
