"""The training inputs in order of their class, as every search reads them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calib.base import CalibrationError
from calib.geometry.outline import Outline
from calib.geometry.squared_distances import SquaredDistances
from calib.numerics import Floats, Ints, blocks

LEAST_NUMBERS = 256
"""Shorter rows are compared whole at once."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Training inputs and their classes, made once and searched often.

    Attributes
    ----------
    features : (N, d) float32 or float64, in the order given; not copied where it already is so.
    order : (N,) row numbers, sorted by class and then by number.
    classes : (C,) the distinct classes, ascending.
    starts : (C + 1,) where each class begins in ``order``.
    """

    features: Floats
    order: Ints
    classes: Ints
    starts: Ints

    @classmethod
    def of(cls, train_features: Any, train_labels: Any) -> TrainingSet:
        """Check and order a training set.

        Parameters
        ----------
        train_features : (N, ...) numbers; images are flattened.
        train_labels : (N,) integers, the true class of each row.

        Raises
        ------
        CalibrationError
            If there are no rows, the lengths differ, or the features hold NaN, infinite or far too large values.
        """
        features = flattened(train_features, "training features")
        labels = checked_labels(train_labels, len(features))
        if not len(features):
            raise CalibrationError("The training set has no rows; give the inputs the model was trained on.")
        order = np.argsort(labels, kind="stable")
        classes, starts = np.unique(labels[order], return_index=True)
        return cls(features, order, classes, np.append(starts, len(order)))

    def queries(self, features: Any, predicted: Any) -> tuple[Floats, Ints]:
        """Inputs to look up, (n, d) in the training set's precision, and the class predicted for each."""
        flat = flattened(features, "features").astype(self.features.dtype, copy=False)
        if flat.shape[1] != self.features.shape[1]:
            raise CalibrationError(
                f"The features have {flat.shape[1]} numbers a row but the training features have "
                f"{self.features.shape[1]}. Prepare both in the same way."
            )
        classes = np.asarray(predicted)
        if classes.shape != (len(flat),) or classes.dtype.kind not in "iub":
            raise CalibrationError(
                f"The predicted classes must be {len(flat)} integers, one for each row of the features; "
                f"got {classes.dtype} of shape {classes.shape}."
            )
        return flat, classes

    def columns_of(self, label: int) -> slice:
        """Where a class lies in ``order``; empty for a class that is not in the training set."""
        at = int(np.searchsorted(self.classes, label))
        if at == len(self.classes) or self.classes[at] != label:
            return slice(0, 0)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))

    @cached_property
    def column_of(self) -> Ints:
        """Where each row lies in ``order``."""
        columns = np.empty_like(self.order)
        columns[self.order] = np.arange(len(self.order))
        return columns

    @cached_property
    def squared(self) -> SquaredDistances:
        """Squared Euclidean distances to all rows, in the columns' order; holds one copy of the features."""
        return SquaredDistances.to(self.features, self.order)

    @cached_property
    def outline(self) -> Outline | None:
        """A few coordinates of each row, in the columns' order; None where they would spare little."""
        return Outline.of(self.squared) if self.features.shape[1] >= LEAST_NUMBERS else None


def flattened(features: Any, name: str) -> Floats:
    """Features as float32 or float64 of shape (n, d); a view where the array allows it."""
    array = np.asarray(features)
    if array.ndim < 2 or array.dtype.kind not in "fiub":
        raise CalibrationError(
            f"The {name} must be numbers of shape (n, d) or images; got {array.dtype} {array.shape}."
        )
    small = array.dtype.itemsize <= 2 or array.dtype == np.float32  # float32 holds 8 and 16 bits exactly
    array = array.astype(np.float32 if small else np.float64, copy=False)
    array = array.reshape(len(array), int(np.prod(array.shape[1:])))
    largest = np.sqrt(np.finfo(array.dtype).max / max(array.shape[1], 1)) / 8  # a squared distance stays finite
    bad = sum(int(np.count_nonzero(~(np.abs(array[rows]) < largest).all(axis=1))) for rows in blocks(*array.shape))
    if bad:
        raise CalibrationError(
            f"{bad} of {len(array)} rows of the {name} hold NaN, infinite or far too large values. "
            "Leave these rows out, or normalise the features."
        )
    return array


def checked_labels(train_labels: Any, n: int) -> Ints:
    """The training labels as an array of n integers."""
    labels = np.asarray(train_labels)
    if labels.shape != (n,) or labels.dtype.kind not in "iub":
        raise CalibrationError(
            f"The training labels must be {n} integers, one for each row of the training features; "
            f"got {labels.dtype} of shape {labels.shape}."
        )
    return labels
