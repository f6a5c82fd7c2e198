"""A smooth kernel on a grid as a small matrix between fixed features."""

from __future__ import annotations

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from calib.gp.grid import Grid
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
    points = chebpts1(n_features)
    on_grid = np.linspace(-1.0, 1.0, grid.size)
    weights = np.linalg.solve(chebvander(points, n_features - 1).T, chebvander(on_grid, n_features - 1).T).T
    middle, half = (grid.low + grid.high) / 2.0, (grid.high - grid.low) / 2.0
    return middle + half * points, weights
