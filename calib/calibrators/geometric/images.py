"""Images in NumPy alone: grey values, pooling and bilinear resizing."""

from __future__ import annotations

from math import isqrt

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in a grey value (ITU-R BT.601)."""


def grey(images: Floats) -> Floats:
    """Images (n, H, W) of (n, H, W) or (n, H, W, C) ones; 3 channels are RGB, a fourth (opacity) is left out."""
    if images.ndim == 3:
        return images
    if images.ndim != 4 or images.shape[3] not in (1, 3, 4):
        raise CalibrationError(
            f"Images have shape (n, H, W) or (n, H, W, C) with 1, 3 or 4 channels; got {images.shape}."
        )
    if images.shape[3] == 1:
        return images[..., 0]
    return images[..., :3] @ np.asarray(LUMA, dtype=images.dtype)


def squares(features: Floats, reduction: str) -> Floats:
    """Flat features (n, d) read as one square image each, (n, sqrt d, sqrt d)."""
    side = isqrt(features.shape[1])
    if side * side != features.shape[1]:
        raise CalibrationError(
            f"{reduction!r} needs images, and rows of {features.shape[1]} numbers are no square image. "
            'Give features of shape (n, H, W), or choose "pca" or "random_pixels".'
        )
    return features.reshape(len(features), side, side)


def pool(images: Floats, factor: int, kind: str) -> Floats:
    """Mean or maximum of each ``factor`` x ``factor`` window; windows at the far edges may be smaller.

    Parameters
    ----------
    images : (n, H, W)
    kind : "mean" or "max".

    Returns
    -------
    (n, ceil(H / factor), ceil(W / factor)) in the images' precision.
    """
    gather = np.add.reduceat if kind == "mean" else np.maximum.reduceat
    for axis in (1, 2):
        starts = np.arange(0, images.shape[axis], factor)
        sizes = np.diff(np.append(starts, images.shape[axis]))
        images = gather(images, starts, axis=axis)
        if kind == "mean":
            images = images / np.expand_dims(sizes, tuple({0, 1, 2} - {axis})).astype(images.dtype)
    return images


def shrink_bilinear(images: Floats, factor: int) -> Floats:
    """Bilinear interpolation at the centres of a grid that is ``factor`` times coarser, (n, H, W) to (n, h, w)."""
    rows, columns = (_weights(size, factor).astype(images.dtype) for size in images.shape[1:])
    return rows @ images @ columns.T


def _weights(size: int, factor: int) -> Floats:
    """Weights (ceil(size / factor), size) of the pixels at each new centre."""
    new = -(-size // factor)
    centres = np.clip((np.arange(new) + 0.5) * (size / new) - 0.5, 0, size - 1)
    return np.maximum(0.0, 1.0 - np.abs(centres[:, None] - np.arange(size)))
