"""Reductions of the training set: fewer numbers a row, or fewer rows (Chouraqui et al. 2023, section 5)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt, prod
from typing import Any

import numpy as np

from calib.calibrators.geometric.search import class_numbers, flattened
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints

LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in a grey value (ITU-R BT.601)."""

LARGEST_FACTOR = 32


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


def squares(features: Floats) -> Floats:
    """Flat features (n, d) read as one square image each, (n, sqrt d, sqrt d)."""
    side = isqrt(features.shape[1])
    if side * side != features.shape[1]:
        raise CalibrationError(
            f"This reduction needs images, and rows of {features.shape[1]} numbers are no square image. "
            'Give features of shape (n, H, W), or choose "pca" or "random_pixels".'
        )
    return features.reshape(len(features), side, side)


def pool(images: Floats, factor: int, gather: np.ufunc) -> Floats:
    """Each ``factor`` x ``factor`` window gathered by ``np.add`` or ``np.maximum``; those at the far edges are smaller.

    (n, H, W) to (n, ceil(H / factor), ceil(W / factor)), in the images' precision.
    """
    for axis in (1, 2):
        images = gather.reduceat(images, np.arange(0, images.shape[axis], factor), axis=axis)
    return images


def mean_pool(images: Floats, factor: int) -> Floats:
    """Mean of each window of :func:`pool`."""
    return pool(images, factor, np.add) / pool(np.ones_like(images[:1]), factor, np.add)


def max_pool(images: Floats, factor: int) -> Floats:
    """Maximum of each window of :func:`pool`."""
    return pool(images, factor, np.maximum)


def shrink_bilinear(images: Floats, factor: int) -> Floats:
    """Bilinear interpolation at the centres of a grid that is ``factor`` times coarser, (n, H, W) to (n, h, w)."""
    rows, columns = (_weights(size, factor).astype(images.dtype) for size in images.shape[1:])
    return rows @ images @ columns.T


