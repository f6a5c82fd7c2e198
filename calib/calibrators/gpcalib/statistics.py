"""Statistics of a calibration set for the objective: units, kernel inputs, inducing inputs, and sums on a grid."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.calibrators.gpcalib.interpolation import Grid, chebyshev, chebyshev_points
from calib.numerics import Floats, Ints, blocks, log_softmax, logit_unit, row_maxima, softmax

N_POINTS = 64
"""Enough for lengthscales of a 20th of the range; 32 gave the same fits on CIFAR-10 and CIFAR-100."""


@dataclass(frozen=True, eq=False)
class QuadraticLikelihood:
    """Second-order expansion of the earlier rows' expected log-likelihood about a fitted latent function.

    The expected log-likelihood depends on the rows through the shift ``a`` and its covariance alone. To second
    order in ``a`` and first in the covariance it is, with both taken at Chebyshev points of [low, high],
    ``constant + slope . a - a^T curvature a / 2 + variance_slope . var a`` (for ``covariance="full"`` the last
    term is ``- tr(curvature cov a) / 2``, and ``variance_slope`` serves the white noise). Expansions of
    different rows add up.

    Attributes
    ----------
    low, high : range of the kernel inputs.
    constant : value at ``a = 0`` without variance, in nats.
    slope, variance_slope : (n_points,) derivatives there by the shift and by its marginal variance.
    curvature : (n_points, n_points) minus the second derivative by the shift.
    """

    low: float
    high: float
    constant: float
    slope: Floats
    curvature: Floats
    variance_slope: Floats

    @property
    def points(self) -> Floats:
        """Points at which the shift is evaluated, shape (n_points,)."""
        return chebyshev_points(self.low, self.high, len(self.slope))

    def onto(self, low: float, high: float) -> QuadraticLikelihood:
        """The expansion on a wider range."""
        _, weights = chebyshev(low, high, len(self.slope), self.points)
        return replace(
            self,
            low=low,
            high=high,
            slope=self.slope @ weights,
            curvature=weights.T @ self.curvature @ weights,
            variance_slope=self.variance_slope @ weights,
        )

    def __add__(self, other: QuadraticLikelihood) -> QuadraticLikelihood:
        """The likelihood of both sets of rows; their ranges must be equal."""
        return replace(
            self,
            constant=self.constant + other.constant,
            slope=self.slope + other.slope,
            curvature=self.curvature + other.curvature,
            variance_slope=self.variance_slope + other.variance_slope,
        )


USUAL_TEMPERATURES = (0.2, 5.0)
"""Within these the fit can correct the paper's prior, that the model is calibrated already."""

USUAL_GAPS = (0.01, 100.0)
"""Median gap of the two largest logits where they are log-probabilities of any model."""

MOST_ENTRIES = 200_000
"""Logits of the rows from which their scale is found."""

MOST_INPUTS = 10_000
"""Kernel inputs among which the k-means centres are found."""

STEPS = 30
"""Iterations of k-means: the centres are a start, and the fit moves them."""

BLOCK_ENTRIES = 100_000
"""Numbers in a block: small enough for the processor's cache. In another size the sums would round differently."""

FEW_CLASSES = 10
"""Up to so many classes the grid is finer."""

MANY_ROWS = 5_000
"""With more rows of few classes the sums are sparse: 30 times as fast for two classes, 6 times for ten."""


DEPTH, GAPS = 50.0, 5.0
"""Logits are cut this far below the largest of their row, or at this many median gaps of the two largest."""


def cut(logits: Floats, depth: float) -> Floats:
    """Raise logits of more than two classes to ``depth`` below the largest of their row."""
    return logits if logits.shape[1] == 2 else np.maximum(logits, row_maxima(logits) - depth)


def kernel_inputs(logits: Floats, space: str) -> tuple[Floats, Floats]:
    """Kernel inputs and the prior mean there: (z, z), or (p, ln p) where ``space`` is "probs"."""
    return (logits, logits) if space == "logits" else (softmax(logits), log_softmax(logits))


