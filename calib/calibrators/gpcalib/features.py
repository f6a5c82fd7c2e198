"""Smooth functions on a range by their values at a few fixed points."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from calib.calibrators.gpcalib.interpolation import Grid
from calib.numerics import Floats

N_FEATURES = 96
"""Enough for an RBF kernel whose lengthscale is at least a 32nd of the range, to about 1e-8."""

SHORTEST = 1.0 / 32.0


def chebyshev_features(grid: Grid, n_features: int = N_FEATURES) -> tuple[Floats, Floats]:
    """Chebyshev points c on the grid's range, and the matrix P that interpolates polynomially from them.

    ``K(nodes, nodes)`` is then ``P K(c, c) P^T``, whatever the lengthscale, so P is computed once.

    Returns
    -------
    points : (n_features,)
    weights : (grid.size, n_features)
    """
    return chebyshev_points(grid.low, grid.high, n_features), chebyshev_weights(
        grid.low, grid.high, n_features, grid.nodes
    )


def chebyshev_points(low: float, high: float, n_points: int) -> Floats:
    """Points between ``low`` and ``high`` from which polynomials interpolate well, shape (n_points,)."""
    return (low + high) / 2.0 + (high - low) / 2.0 * chebpts1(n_points)


def chebyshev_weights(low: float, high: float, n_points: int, inputs: Floats) -> Floats:
    """Weights, shape (len(inputs), n_points), that interpolate at ``inputs`` from the points of that range."""
    unit = (2.0 * inputs - (low + high)) / (high - low)
    at_points, at_inputs = chebvander(chebpts1(n_points), n_points - 1), chebvander(unit, n_points - 1)
    return np.linalg.solve(at_points.T, at_inputs.T).T
