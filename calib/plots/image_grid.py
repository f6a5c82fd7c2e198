"""Several images side by side as one picture."""

from __future__ import annotations

import numpy as np

from calib.numerics import Ints

GAP = 1
"""Pixels of the images between two of them; transparent, so that they fit every background."""


def image_grid(images: np.ndarray, columns: int, pixel: int = 1) -> Ints:
    """Rows of images from left to right, on one scale of brightness.

    Parameters
    ----------
    images : (n, height, width) or (n, height, width, channels) with 1 or 3 channels; any finite numbers, of which the
        least becomes black and the largest white, for all images alike.
    columns : images in a row.
    pixel : how many pixels of the picture one of the images takes each way, so that small ones can be seen.

    Returns
    -------
    (h, w, 4) uint8: red, green, blue and opacity.
    """
    images = images[..., None] if images.ndim == 3 else images
    n, height, width, _ = images.shape
    low, high = float(images.min()), float(images.max())
    span = high - low or 1.0
    rows = -(-n // columns)
    picture = np.zeros((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 4), dtype=np.uint8)
    for i, image in enumerate(images):
        top, left = (i // columns) * (height + GAP), (i % columns) * (width + GAP)
        tile = picture[top : top + height, left : left + width]
        tile[..., :3] = np.rint(255 * ((image.astype(np.float64) - low) / span))
        tile[..., 3] = 255
    return picture.repeat(pixel, axis=0).repeat(pixel, axis=1)
