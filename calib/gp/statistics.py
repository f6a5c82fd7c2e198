"""Everything the objective needs to know about a calibration set, as matrices on a grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.gp.grid import Grid
from calib.gp.inputs import Logits, kernel_inputs
from calib.gp.summary import Summary
from calib.numerics import Floats, Ints, blocks

BLOCK_ENTRIES = 100_000
"""Numbers in a block: small enough for the processor's cache. In another size the sums would round differently."""


@dataclass(frozen=True, eq=False)
class GridStatistics:
    """Sums over classes and labels as linear maps from functions on the grid.

    With the latent function ``g = mu + a``, any sum over the classes of row n is a product:
    ``sum_k exp(g_nk) f(t_nk) = exp(max_k mu_nk) * (sums @ (exp(a) * f))_n``, and likewise ``squares`` for
    ``exp(2 g)``. The cost of an evaluation is then independent of the number of classes.

    Attributes
    ----------
    grid : the nodes, spanning all kernel inputs.
    sums, squares : (n, grid.size) interpolation weights times ``exp(mu - max mu)`` and its square.
    label_weights : (grid.size,) with ``label_weights @ a = sum_n a(t_{n, y_n})``.
    label_prior : ``sum_n (mu_{n, y_n} - max_k mu_nk)``.
    """

    grid: Grid
    sums: Floats
    squares: Floats
    label_weights: Floats
    label_prior: float

    @property
    def n_rows(self) -> int:
        """Number of calibration rows."""
        return len(self.sums)


def training_grid(logits: Logits, space: str, past: Summary | None = None) -> Grid:
    """256 nodes over the range of the inputs, also of earlier ones; 512 for few classes or a wide range."""
    if space == "probs":
        return Grid(0.0, 1.0, 512)
    low, high = float(logits.min()), float(logits.max())
    margin = 0.01 * (high - low) or 0.5
    low, high = low - margin, high + margin
    if past is not None:
        low, high = min(low, past.low), max(high, past.high)
    wide = logits.shape[1] <= 10 or high - low > 65
    return Grid(low, high, 512 if wide else 256)


def grid_statistics(logits: Floats, labels: Ints, space: str, grid: Grid) -> GridStatistics:
    """Collect a calibration set on the grid, in blocks of rows.

    Rows are sorted first, so that the result is the same to the last bit whatever the order of the classes.
    """
    n, n_classes = logits.shape
    sums, squares = np.empty((n, grid.size)), np.empty((n, grid.size))
    label_weights, label_prior = np.zeros(grid.size), 0.0
    for block in blocks(n, max(n_classes, grid.size), BLOCK_ENTRIES):
        order = np.argsort(logits[block], axis=1)
        inputs, prior = kernel_inputs(np.take_along_axis(logits[block], order, axis=1), space)
        prior = prior - prior.max(axis=1, keepdims=True)
        mass = np.exp(prior)
        stencil = grid.stencil(inputs)
        sums[block], squares[block] = stencil.collect(mass), stencil.collect(mass * mass)
        label = np.argmax(order == labels[block, None], axis=1)[:, None]
        label_prior += float(np.take_along_axis(prior, label, axis=1).sum())
        at = np.take_along_axis(inputs, label, axis=1).T
        label_weights += grid.stencil(at).collect(np.ones_like(at))[0]
    return GridStatistics(grid, sums, squares, label_weights, label_prior)
