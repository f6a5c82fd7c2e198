"""Cubic and linear interpolation on a uniform grid, in NumPy alone.

The latent function of GPcalib is one-dimensional, so functions of every logit become vectors on a grid of a
few hundred nodes, and sums over classes become products with a matrix of interpolation weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
        ends, _ = self.stencil(np.array([low, high]))
        start, stop = int(ends[0]), int(ends[1]) + self.order + 1
        last = self.low + (stop - 1) * self.spacing
        return slice(start, stop), Grid(self.low + start * self.spacing, last, stop - start, self.order)

    def stencil(self, inputs: Floats) -> tuple[Ints, list[Floats]]:
        """First node and the ``order + 1`` weights for each input; the weights sum to one."""
        at = np.clip((inputs - self.low) / self.spacing, 0.0, self.size - 1.0)
        before = 1 if self.order == 3 else 0
        first = np.clip(at.astype(np.int64) - before, 0, self.size - 1 - self.order)
        x = at - first
        if self.order == 1:
            return first, [1.0 - x, x]
        x1, x2, x3 = x - 1.0, x - 2.0, x - 3.0
        left, right = x * x1, x2 * x3
        return first, [x1 * right / -6.0, x * right / 2.0, left * x3 / -2.0, left * x2 / 6.0]

    def interpolate(self, values: Floats, inputs: Floats) -> Floats:
        """Values at ``inputs`` of the function known at the nodes.

        Parameters
        ----------
        values : (size,) one function, or (n, size) one for each row of ``inputs``.
        inputs : (...) any shape for one function, else (n, m).
        """
        first, weights = self.stencil(inputs)
        if values.ndim == 2:
            first += (np.arange(len(values)) * self.size)[:, None]
        flat = values.ravel()
        result = weights[0] * flat[first]
        for step, weight in enumerate(weights[1:], start=1):
            result += weight * flat[first + step]
        return result

    def collect(self, inputs: Floats, *masses: Floats) -> list[Floats]:
        """Spread each row's masses over the nodes: the transpose of :meth:`interpolate`.

        Parameters
        ----------
        inputs : (n, m) where the masses lie.
        *masses : (n, m) each.

        Returns
        -------
        One (n, size) array H per mass, with ``H @ values == (mass * interpolate(values, inputs)).sum(axis=1)``.
        """
        n = len(inputs)
        first, weights = self.stencil(inputs)
        first += (np.arange(n) * self.size)[:, None]
        cells = first.ravel()
        collected: list[Floats] = []
        for mass in masses:
            flat = np.zeros(n * self.size + self.order)
            for step, weight in enumerate(weights):
                flat[step:] += np.bincount(cells, (mass * weight).ravel(), minlength=len(flat))[: len(flat) - step]
            collected.append(flat[: n * self.size].reshape(n, self.size))
        return collected
