"""What features are standardised with: the mean and the standard deviation of the training set."""

from __future__ import annotations

import numpy as np

from calib.data.features import Features
from calib.numerics import Floats, blocks


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
