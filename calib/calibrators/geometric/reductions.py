"""Reductions of the training set: fewer numbers a row, or fewer rows (Chouraqui et al. 2023, section 5)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isqrt, prod
from typing import Any, ClassVar, Self

import numpy as np

from calib.calibrators.geometric.training_set import TrainingSet, checked_labels, flattened
from calib.errors import CalibrationError
from calib.numerics import Floats, Ints
from calib.parameters import FLOATS, INTEGERS, Array, Condition, Count, Either, Entries, Text, unusable

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


Arrays = dict[str, np.ndarray]

OF_IMAGES: dict[str, Callable[[Floats, int], Floats]] = {
    "mean_pool": lambda images, factor: pool(images, factor, "mean"),
    "max_pool": lambda images, factor: pool(images, factor, "max"),
    "bilinear": shrink_bilinear,
}

REDUCTIONS = ("none", "mean_pool", "max_pool", "pca", "bilinear", "random_pixels", "kmeans", "random_set")


MOST_NUMBERS = 2**24
"""Numbers in a row of features that a calibrator from a file may ask for."""


def _learned() -> Condition:
    """The condition on a reduced training set; two of its three kinds need arrays to reduce inputs."""
    common: dict[str, Condition] = {
        "factor": Count(1, 32),
        "shape": Array("dimensions", low=1, high=MOST_NUMBERS, kinds=INTEGERS),
        "train_features": Array("rows", "numbers", free=True, kinds=FLOATS),  # TrainingSet looks at each of them
        "train_labels": Array("rows", low=0, kinds=INTEGERS),
    }
    pixels = Array("numbers", low=0, kinds=INTEGERS)
    mean, components = Array("whole", kinds=FLOATS), Array("numbers", "whole", low=-1.001, high=1.001, kinds=FLOATS)
    others = [name for name in REDUCTIONS if name not in ("pca", "random_pixels")]
    return Either(
        Entries(name=Text("pca"), learned_mean=mean, learned_components=components, **common),
        Entries(name=Text("random_pixels"), learned_pixels=pixels, **common),
        Entries(name=Text(*others), **common),
    )


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced training set, and the same reduction of inputs to come, which needs NumPy alone.

    Attributes
    ----------
    name, factor : the reduction and its t; the numbers a row, or the rows, are about t² times fewer.
    shape : shape of one row of the features it was made of.
    train_features : (N', d') float32 or float64.
    train_labels : (N',)
    learned : arrays that the transform needs.
    """

    name: str
    factor: int
    shape: tuple[int, ...]
    train_features: Floats
    train_labels: Ints
    learned: Arrays = field(default_factory=dict)

    LEARNED: ClassVar[Condition] = _learned()
    """What :meth:`state` gives; :meth:`check` looks at the rest."""

    def transform(self, features: Any) -> Floats:
        """Features (n, ...) of new inputs as (n, d') ones to compare with ``train_features``."""
        flat = flattened(features, "features")
        if flat.shape[1] != int(np.prod(self.shape)):
            raise CalibrationError(
                f"The features have {flat.shape[1]} numbers a row but the training features had "
                f"{int(np.prod(self.shape))}. Prepare both in the same way."
            )
        return _apply(self.name, self.factor, flat.reshape(len(flat), *self.shape), self.learned)

    def check(self, n_classes: int) -> None:
        """Raise :class:`~calib.errors.CalibrationError` where no rows of ``shape`` can be compared with its own."""
        try:
            if prod(self.shape) > MOST_NUMBERS or self.train_labels.max() >= n_classes:
                raise ValueError
            row = np.zeros((1, *self.shape), self.train_features.dtype)
            if self.name == "pca" and len(self.learned["mean"]) != _greyed(row).size:
                raise ValueError
            TrainingSet.from_arrays(self.train_features, self.train_labels).queries(self.transform(row), [0])
        except (ValueError, IndexError) as error:
            raise unusable("reduced_ does not fit its own shape or classes") from error

    def state(self) -> dict[str, Any]:
        """All of it as numbers, strings and arrays."""
        return {
            "name": self.name,
            "factor": self.factor,
            "shape": np.asarray(self.shape),
            "train_features": self.train_features,
            "train_labels": self.train_labels,
            **{f"learned_{name}": array for name, array in self.learned.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """What :meth:`state` was taken from."""
        return cls(
            name=str(state["name"]),
            factor=int(state["factor"]),
            shape=tuple(int(size) for size in state["shape"]),
            train_features=state["train_features"],
            train_labels=state["train_labels"],
            learned={name.removeprefix("learned_"): state[name] for name in state if name.startswith("learned_")},
        )


def reduce_training(name: str, factor: int, train_features: Any, train_labels: Any, random_state: int = 0) -> Reduced:
    """Reduce a training set about ``factor``² times.

    Parameters
    ----------
    name : one of :data:`REDUCTIONS`. "kmeans" and "random_set" reduce the rows of each class, the others the numbers
        of a row. All but "none" turn RGB images to grey first; "mean_pool", "max_pool" and "bilinear" read flat
        rows as square images.
    factor : t, at least 1.
    train_features : (N, ...) numbers; images (N, H, W[, C]) as such.
    train_labels : (N,) integers.
    random_state : seed of "pca", "random_pixels", "kmeans" and "random_set".

    Raises
    ------
    CalibrationError
        If there is no such reduction, the factor is below 1, or the features are no images where they must be.
    """
    if name not in REDUCTIONS:
        raise CalibrationError(f"reduction={name!r} is not one of {', '.join(REDUCTIONS)}.")
    if factor < 1:
        raise CalibrationError(f"factor={factor} must be at least 1.")
    flat = flattened(train_features, "training features")
    shape = np.shape(train_features)[1:]
    features = flat.reshape(len(flat), *shape)
    labels = checked_labels(train_labels, len(flat))
    learned: Arrays = {}
    if name == "pca":
        learned = _principal_components(_apply("none", factor, _greyed(features), {}), factor, random_state)
    elif name == "random_pixels":
        n_pixels = _greyed(features)[0].size
        chosen = np.random.default_rng(random_state).choice(n_pixels, _fewer(n_pixels, factor), replace=False)
        learned = {"pixels": np.sort(chosen)}
    reduced = _apply(name, factor, features, learned)
    if name in ("kmeans", "random_set"):
        choose = _centroids if name == "kmeans" else _random_rows
        parts = [choose(reduced[labels == label], factor, random_state) for label in np.unique(labels)]
        labels = np.repeat(np.unique(labels), [len(part) for part in parts])
        reduced = np.concatenate(parts)
    return Reduced(name, factor, shape, reduced, labels, learned)


def _apply(name: str, factor: int, features: Floats, learned: Arrays) -> Floats:
    """The numbers of each row that are left, (n, d')."""
    if name != "none":
        features = _greyed(features)
    if name in OF_IMAGES:
        images = features if features.ndim == 3 else squares(features, name)
        features = OF_IMAGES[name](images, factor)
    flat = features.reshape(len(features), int(np.prod(features.shape[1:])))
    if name == "pca":
        return (flat - learned["mean"]) @ learned["components"].T
    if name == "random_pixels":
        return flat[:, learned["pixels"]]
    return flat


def _greyed(features: Floats) -> Floats:
    return features if features.ndim == 2 else grey(features)


def _fewer(size: int, factor: int) -> int:
    """A t²-th of a size, at least one."""
    return max(1, round(size / factor**2))


def _principal_components(flat: Floats, factor: int, random_state: int) -> Arrays:
    from sklearn.decomposition import PCA

    n_components = min(_fewer(flat.shape[1], factor), *flat.shape)
    fitted = PCA(n_components, random_state=random_state).fit(flat)
    return {"mean": fitted.mean_.astype(flat.dtype), "components": fitted.components_.astype(flat.dtype)}


def _centroids(members: Floats, factor: int, random_state: int) -> Floats:
    """Centroids of one class by k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than centroids: the repeats go below
        fitted = KMeans(_fewer(len(members), factor), n_init=1, random_state=random_state).fit(members)
    return np.unique(fitted.cluster_centers_, axis=0)


def _random_rows(members: Floats, factor: int, random_state: int) -> Floats:
    """Some rows of one class."""
    chosen = np.random.default_rng(random_state).choice(len(members), _fewer(len(members), factor), replace=False)
    return members[np.sort(chosen)]