def logit_scale(logits: Floats, labels: Ints) -> tuple[float, float]:
    """Divisor of badly scaled logits before the fit, 1 for all others; and nats that their best temperature gains.

    Similarities in [-1, 1] or margins in the thousands are so far from log-probabilities that the objective has no
    useful maximum near the prior. The scale is the temperature T of greatest posterior probability, rounded to three
    digits. The prior on log T is normal with standard deviation 1, so that separable data have such a temperature too,
    about 0, or about the unit of the logits where no log-probabilities have it.
    """
    from scipy.optimize import minimize_scalar

    rows = slice(None, None, max(1, logits.size // MOST_ENTRIES))
    sample = logits[rows]
    classes = labels[rows]
    index = np.arange(len(sample))
    weight = len(logits) / len(sample)
    unit = logit_unit(sample)
    centre = 0.0 if USUAL_GAPS[0] <= unit <= USUAL_GAPS[1] else float(np.log(unit))

    def summed_nll(log_temperature: float) -> float:
        return -weight * float(log_softmax(sample * np.exp(-log_temperature))[index, classes].sum())

    def loss(log_temperature: float) -> float:
        return 0.5 * (log_temperature - centre) ** 2 + summed_nll(log_temperature)

    solution = minimize_scalar(loss, bounds=(centre - 15.0, centre + 15.0), method="bounded")
    temperature = float(np.exp(solution.x))
    low, high = USUAL_TEMPERATURES
    scale = 1.0 if low <= temperature <= high else float(f"{temperature:.3g}")
    return scale, summed_nll(0.0) - summed_nll(solution.x)


@dataclass(frozen=True, eq=False)
class GridStatistics:
    """Sums over classes and labels as linear maps from functions on the grid.

    With the latent function ``g = mu + a``, any sum over the classes of row n is a product:
    ``sum_k exp(g_nk) f(t_nk) = exp(max_k mu_nk) * (sums @ (exp(a) * f))_n``, and likewise ``squares`` for
    ``exp(2 g)``. The cost of an evaluation is then independent of the number of classes.

    Attributes
    ----------
    grid : the nodes, spanning all kernel inputs.
    sums, squares : (n, grid.size) interpolation weights times ``exp(mu - max mu)`` and its square; NumPy's arrays, or
        SciPy's sparse ones for many rows of few classes.
    label_weights : (grid.size,) with ``label_weights @ a = sum_n a(t_{n, y_n})``.
    label_prior : ``sum_n (mu_{n, y_n} - max_k mu_nk)``.
    """

    grid: Grid
    sums: Any
    squares: Any
    label_weights: Floats
    label_prior: float


def training_grid(logits: Floats, space: str, earlier: QuadraticLikelihood | None = None) -> Grid:
    """256 nodes over the range of the inputs, also of earlier ones; 512 for few classes or a wide range."""
    if space == "probs":
        return Grid(0.0, 1.0, 512)
    low = float(logits.min())
    high = float(logits.max())
    margin = 0.01 * (high - low) or 0.5
    low = low - margin
    high = high + margin
    if earlier is not None:
        low = min(low, earlier.low)
        high = max(high, earlier.high)
    wide = logits.shape[1] <= FEW_CLASSES or high - low > 65
    return Grid(low, high, 512 if wide else 256)


def grid_statistics(logits: Floats, labels: Ints, space: str, grid: Grid) -> GridStatistics:
    """Collect a calibration set on the grid, in blocks of rows.

    Rows are sorted first, so that the result is the same to the last bit whatever the order of the classes.
    """
    from scipy import sparse

    n, n_classes = logits.shape
    thin = n_classes <= FEW_CLASSES and n > MANY_ROWS
    sums: Any = [] if thin else np.empty((n, grid.size))
    squares: Any = [] if thin else np.empty((n, grid.size))
    label_weights = np.zeros(grid.size)
    label_prior = 0.0
    for block in blocks(n, max(n_classes, grid.size), BLOCK_ENTRIES):
        order = np.argsort(logits[block], axis=1)
        inputs, prior = kernel_inputs(np.take_along_axis(logits[block], order, axis=1), space)
        prior = prior - prior.max(axis=1, keepdims=True)
        mass = np.exp(prior)
        stencil = grid.stencil(inputs)
        for matrix, masses in ((sums, mass), (squares, mass * mass)):
            if thin:
                matrix.append(stencil.sparse(masses))
            else:
                matrix[block] = stencil.collect(masses)
        label = np.argmax(order == labels[block, None], axis=1)[:, None]
        label_prior += float(np.take_along_axis(prior, label, axis=1).sum())
        at = np.take_along_axis(inputs, label, axis=1).T
        label_weights += grid.stencil(at).collect(np.ones_like(at))[0]
    if thin:
        sums = sparse.vstack(sums, format="csr")
        squares = sparse.vstack(squares, format="csr")
    return GridStatistics(grid, sums, squares, label_weights, label_prior)


def starting_inducing_inputs(
    logits: Floats,
    space: str,
    n_inducing: int,
    seed: int,
    earlier: QuadraticLikelihood | None = None,
) -> Floats:
    """k-means centres of the kernel inputs, largest first; fewer where there are fewer distinct values.

    The sample is taken from sorted values, so that the order of the classes does not matter. The largest inputs
    carry the probability, and with a diagonal S in the whitened space what comes first is fitted best. After
    ``earlier`` rows the points of their expansion are among the inputs, so that a few new rows do not decide alone.
    """
    from scipy.cluster.vq import kmeans2

    rows = np.sort(logits[:: max(1, logits.size // (20 * MOST_INPUTS))], axis=1)
    inputs = kernel_inputs(rows, space)[0].ravel()
    inputs = np.sort(inputs if earlier is None else np.concatenate([inputs, earlier.points]))
    sample = inputs[:: max(1, len(inputs) // MOST_INPUTS)]
    distinct = sample[np.diff(sample, prepend=-np.inf) > 1e-6 * np.ptp(sample)]
    if len(distinct) <= n_inducing:
        return distinct[::-1].copy()
    with warnings.catch_warnings(
        action="ignore"
    ):  # a centre that lost its inputs stays where it was
        centres, _ = kmeans2(
            sample, n_inducing, iter=STEPS, minit="++", rng=np.random.default_rng(seed)
        )
    return np.sort(centres)[::-1].copy()