def _weights(size: int, factor: int) -> Floats:
    """Weights (ceil(size / factor), size) of the pixels at each new centre."""
    new = -(-size // factor)
    centres = np.clip((np.arange(new) + 0.5) * (size / new) - 0.5, 0, size - 1)
    return np.maximum(0.0, 1.0 - np.abs(centres[:, None] - np.arange(size)))


OF_IMAGES: dict[str, Callable[[Floats, int], Floats]] = {
    "mean_pool": mean_pool,
    "max_pool": max_pool,
    "bilinear": shrink_bilinear,
}

REDUCED_BY = {
    "mean_pool": "mean pooling",
    "max_pool": "max pooling",
    "pca": "principal components",
    "bilinear": "bilinear resizing",
    "random_pixels": "a random choice of pixels",
    "kmeans": "k-means centroids",
    "random_set": "a random choice of rows",
}
"""Name of each reduction in sentences."""

REDUCTIONS = ("none", *REDUCED_BY)


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced training set, and the same reduction of inputs to come, which needs NumPy alone.

    Attributes
    ----------
    name, factor : the reduction and its t; the numbers a row, or the rows, are about t² times fewer.
    shape : shape of one row of the features it was made of.
    train_features : (N', d') float32 or float64.
    train_labels : (N',)
    mean, components : of "pca", (d,) and (d', d).
    pixels : of "random_pixels", the (d',) numbers of those that stay.
    """

    name: str
    factor: int
    shape: list[int]
    train_features: Floats
    train_labels: Ints
    mean: Floats | None = None
    components: Floats | None = None
    pixels: Ints | None = None

    def state(self) -> dict[str, Any]:
        """Everything as numbers, text, lists and arrays, of which ``Reduced(**state)`` makes it again."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def transform(self, features: Any) -> Floats:
        """Features (n, ...) of new inputs as (n, d') ones to compare with ``train_features``."""
        flat = flattened(features, "features", prod(self.shape))
        images = flat.reshape(len(flat), *self.shape)
        if self.name in OF_IMAGES:
            images = squares(images) if images.ndim == 2 else grey(images)
            return _rows(OF_IMAGES[self.name](images, self.factor))
        reduced = flat if self.name == "none" else _grey_rows(images)
        if self.mean is not None and self.components is not None:
            return (reduced - self.mean) @ self.components.T
        return reduced if self.pixels is None else reduced[:, self.pixels]


def reduce_training(
    name: str, factor: int, train_features: Any, train_labels: Any, random_state: int = 0
) -> Reduced:
    """Reduce a training set about ``factor``² times.

    Parameters
    ----------
    name : str
        One of :data:`REDUCTIONS`. "kmeans" and "random_set" reduce the rows of each class, the others the numbers of a
        row. All but "none" turn RGB images to grey first; "mean_pool", "max_pool" and "bilinear" read flat rows as
        square images.
    factor : int
        By how much, t; at least 1.
    train_features : array_like of shape (N, ...)
        Numbers; images (N, H, W[, C]) as such.
    train_labels : array_like of shape (N,)
        Integers.
    random_state : int, default 0
        Seed of "pca", "random_pixels", "kmeans" and "random_set".
    """
    if name not in REDUCTIONS:
        raise CalibrationError(f"reduction={name!r} is not one of {', '.join(REDUCTIONS)}.")
    if factor < 1:
        raise CalibrationError(f"factor={factor} must be at least 1.")
    flat = flattened(train_features, "training features")
    labels = class_numbers(train_labels, len(flat), "training labels")
    shape = list(np.shape(train_features)[1:])
    learned: dict[str, Any] = {}
    if name in ("pca", "random_pixels"):
        rows = _grey_rows(flat.reshape(len(flat), *shape))
        n_fewer = _fewer(rows.shape[1], factor)
        if name == "pca":
            learned = _principal_components(rows, min(n_fewer, len(rows)), random_state)
        else:
            chosen = np.random.default_rng(random_state).choice(
                rows.shape[1], n_fewer, replace=False
            )
            learned = {"pixels": np.sort(chosen)}
    reduced = Reduced(name, factor, shape, flat, labels, **learned).transform(flat)
    if name in ("kmeans", "random_set"):
        choose = _centroids if name == "kmeans" else _random_rows
        classes = np.unique(labels)
        parts = [choose(reduced[labels == label], factor, random_state) for label in classes]
        labels = np.repeat(classes, [len(part) for part in parts])
        reduced = np.concatenate(parts)
    return Reduced(name, factor, shape, reduced, labels, **learned)


def _rows(features: Floats) -> Floats:
    return features.reshape(len(features), prod(features.shape[1:]))


def _grey_rows(features: Floats) -> Floats:
    """Flat features (n, d) as they are, and the pixels of images in grey."""
    return features if features.ndim == 2 else _rows(grey(features))


def _fewer(size: int, factor: int) -> int:
    """A t²-th of a size, at least one."""
    return max(1, round(size / factor**2))


def _principal_components(flat: Floats, n_components: int, random_state: int) -> dict[str, Floats]:
    from sklearn.decomposition import PCA

    fitted = PCA(n_components, random_state=random_state).fit(flat)
    return {
        "mean": fitted.mean_.astype(flat.dtype),
        "components": fitted.components_.astype(flat.dtype),
    }


def _centroids(members: Floats, factor: int, random_state: int) -> Floats:
    """Centroids of one class by k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ConvergenceWarning
        )  # fewer distinct rows than centroids: the repeats go below
        fitted = KMeans(_fewer(len(members), factor), n_init=1, random_state=random_state).fit(
            members
        )
    return np.unique(fitted.cluster_centers_, axis=0)


def _random_rows(members: Floats, factor: int, random_state: int) -> Floats:
    """Some rows of one class."""
    chosen = np.random.default_rng(random_state).choice(
        len(members), _fewer(len(members), factor), replace=False
    )
    return members[np.sort(chosen)]
