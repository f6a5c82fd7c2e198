"""Interpolation on a uniform grid and from Chebyshev points, in NumPy alone.

The latent function of GPcalib is one-dimensional, so functions of every logit become vectors on a grid of a
few hundred nodes, and sums over classes become products with a matrix of interpolation weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from calib.calibrators.steps import Step, lines
from calib.numerics import Floats, Ints


@dataclass(frozen=True)
class Grid:
    """Equally spaced nodes from ``low`` to ``high``; inputs outside are moved to the nearer end.

    Attributes
    ----------
    low, high : the ends, low < high.
    size : number of nodes, at least 4.
    order : 3 for cubic interpolation (Lagrange on four nodes), 1 for linear.
    """

    low: float
    high: float
    size: int
    order: int = 3

    @cached_property
    def nodes(self) -> Floats:
        """The nodes, shape (size,)."""
        return np.linspace(self.low, self.high, self.size)

    @property
    def spacing(self) -> float:
        """Distance of neighbouring nodes."""
        return (self.high - self.low) / (self.size - 1)

    def window(self, low: float, high: float) -> tuple[slice, Grid]:
        """The smallest part of this grid that inputs in [low, high] touch, and where its nodes lie in it."""
        ends = self.stencil(np.array([low, high])).first
        start = int(ends[0])
        stop = int(ends[1]) + self.order + 1
        last = self.low + (stop - 1) * self.spacing
        return slice(start, stop), Grid(
            self.low + start * self.spacing, last, stop - start, self.order
        )

    def stencil(self, inputs: Floats) -> Stencil:
        """The nodes and weights that interpolate at ``inputs``, of any shape."""
        at = np.clip((inputs - self.low) * (1.0 / self.spacing), 0.0, self.size - 1.0)
        before = 1 if self.order == 3 else 0
        first = np.clip(at.astype(np.int64) - before, 0, self.size - 1 - self.order)
        x = at - first
        if self.order == 1:
            return Stencil(self.size, first, [1.0 - x, x])
        x1 = x - 1.0
        x2 = x - 2.0
        x3 = x - 3.0
        lower = x * x1
        upper = x2 * x3
        return Stencil(
            self.size,
            first,
            [x1 * upper / -6.0, x * upper / 2.0, lower * x3 / -2.0, lower * x2 / 6.0],
        )

    def interpolate(self, values: Floats, inputs: Floats) -> Floats:
        """Values at ``inputs`` of the function known at the nodes; see :meth:`Stencil.interpolate`."""
        return self.stencil(inputs).interpolate(values)

    def polynomials(self, values: Floats) -> Step:
        """:meth:`interpolate` as a step: polynomials between the nodes, level beyond them."""
        h, nodes = self.spacing, self.nodes
        if self.order == 1:
            return lines(nodes, values)
        # Through four neighbouring values, in units of the spacing from the second of their nodes (Lagrange).
        y0, y1, y2, y3 = (values[step : len(values) - 3 + step] for step in range(4))
        first = (-y0 / 3 - y1 / 2 + y2 - y3 / 6) / h
        second = ((y0 + y2) / 2 - y1) / h**2
        third = ((y3 - y0) / 6 + (y1 - y2) / 2) / h**3
        coefficients = np.pad(np.stack([y1, first, second, third]), ((0, 0), (1, 1)))
        coefficients[0, [0, -1]] = values[[0, -1]]
        return {
            "step": "piecewise",
            "breaks": np.concatenate([nodes[:1], nodes[2:-2], nodes[-1:]]),
            "origins": np.concatenate([nodes[:1], nodes[1:-2], nodes[-1:]]),
            "coefficients": coefficients,
        }


@dataclass(frozen=True, eq=False)
class Stencil:
    """Positions of inputs on a grid: each has ``len(weights)`` neighbouring nodes.

    Attributes
    ----------
    size : number of nodes of the grid.
    first : the first node of each input.
    weights : one array of the inputs' shape for each neighbour; they sum to one.
    """

    size: int
    first: Ints
    weights: list[Floats]

    def interpolate(self, values: Floats) -> Floats:
        """Values at the inputs of a function known at the nodes.

        Parameters
        ----------
        values : (size,) one function, or (n, size) one for each row of (n, m) inputs.
        """
        first = self.first if values.ndim == 1 else self._in_rows()
        flat = values.ravel()
        result = self.weights[0] * flat[first]
        for step, weight in enumerate(self.weights[1:], start=1):
            result += weight * flat[first + step]
        return result

    def collect(self, mass: Floats) -> Floats:
        """Spread each row's masses over the nodes: the transpose of :meth:`interpolate`.

        Parameters
        ----------
        mass : (n, m), as the inputs.

        Returns
        -------
        (n, size) array H with ``H @ values == (mass * interpolate(values)).sum(axis=1)``.
        """
        n = len(mass)
        cells = self._in_rows().ravel()
        flat = np.zeros(n * self.size + len(self.weights))
        for step, weight in enumerate(self.weights):
            # The first nodes of the last row end len(weights) before its end, so no shift leaves the array.
            flat[step : step + n * self.size] += np.bincount(
                cells, (mass * weight).ravel(), minlength=n * self.size
            )
        return flat[: n * self.size].reshape(n, self.size)

    def sparse(self, mass: Floats) -> Any:
        """The array of :meth:`collect` as a SciPy sparse array."""
        from scipy.sparse import csr_array

        columns = self.first[..., None] + np.arange(len(self.weights))
        rows = np.broadcast_to(np.arange(len(mass))[:, None, None], columns.shape)
        values = mass[..., None] * np.stack(self.weights, axis=-1)
        return csr_array(
            (values.ravel(), (rows.ravel(), columns.ravel())), shape=(len(mass), self.size)
        )

    def _in_rows(self) -> Ints:
        return self.first + (np.arange(len(self.first)) * self.size)[:, None]


N_FEATURES = 96
"""Enough for an RBF kernel whose lengthscale is at least a 32nd of the range, to about 1e-8."""

SHORTEST = 1.0 / 32.0


def chebyshev(low: float, high: float, n_points: int, inputs: Floats) -> tuple[Floats, Floats]:
    """Chebyshev points c of a range, and the matrix P that interpolates polynomially from them at ``inputs``.

    The kernel matrix of the inputs is then ``P K(c, c) P^T``, whatever the lengthscale, so P is computed once.

    Returns
    -------
    points, weights : (n_points,) and (len(inputs), n_points)
    """
    unit = (2.0 * inputs - (low + high)) / (high - low)
    at_points = chebvander(chebpts1(n_points), n_points - 1)
    at_inputs = chebvander(unit, n_points - 1)
    return chebyshev_points(low, high, n_points), np.linalg.solve(at_points.T, at_inputs.T).T


def chebyshev_points(low: float, high: float, n_points: int) -> Floats:
    """Points between ``low`` and ``high`` from which polynomials interpolate well, shape (n_points,)."""
    return (low + high) / 2.0 + (high - low) / 2.0 * chebpts1(n_points)
