"""A finished fit that carries arrays it was given, such as a training set, refers to those instead of copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.base import Calibrator

LARGE = 1 << 20
"""Bytes from which an array is worth the comparison."""


def share_arrays(result: Any, given: Mapping[str, Any]) -> None:
    """Replace large arrays in what a calibrator learned by those of ``given`` with the same type and content.

    A worker's answer is a copy of everything; without this, each fit kept would hold the training set once more.
    """
    large = [array for array in given.values() if isinstance(array, np.ndarray) and array.nbytes >= LARGE]
    if large and isinstance(result, Calibrator):
        for name, value in vars(result).items():
            if name.endswith("_"):
                setattr(result, name, _shared(value, large))


def _shared(value: Any, large: list[np.ndarray]) -> Any:
    if isinstance(value, dict):
        return {key: _shared(item, large) for key, item in value.items()}
    if isinstance(value, np.ndarray) and value.nbytes >= LARGE:
        for array in large:
            # Images are carried as rows of numbers: the same content in another shape.
            if array.dtype == value.dtype and array.size == value.size and array.flags.c_contiguous:
                same = array.reshape(value.shape)
                if np.array_equal(same, value):
                    return same
    return value
