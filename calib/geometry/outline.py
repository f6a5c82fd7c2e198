"""A few coordinates of each training input, from which cheap bounds of the distances between them come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.geometry.squared_distances import SquaredDistances, squared_lengths
from calib.numerics import Floats, Ints

N_DIRECTIONS = 64
SAMPLE = 1024
"""So many rows give the directions; any directions give true bounds, good ones give narrow bounds."""


@dataclass(frozen=True, eq=False)
class Outline:
    """Each point as its coordinates in a subspace and its distance from that subspace.

    Two points that lie r and s from it are at a squared distance between (r - s)² and (r + s)² more than that of their
    coordinates.

    Attributes
    ----------
    coordinates : (N, p)
    norms : (N,) their squared lengths.
    rest : (N,) distance from the subspace.
    error : by how much a bound may be wrong for its rounding.
    """

    coordinates: Floats
    norms: Floats
    rest: Floats
    error: float

    @classmethod
    def of(cls, squared: SquaredDistances) -> Outline:
        """Take the directions along which the points vary most, found from some of them."""
        directions = _leading_directions(squared.points)
        coordinates = squared.points @ directions
        norms = squared_lengths(coordinates)
        # The directions are as good as orthogonal, so coordinates and rest err as little as the distances do.
        return cls(coordinates, norms, np.sqrt(np.maximum(squared.norms - norms, 0)), 4 * squared.error_between_points)

    def bounds(self, rows: Ints, others: Ints) -> tuple[Floats, Floats]:
        """Least and largest squared distance (m, k) between m and k points, without room for rounding."""
        low = self.coordinates[rows] @ (-2 * self.coordinates[others].T)
        low += self.norms[others]
        low += self.norms[rows][:, None]
        rest, other_rest = self.rest[rows][:, None], self.rest[others]
        high = low + (rest + other_rest) ** 2
        low += (rest - other_rest) ** 2
        return low, high


def _leading_directions(points: Floats) -> Floats:
    """Orthonormal directions (d, p) by the randomised range finder (Halko et al. 2011, algorithm 4.4)."""
    generator = np.random.default_rng(0)
    sample = points[generator.choice(len(points), min(SAMPLE, len(points)), replace=False)]
    directions = generator.normal(size=(points.shape[1], N_DIRECTIONS)).astype(points.dtype)
    for _ in range(3):
        directions, _ = np.linalg.qr(sample.T @ (sample @ directions))
    return directions
