"""Local quadratic regression (loess) of outcomes on risks.

The curve is that of R's ``loess(y ~ p)`` with its defaults: span 0.75, degree 2, fitted at the corners of a k-d tree
and interpolated between them (Cleveland and Grosse 1991). Risks are taken as they are, not as log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks

SPAN = 0.75
CELL = 0.2
"""A cell of the tree that holds more than this share of the span is cut."""
MARGIN = 0.005
"""By how much of their width the tree's cells reach beyond the data, on both sides."""
NEAR, FAR = 0.001, 0.999
"""Of the bandwidth: up to the first the weight is 1, from the second on it is 0."""
RANK = 1e-12
"""Eigenvalues below this share of the largest are taken as 0, where a neighbourhood holds fewer than three risks."""
TINY = 1e-100
"""A column of a local fit with a smaller norm is taken as 0, so that nothing overflows."""


@dataclass(frozen=True, eq=False)
class Loess:
    """A local regression on given risks, linear in the outcomes.

    Attributes
    ----------
    x : (k,) different risks, increasing.
    weights : (k,) rows at each.
    vertices : (v,) corners of the tree, where the local fits are.
    operator : (2 v, k) from mean outcomes at x to values at the vertices and then slopes there.
    """

    x: Floats
    weights: Floats
    vertices: Floats
    operator: Floats

    @classmethod
    def from_risks(cls, x: Floats, weights: Floats | Ints) -> Loess:
        """The regression on (k,) increasing risks, at least two, that as many rows have as the weights say."""
        rows: Floats = np.asarray(weights, dtype=float)
        vertices = _vertices(x, rows)
        parts = [_local_fits(x, rows, vertices[b]) for b in blocks(len(vertices), 12 * len(x), MEMORY_ENTRIES)]
        return cls(x, rows, vertices, np.concatenate([np.concatenate(part) for part in zip(*parts, strict=True)]))

    def at(self, points: Floats, outcome: Floats) -> Floats:
        """The curve of mean outcomes (..., k) at (m,) points within the vertices, shape (..., m)."""
        return outcome @ self.operator.T @ self._hermite(points).T

    def _hermite(self, points: Floats) -> Floats:
        """Cubic Hermite interpolation, (m, 2 v)."""
        v = self.vertices
        cell = np.clip(np.searchsorted(v, points, side="right") - 1, 0, len(v) - 2)
        width = v[cell + 1] - v[cell]
        t = (points - v[cell]) / width
        rows = np.arange(len(points))
        found = np.zeros((len(points), 2 * len(v)))
        found[rows, cell] = (1 + 2 * t) * (1 - t) ** 2
        found[rows, cell + 1] = t**2 * (3 - 2 * t)
        found[rows, len(v) + cell] = width * t * (1 - t) ** 2
        found[rows, len(v) + cell + 1] = -width * t**2 * (1 - t)
        return found


def _vertices(x: Floats, weights: Floats) -> Floats:
    """Corners of the tree's cells: each is cut at its median risk while it holds more rows than ``CELL`` allows.

    Where rows tie at the median, the nearest rank at which risks differ is taken, the higher one first.
    """
    upto = np.cumsum(weights)
    most = max(np.floor(upto[-1] * SPAN * CELL), 1.0)  # one row is not cut, also where weights are no whole numbers
    margin = MARGIN * (x[-1] - x[0])
    found = [x[0] - margin, x[-1] + margin]
    cells = [(0.0, float(upto[-1]))]
    while cells:
        start, end = cells.pop()
        if end - start <= most:
            continue
        middle = np.floor((start + 1.0 + end) / 2.0)
        place = min(int(np.searchsorted(upto, middle)), len(x) - 1)
        higher, lower = upto[place], upto[place - 1] if place else 0.0
        up, down = higher - middle, middle - lower
        if up <= down and higher < end:
            cut, place = float(higher), place
        elif start < lower and (down < up) and down < end - middle:
            cut, place = float(lower), place - 1
        else:
            continue
        found.append(x[place])
        cells += [(start, cut), (cut, end)]
    return np.unique(found)


def _local_fits(x: Floats, weights: Floats, vertices: Floats) -> tuple[Floats, Floats]:
    """Values and slopes at the vertices of weighted quadratic fits, as weights of the outcomes, (v, k) each."""
    total = float(weights.sum())
    wanted = np.floor(SPAN * total + 1e-5) - 1e-9 * total
    apart = x - vertices[:, None]
    distance = np.abs(apart)
    order = np.argsort(distance, axis=1)
    upto = np.cumsum(weights[order], axis=1)
    place = np.argmax(upto >= wanted, axis=1)
    rows = np.arange(len(vertices))
    width = distance[rows, order[rows, place]]
    wider = np.where(distance > 0, distance, np.inf).min(axis=1)
    width = np.where(width > 0, width, 1.01 * wider)[:, None]
    scaled = np.minimum(distance / width, 1.0)
    kernel = np.where(scaled <= NEAR, 1.0, np.where(scaled < FAR, (1.0 - scaled**3) ** 3, 0.0)) * weights
    t = apart / width
    basis = np.stack([np.ones_like(t), t, t * t])
    weighted = basis * kernel
    gram = np.einsum("avk,bvk->vab", weighted, basis)
    size = np.sqrt(np.einsum("vaa->va", gram))
    size = np.where(size > TINY, size, 1.0)
    values, vectors = np.linalg.eigh(gram / (size[:, :, None] * size[:, None, :]))
    kept = values > RANK * values[:, -1:]
    inverse = np.einsum("vai,vi,vbi->vab", vectors, np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0), vectors)
    inverse /= size[:, :, None] * size[:, None, :]
    operator = np.einsum("vab,bvk->avk", inverse[:, :2], weighted)
    return operator[0], operator[1] / width
