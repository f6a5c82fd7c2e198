"""Features brought to one scale by the mean and the standard deviation of the training set."""

from __future__ import annotations

import numpy as np

from calib.data.blocks import row_blocks
from calib.data.features import Features
from calib.data.limits import Allowance
from calib.numerics import Floats


def mean_and_scale(train_features: Features) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature, in the shape of one row; 1 where a feature never varies."""
    flat = train_features.reshape(len(train_features), -1)
    mean = flat.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for rows in row_blocks(flat.shape):
        squares += ((flat[rows] - mean) ** 2).sum(axis=0)
    # The rounding of the mean leaves a constant column with a deviation that is not quite zero.
    scale = np.where(flat.min(axis=0) == flat.max(axis=0), 1.0, np.sqrt(squares / len(flat)))
    shape = train_features.shape[1:]
    return mean.reshape(shape), scale.reshape(shape)


def standardised(features: Features, mean: Floats, scale: Floats) -> Features:
    """``(features - mean) / scale``; floats are overwritten, uint8 becomes float32."""
    if features.dtype == np.uint8:
        Allowance().take(4 * features.size, "The standardised features as float32")
    out = features if features.dtype.kind == "f" else np.empty(features.shape, dtype=np.float32)
    flat, written = features.reshape(len(features), -1), out.reshape(len(features), -1)
    for rows in row_blocks(flat.shape):
        written[rows] = (flat[rows] - mean.reshape(-1)) / scale.reshape(-1)
    return out
