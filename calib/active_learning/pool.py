"""The rows of a simulation: a pool whose labels are asked for, and test rows that judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.numerics import Ints

if TYPE_CHECKING:
    from calib.data.predictions import Predictions


@dataclass(frozen=True, eq=False)
class Pool:
    """Features and labels of both parts.

    Attributes
    ----------
    features, labels : (n, d) numbers and (n,) integers in [0, n_classes); labels are hidden until asked for.
    test_features, test_labels : (m, d) and (m,).
    n_classes : classes there are, whether or not each occurs.
    """

    features: npt.NDArray[Any]
    labels: Ints
    test_features: npt.NDArray[Any]
    test_labels: Ints
    n_classes: int

    def __post_init__(self) -> None:
        """Refuse parts that do not belong together.

        Raises
        ------
        CalibrationError
            Naming the part.
        """
        parts = (("pool", self.features, self.labels), ("test set", self.test_features, self.test_labels))
        for name, features, labels in parts:
            if features.ndim != 2 or labels.shape != features.shape[:1] or not len(labels):
                raise CalibrationError(
                    f"The {name} needs features of shape (n, d) with n labels; got {features.shape} and {labels.shape}."
                )
            if labels.min() < 0 or labels.max() >= self.n_classes:
                raise CalibrationError(
                    f"Labels of the {name} must lie in 0..{self.n_classes - 1}; found {labels.min()}..{labels.max()}."
                )
        if self.features.shape[1] != self.test_features.shape[1]:
            raise CalibrationError(
                f"Rows of the pool have {self.features.shape[1]} features, test rows {self.test_features.shape[1]}."
            )

    def __len__(self) -> int:
        return len(self.labels)


def pool_of(data: Predictions, part: float | int | None = None, seed: int = 0) -> Pool:
    """Pool and test rows of a data set with features; its model's outputs take no part.

    Where it brings a training set, that is the pool and all rows are test rows. Otherwise the calibration part of a
    split is the pool.

    Parameters
    ----------
    data : labelled rows with features, images or numbers.
    part, seed : the split, as in ``Predictions.split``, where there is no training set.

    Raises
    ------
    CalibrationError
        If there are no features.
    """
    if data.features is None:
        raise CalibrationError(
            "Active learning trains a classifier, which these data have no features for. Upload features beside the "
            "labels, and train_features with train_labels if there is a training set."
        )
    if data.train_features is not None and data.train_labels is not None:
        return Pool(_flat(data.train_features), data.train_labels, _flat(data.features), data.labels, data.n_classes)
    pool, test = data.split(part, random_state=seed)
    assert pool.features is not None
    assert test.features is not None
    return Pool(_flat(pool.features), pool.labels, _flat(test.features), test.labels, data.n_classes)


def _flat(features: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return features.reshape(len(features), -1)


def shuffled(pool: Pool, seed: int) -> Ints:
    """The order in which the rows of a pool come, the same for every arm."""
    return np.random.default_rng(seed).permutation(len(pool))
