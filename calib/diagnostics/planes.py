"""Two-dimensional pictures of one input among the training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.calibrators.geometric.training_set import TrainingSet
from calib.numerics import Floats, Ints

MOST_POINTS = 1000
MOST_NUMBERS = 20_000_000
"""At most so many numbers of the training set are looked at for its principal components."""


@dataclass(frozen=True, eq=False)
class DecidingPlane:
    """The plane through an input x, at the origin, and the pair x', x'' that decides its separation.

    The first axis points from x' to x''. All distances among the three are true, and so is that of x from the plane
    half-way between x' and x'', which stands on this one as the line ``axis = border``: their exact separation.

    Attributes
    ----------
    same, other : (2,) coordinates of x' and x''.
    border : where the half-way line cuts the first axis.
    """

    same: Floats
    other: Floats
    border: float

    @classmethod
    def through(cls, feature: Floats, same: Floats, other: Floats) -> DecidingPlane:
        """The plane of three points (d,), of which the last two differ."""
        to_same, to_other = (point.astype(np.float64) - feature for point in (same, other))
        normal = to_other - to_same
        normal /= np.linalg.norm(normal)
        height = float(np.linalg.norm(to_same - (to_same @ normal) * normal))
        ends = np.array([to_same @ normal, height]), np.array([to_other @ normal, height])
        return cls(*ends, float(ends[0][0] + ends[1][0]) / 2)


@dataclass(frozen=True, eq=False)
class PrincipalPlane:
    """Training inputs on their first two principal components.

    Attributes
    ----------
    rows : (m,) rows of the training set that are shown; a seeded draw where there are more.
    places : (m, 2) where they lie.
    mean : (d,) and ``components`` : (2, d), zero where the data have fewer dimensions.
    kept : share of the variance along both.
    """

    rows: Ints
    places: Floats
    mean: Floats
    components: Floats
    kept: float

    def place(self, features: Floats) -> Floats:
        """Inputs (n, d) on the plane, (n, 2); never farther apart than they are."""
        return (features.astype(np.float64) - self.mean) @ self.components.T


def principal_plane(training: TrainingSet, random_state: int = 0) -> PrincipalPlane:
    """First two principal components of the training inputs, or of a seeded draw of up to 1,000."""
    n, d = training.features.shape
    m = min(n, MOST_POINTS, max(2, MOST_NUMBERS // max(d, 1)))
    rows = np.sort(np.random.default_rng(random_state).choice(n, m, replace=False))
    points = training.features[rows].astype(np.float64)
    mean = points.mean(axis=0)
    points -= mean
    components = np.zeros((2, d))
    # The smaller of both products of the data with themselves has the same largest eigenvalues.
    few_rows = m < d
    values, vectors = np.linalg.eigh(points @ points.T if few_rows else points.T @ points)
    for axis in range(min(2, len(values))):
        if values[-1 - axis] > 1e-12 * max(values[-1], 1e-300):
            direction = points.T @ vectors[:, -1 - axis] if few_rows else vectors[:, -1 - axis]
            components[axis] = direction / np.linalg.norm(direction)
    total = float(np.clip(values, 0, None).sum())
    kept = float(values[-2:].sum()) / total if total > 0 else 1.0
    return PrincipalPlane(rows, points @ components.T, mean, components, kept)
