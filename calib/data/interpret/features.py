"""Features of any shape and type in the form the rest of the project knows: rows of numbers, or images.

What features are standardised with: the mean and the standard deviation of the training set.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import InvalidUpload, Report
from calib.data.formats.base import Array
from calib.data.interpret.output_kind import float_dtype
from calib.data.limits import Allowance
from calib.numerics import Floats, blocks

Features = npt.NDArray[Any]
"""(n, d), or images (n, height, width) and (n, height, width, channels): float32, float64, or uint8 as it came."""

CHANNELS = (1, 3)
EXACT_IN_FLOAT32 = 2**24


def as_features(array: Array, name: str, report: Report) -> Features | None:
    """Features as rows of numbers or as images; None, with a warning, where they cannot be.

    Parameters
    ----------
    array : (n, ...) of any type; its rows stay in their order.
    name : what it is called in sentences.
    """
    try:
        float_dtype(array.dtype, name)  # refuses what is no number
        width = prod(array.shape[1:])
        if array.ndim == 0 or width == 0 or not len(array):
            raise InvalidUpload(
                "features", f"{name} has the shape {array.shape}, which holds no feature.", "Save (rows, features)."
            )
        return compact(shaped(array, name, report), name)
    except InvalidUpload as invalid:
        leave_out(invalid, name, report)
        return None


def leave_out(invalid: InvalidUpload, array: str, report: Report) -> None:
    """Features that cannot be read cost the methods that need them, never the upload."""
    finding = invalid.finding
    report.leave_out(array, finding.code, finding.reason, finding.action, **finding.fix)


def shaped(array: Array, name: str, report: Report) -> Array:
    """Images with their channels last, everything else flat; a copy only where channels change their place."""
    shape = array.shape
    sizes = shape[1:3]
    if len(sizes) == 2 and min(sizes) > 1 and (len(shape) == 3 or (len(shape) == 4 and shape[3] in CHANNELS)):
        return array
    if len(shape) == 4 and min(shape[2:]) > 1 and shape[1] in CHANNELS:
        return channels_last(array, name, report)
    flat = array.reshape(len(array), -1)
    if len(shape) > 2:
        report.info(
            "features_flattened",
            f"{name} has the shape {shape}, which are no images: read as rows of {flat.shape[1]:,} numbers.",
        )
    return flat


def channels_last(array: Array, name: str, report: Report) -> Array:
    """Images (n, channels, height, width), as PyTorch has them, as (n, height, width, channels)."""
    n, depth, height, width = array.shape
    turned = (n, height, width, depth)
    which = "its channel" if depth == 1 else f"its {depth} channels"
    report.info(
        "channels_first",
        f"{name} has the shape {array.shape}: each row read as an image with {which} first, and turned to {turned}.",
    )
    if depth == 1:
        return array.reshape(turned)
    Allowance().take(array.nbytes, f"{name} with its channels last")
    return np.ascontiguousarray(np.moveaxis(array, 1, -1))


def compact(array: Array, name: str) -> Features:
    """The same numbers as float32, float64 or uint8, the smallest that holds them; no copy where none is needed."""
    if array.dtype.kind == "b":
        return np.ascontiguousarray(array).view(np.uint8)
    if array.dtype == np.uint8:
        return np.ascontiguousarray(array)
    dtype = float_dtype(array.dtype, name)
    whole = array.dtype.kind in "iu"
    if whole and max(abs(int(array.min())), abs(int(array.max()))) <= EXACT_IN_FLOAT32:
        dtype = np.dtype(np.float32)
    if dtype != array.dtype:
        Allowance().take(array.size * dtype.itemsize, f"{name} as {dtype}")
    return np.ascontiguousarray(array, dtype=dtype)


def same_type(first: Features, second: Features) -> tuple[Features, Features]:
    """Both of one type, float32 where they differ: no distance between them is finer than the coarser one."""
    if first.dtype == second.dtype:
        return first, second
    for array in (first, second):
        if array.dtype == np.float64 and not spans(array, np.dtype(np.float32)):
            return first.astype(np.float64), second.astype(np.float64)
    Allowance().take(4 * (first.size + second.size), "The features as float32")
    return first.astype(np.float32, copy=False), second.astype(np.float32, copy=False)


def bad_feature_rows(features: Features) -> npt.NDArray[np.bool_]:
    """(n,) rows with NaN, infinite values, or values so large that squared distances overflow."""
    bad = np.zeros(len(features), dtype=bool)
    if spans(features, features.dtype):
        return bad
    flat = features.reshape(len(features), -1)
    most = largest(features.dtype, flat.shape[1])
    for rows in blocks(*flat.shape):
        bad[rows] = ~(np.abs(flat[rows]) < most).all(axis=1)
    return bad


def spans(features: Features, dtype: np.dtype[Any]) -> bool:
    """Whether distances between all rows are finite in a type."""
    if features.dtype == np.uint8:
        return True
    most = largest(dtype, features[0].size)
    return bool(features.min() > -most and features.max() < most)


def largest(dtype: np.dtype[Any], width: int) -> float:
    """What a feature must stay below for squared distances of this many of them to stay finite."""
    return float(np.sqrt(np.finfo(dtype).max / width) / 8)


def described(features: Features) -> str:
    """``64 numbers`` or ``an image of 8 x 8``, for one row of features."""
    if features.ndim == 2:
        return f"{features.shape[1]:,} number{'s' * (features.shape[1] != 1)}"
    return f"an image of {' x '.join(map(str, features.shape[1:]))}"


def mean_and_scale(train_features: Features) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature, in the shape of one row; 1 where a feature never varies."""
    flat = train_features.reshape(len(train_features), -1)
    mean = flat.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for rows in blocks(*flat.shape):
        squares += ((flat[rows] - mean) ** 2).sum(axis=0)
    # The rounding of the mean leaves a constant column with a deviation that is not quite zero.
    scale = np.where(flat.min(axis=0) == flat.max(axis=0), 1.0, np.sqrt(squares / len(flat)))
    shape = train_features.shape[1:]
    return mean.reshape(shape), scale.reshape(shape)
