"""Squared Euclidean distances by matrix product, with a bound on their rounding error, and without one by difference.

|x - t|² = |x|² + |t|² - 2 x·t is one BLAS call for many pairs but cancels where x and t are near. It is therefore used
only to decide which pairs can matter; those are computed again from their differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from calib.numerics import Floats, Ints, blocks

CENTRE_ROWS = 256
"""About so many rows give the centre, and are copied at a time."""


@dataclass(frozen=True, eq=False)
class SquaredDistances:
    """All squared distances to a set of points at once.

    Attributes
    ----------
    centre : (d,) mean of some of the points, taken off first: what lies far from the origin would lose its digits.
    points : (N, d) the points less the centre.
    norms : (N,) their squared lengths.
    """

    centre: Floats
    points: Floats
    norms: Floats

    @classmethod
    def to(cls, features: Floats, order: Ints) -> SquaredDistances:
        """Distances to the rows of ``features`` (N, d), with columns in the order of ``order`` (N,)."""
        centre = features[:: max(1, len(features) // CENTRE_ROWS)].mean(axis=0, dtype=np.float64)
        centre = centre.astype(features.dtype)
        points, norms = np.empty_like(features), np.empty(len(features), features.dtype)
        for part in blocks(len(order), entries=CENTRE_ROWS):  # while they are in the processor's cache
            np.subtract(features[order[part]], centre, out=points[part])
            norms[part] = squared_lengths(points[part])
        return cls(centre, points, norms)

    def block(self, features: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Squared distances of (n, d) inputs, in ``out`` (n, N), and for each (n,) by how much they may be wrong."""
        shifted = features - self.centre
        norms = squared_lengths(shifted)
        return self.between(shifted, norms, slice(None), out), self.error(norms)

    def between(self, shifted: Floats, norms: Floats, columns: slice | Ints, out: Floats | None = None) -> Floats:
        """Squared distances of (n, d) centred inputs, with their squared lengths, to the points of some columns."""
        squared = np.matmul(-2 * shifted, self.points[columns].T, out=out)
        squared += self.norms[columns]
        squared += norms[:, None]
        return squared

    def error(self, norms: Floats) -> Floats:
        """Bound on the rounding error for inputs of these squared lengths.

        A sum of d products errs by at most d units of roundoff of |x||t| <= (|x|² + |t|²) / 2 (Higham, Accuracy and
        Stability of Numerical Algorithms, 2002, section 3.1), twice here; the additions, the centring and whatever
        few operations follow add to that, so 32 are allowed for them.
        """
        unit = np.finfo(self.points.dtype).eps / 2
        return (self.points.shape[1] + 32) * unit * (norms + self.largest_norm)

    @cached_property
    def error_between_points(self) -> float:
        """Bound on the rounding error for inputs that are among the points."""
        return float(self.error(self.norms.max(keepdims=True))[0])

    @cached_property
    def largest_norm(self) -> np.floating:
        """Largest squared length of the points."""
        return self.norms.max()


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
