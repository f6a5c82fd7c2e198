"""Training inputs ordered by class, with squared distances to them and cheap bounds of these.

|x - t|² = |x|² + |t|² - 2 x·t is one BLAS call for many pairs but cancels where x and t are near. It is therefore used
only to decide which pairs can matter; those are computed again from their differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, Ints, blocks

CENTRE_ROWS = 256
"""About so many rows give the centre, and are copied at a time."""


@dataclass(frozen=True, eq=False)
class SquaredDistances:
    """All squared distances to a set of points at once.

    Attributes
    ----------
    centre : (d,) mean of some of the points, taken off first: what lies far from the origin would lose its digits.
    points : (N, d + 2) each point less the centre, its squared length, and 1.
    """

    centre: Floats
    points: Floats

    @classmethod
    def from_features(cls, features: Floats, order: Ints) -> SquaredDistances:
        """Distances to the rows of ``features`` (N, d), with columns in the order of ``order`` (N,)."""
        centre = features[:: max(1, len(features) // CENTRE_ROWS)].mean(axis=0, dtype=np.float64)
        whole = cls(centre.astype(features.dtype), np.empty((len(order), features.shape[1] + 2), features.dtype))
        for part in blocks(len(order), entries=CENTRE_ROWS):  # while they are in the processor's cache
            whole.centred(features[order[part]], out=whole.points[part])
        return whole

    @property
    def norms(self) -> Floats:
        """(N,) squared lengths of the points."""
        return self.points[:, -2]

    def block(self, features: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Squared distances of (n, d) inputs, in ``out`` (n, N), and for each (n,) by how much they may be wrong."""
        inputs = self.centred(features)
        return np.matmul(as_factors(inputs), self.points.T, out=out), self.error(inputs[:, -2])

    def centred(self, features: Floats, out: Floats | None = None) -> Floats:
        """Inputs (n, d) as the points are held."""
        inputs = np.empty((len(features), features.shape[1] + 2), features.dtype) if out is None else out
        np.subtract(features, self.centre, out=inputs[:, :-2])
        inputs[:, -2] = squared_lengths(inputs[:, :-2])
        inputs[:, -1] = 1
        return inputs

    def error(self, norms: Floats) -> Floats:
        """Bound on the rounding error for inputs of these squared lengths, also of products too small for the dtype."""
        return self.rounding * (norms + self.largest_norm) + np.finfo(self.points.dtype).tiny

    @property
    def rounding(self) -> float:
        """Bound on the rounding error for each unit of |x|² + |t|².

        A sum of products errs by at most so many units of roundoff of their sizes, as there are products (Higham,
        Accuracy and Stability of Numerical Algorithms, 2002, section 3.1), and |x|² + |t|² + 2|x||t| is at most twice
        |x|² + |t|². The centring and whatever few operations follow add to that, so 32 are allowed for them.
        """
        return (self.points.shape[1] + 32) * float(np.finfo(self.points.dtype).eps)

    @cached_property
    def error_between_points(self) -> float:
        """Bound on the rounding error for inputs that are among the points."""
        return float(self.error(self.norms).max())

    @cached_property
    def largest_norm(self) -> np.floating:
        """Largest squared length of the points."""
        return self.norms.max()

    def bounds(self, squared: Floats, rows: Ints, others: Ints | slice) -> tuple[Floats, Floats]:
        """Least and largest squared distance where their products are ``squared``, which it may change."""
        squared -= self.error_between_points
        return squared, squared + 2 * self.error_between_points


def as_factors(points: Floats) -> Floats:
    """Rows whose products with held points are squared distances: (-2x, 1, |x|²) for (x, |x|², 1).

    |x|² + |t|² - 2 x·t is then one product, without passes over a large array for each of the sums.
    """
    factors = -2 * points
    factors[..., -2] = 1
    factors[..., -1] = points[..., -2]
    return factors


def squared_lengths(points: Floats) -> Floats:
    """|t|² of each of (N, d) points, summed in float64 and returned in their precision."""
    return np.einsum("ij,ij->i", points, points, dtype=np.float64).astype(points.dtype)


def pairwise_l2(features: Floats, rows: Ints, others: Floats, other_rows: Ints) -> Floats:
    """Euclidean distance of ``features[rows]`` from ``others[other_rows]``, pair by pair, in float64."""
    distances = np.empty(len(rows))
    for part in blocks(len(rows), features.shape[1]):
        gaps = features[rows[part]].astype(np.float64)
        gaps -= others[other_rows[part]]
        distances[part] = np.sqrt(np.einsum("ij,ij->i", gaps, gaps))
    return distances


