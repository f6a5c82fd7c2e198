"""A few coordinates of each training input, from which cheap bounds of the distances between them come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.geometry.squared_distances import SquaredDistances, squared_lengths
from calib.numerics import Floats, Ints, blocks

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
    points : (N, p + 1)
    error : by how much a bound between two points may be wrong for its rounding.
    """

    directions: Floats
    whole: SquaredDistances
    points: Floats
    error: float

    @classmethod
    def of(cls, whole: SquaredDistances) -> Outline | None:
        """Take the directions along which the points vary most, found from some of them; None if they tell little."""
        directions = _leading_directions(whole.points)
        points = _outlined(whole.points, directions)
        if float(np.square(points[:, -1]).sum()) > MOST_OUTSIDE * float(whole.norms.sum()):
            return None
        return cls(directions, whole, points, ROUNDING * whole.error_between_points)

    def block(self, features: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Lower bounds of the squared distances of (n, d) inputs, in ``out`` (n, N), each wrong by (n,) at most."""
        shifted = features - self.whole.centre
        norms = squared_lengths(shifted)
        np.matmul(-2 * _outlined(shifted, self.directions), self.points.T, out=out)
        out += self.whole.norms
        out += norms[:, None]
        return out, ROUNDING * self.whole.error(norms)

    def bounds(self, rows: Ints, others: Ints) -> tuple[Floats, Floats]:
        """Least and largest squared distance (m, k) between m and k points, with room for rounding."""
        points, other_points = self.points[rows], self.points[others]
        low = points @ (-2 * other_points.T)
        low += self.whole.norms[others] - self.error
        low += self.whole.norms[rows][:, None]
        return low, low + (2 * self.error + 4 * points[:, -1:] * other_points[:, -1])


def _outlined(shifted: Floats, directions: Floats) -> Floats:
    """Outlines (n, p + 1) of centred points."""
    points = np.empty((len(shifted), directions.shape[1] + 1), shifted.dtype)
    for part in blocks(len(shifted), entries=SAMPLE):
        coordinates = shifted[part] @ directions
        points[part, :-1] = coordinates
        # Not from |t|² less that of the coordinates: its root would have half the digits where it is small.
        points[part, -1] = np.sqrt(squared_lengths(shifted[part] - coordinates @ directions.T))
    return points


def _leading_directions(points: Floats) -> Floats:
    """Orthonormal directions (d, p) by the randomised range finder (Halko et al. 2011, algorithm 4.4)."""
    generator = np.random.default_rng(0)
    sample = points[generator.choice(len(points), min(SAMPLE, len(points)), replace=False)]
    directions = generator.normal(size=(points.shape[1], N_DIRECTIONS)).astype(points.dtype)
    for _ in range(3):
        directions, _ = np.linalg.qr(sample.T @ (sample @ directions))
    return directions