N_DIRECTIONS = 64
SAMPLE = 1024
"""So many rows give the directions; any directions give true bounds, good ones give narrow bounds."""


ROUNDING = 8
"""The directions are orthogonal to rounding, so outlines err by no more than some times what distances do."""

MOST_OUTSIDE = 0.5
"""Where more than this share of the squared lengths lies outside the subspace, its bounds rule too little out."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Each point as its coordinates in a subspace and, as one more, its distance from that subspace.

    Outlines are never further apart than their points: two points that lie r and s from the subspace are at a squared
    distance between (r - s)² and (r + s)² more than that of their coordinates.

    Attributes
    ----------
    directions : (d, p) orthonormal.
    whole : the distances that these bound.
    points : (N, p + 3) coordinates, distance from the subspace at the most, squared length of the whole point, and 1.
    """

    directions: Floats
    whole: SquaredDistances
    points: Floats

    @classmethod
    def from_distances(cls, whole: SquaredDistances) -> Outline | None:
        """Take the directions along which the points vary most, found from some of them; None if they tell little."""
        generator = np.random.default_rng(0)
        points = whole.points
        sample = points[generator.choice(len(points), min(SAMPLE, len(points)), replace=False)]
        directions = _leading_directions(sample[:, :-2], generator)
        if np.square(_outlined(sample, directions, whole.rounding)[:, -3]).sum() > MOST_OUTSIDE * sample[:, -2].sum():
            return None
        return cls(directions, whole, _outlined(points, directions, whole.rounding))

    def block(self, features: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Lower bounds of the squared distances of (n, d) inputs, in ``out`` (n, N), each wrong by (n,) at most."""
        inputs = self.whole.centred(features)
        factors = as_factors(_outlined(inputs, self.directions, self.whole.rounding))
        return np.matmul(factors, self.points.T, out=out), ROUNDING * self.whole.error(inputs[:, -2])

    def bounds(self, squared: Floats, rows: Ints, others: Ints | slice) -> tuple[Floats, Floats]:
        """Least and largest squared distance (m, k) where their products are ``squared``, which it may change.

        Parameters
        ----------
        rows : (m,) the points of its rows.
        others : the points of its columns, or (m, k) if they differ from row to row.
        """
        error = ROUNDING * self.whole.error_between_points
        squared -= error
        return squared, squared + (2 * error + 4 * self.points[rows, -3, None] * self.points[others, -3])


def _outlined(points: Floats, directions: Floats, rounding: float) -> Floats:
    """Outlines (n, p + 3) of centred points (n, d + 2).

    The squared distance from the subspace is |t|² less that of the coordinates. What rounding may have taken from it is
    added, as the bounds hold for any number that is not below the distance.
    """
    outlines = np.empty((len(points), directions.shape[1] + 3), points.dtype)
    coordinates = np.matmul(points[:, :-2], directions, out=outlines[:, :-3])
    norms = points[:, -2]
    outside = np.maximum(norms - squared_lengths(coordinates), 0) + ROUNDING * rounding * norms
    outlines[:, -3] = np.sqrt(outside)
    outlines[:, -2:] = points[:, -2:]
    return outlines


def _leading_directions(sample: Floats, generator: np.random.Generator) -> Floats:
    """Orthonormal directions (d, p) by the randomised range finder (Halko et al. 2011, algorithm 4.4)."""
    directions = generator.normal(size=(sample.shape[1], N_DIRECTIONS)).astype(sample.dtype)
    for _ in range(3):
        directions, _ = np.linalg.qr(sample.T @ (sample @ directions))
    return directions


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
    def from_arrays(cls, train_features: Any, train_labels: Any) -> TrainingSet:
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
        return SquaredDistances.from_features(self.features, self.order)

    @cached_property
    def outline(self) -> Outline | None:
        """A few coordinates of each row, in the columns' order; None where they would spare little."""
        return Outline.from_distances(self.squared) if self.features.shape[1] >= LEAST_NUMBERS else None


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
    if any(not np.abs(array[rows]).max(initial=0) < largest for rows in blocks(*array.shape)):
        bad = sum(int(np.count_nonzero(~(np.abs(array[rows]) < largest).all(axis=1))) for rows in blocks(*array.shape))
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
