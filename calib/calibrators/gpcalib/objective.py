"""The objective of GPcalib and its gradient, in NumPy (Wenger et al. 2020, sections S2.1 and S2.2).

The expected log-likelihood is a second-order Taylor approximation, so what is maximised is called the objective, not a
bound. All derivatives are written out by reverse accumulation: each part of the value adds its derivatives by the
moments of the latent function, and these go back through the Cholesky factor to the kernel. In TensorFlow the same
objective is :class:`calib.calibrators.gpcalib.tensorflow_objective.TensorFlowObjective`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from calib.calibrators.gpcalib.interpolation import SHORTEST, chebyshev_features
from calib.calibrators.gpcalib.moments import Gram, Moments
from calib.calibrators.gpcalib.posterior import Posterior
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.calibrators.gpcalib.statistics import N_POINTS, GridStatistics, QuadraticLikelihood
from calib.numerics import Floats, sigmoid, softplus

SMALLEST_SUM = 1e-290
"""Floor of a row's normaliser; the logarithm of less is not finite."""

SHORTEST_ON_GRID = 1.0 / 128.0
"""Smallest lengthscale over the range of the inputs: two nodes of the coarsest grid."""

LARGEST_VARIANCE = 1e6
"""Bound on the kernel variance, so that the jitter still keeps K_uu positive definite."""


@dataclass(frozen=True)
class Interval:
    """Where a parameter may lie: above ``low``, or between ``low`` and ``high``; free numbers are mapped onto it.

    Above ``low`` it is ``low + softplus(x)``, between the two ``low + (high - low) sigmoid(x)``.
    """

    low: float = 0.0
    high: float = np.inf

    def of(self, free: Floats) -> Floats:
        """Parameters from free numbers."""
        bounded = np.isfinite(self.high)
        return self.low + ((self.high - self.low) * sigmoid(free) if bounded else softplus(free))

    def slope(self, free: Floats) -> Floats:
        """Derivative of :meth:`of`."""
        rising = sigmoid(free)
        return (self.high - self.low) * rising * sigmoid(-free) if np.isfinite(self.high) else rising

    def free(self, values: Floats) -> Floats:
        """The inverse of :meth:`of`."""
        above = values - self.low
        if np.isfinite(self.high):
            return np.log(above) - np.log(self.high - values)
        return above + np.log(-np.expm1(-above))


@dataclass(frozen=True)
class Parametrisation:
    """The free numbers over which the optimiser searches, and the posterior that they stand for.

    A vector holds the fields of a :class:`Posterior` one after the other; of a triangular root of the covariance the
    m (m + 1) / 2 entries of the lower triangle, row by row.

    Attributes
    ----------
    n_inducing : m, the number of inducing inputs.
    intervals : where the values of each field lie; None where they are free themselves.
    full : whether the root of the covariance is a triangle, and not m standard deviations.
    """

    n_inducing: int
    intervals: tuple[Interval | None, ...]
    full: bool

    def posterior(self, vector: Floats) -> Posterior:
        """The posterior that a vector stands for."""
        pairs = zip(self._parts(vector), self.intervals, strict=True)
        values = [part.copy() if interval is None else interval.of(part) for part, interval in pairs]
        variance, lengthscale, noise = (float(value[0]) for value in values[:3])
        inducing, mean, root = values[3:]
        if self.full:
            entries, root = root, np.zeros((self.n_inducing, self.n_inducing))
            root[np.tril_indices(self.n_inducing)] = entries
        return Posterior(variance, lengthscale, noise, inducing, mean, root)

    def vector(self, posterior: Posterior) -> Floats:
        """The inverse of :meth:`posterior`."""
        pairs = zip(self._values(posterior), self.intervals, strict=True)
        return np.concatenate([value if interval is None else interval.free(value) for value, interval in pairs])

    def pulled_back(self, vector: Floats, gradient: Posterior) -> Floats:
        """Gradient by the free numbers from that by the fields of the posterior."""
        triples = zip(self._values(gradient), self._parts(vector), self.intervals, strict=True)
        return np.concatenate([by if free is None else by * free.slope(part) for by, part, free in triples])

    def _parts(self, vector: Floats) -> list[Floats]:
        m = self.n_inducing
        return np.split(vector, [1, 2, 3, 3 + m, 3 + 2 * m])

    def _values(self, posterior: Posterior) -> list[Floats]:
        *values, root = (np.atleast_1d(getattr(posterior, field.name)) for field in fields(Posterior))
        return [*values, root[np.tril_indices(self.n_inducing)] if self.full else root]


class Objective:
    """Expected log-likelihood of a calibration set minus KL[q(v) || p(v)], in nats, and its gradient.

    One latent function has an RBF plus white-noise kernel and m trained inducing inputs. The inducing variables are
    whitened, ``u = mu + L v`` with ``L L^T = K_uu``, and q(v) = N(m, S). The white noise is in K_uu and in the marginal
    variances, and zero between the data and the inducing variables.

    Parameters
    ----------
    statistics : the calibration set.
    inducing_inputs : (m,) where they start. With a diagonal S their order matters: the first take up what
        the later ones then need not, so the inputs that decide most belong first.
    space : "logits" or "probs"; sets where the kernel parameters start and their bounds. The grid must resolve the
        lengthscale, hence its lower bound, which stays where the grid is refined: a finer one is there to follow the
        same functions, not wilder ones.
    covariance : "diagonal" or "full" latent covariance of a row's classes.
    variational : "diagonal" or "full" S.
    earlier : likelihood of earlier calibration rows, on the range of the grid.

    Attributes
    ----------
    start : free numbers of the paper's start, (p,).
    bounds : of the free numbers, for the optimiser.
    """

    def __init__(
        self,
        statistics: GridStatistics,
        inducing_inputs: Floats,
        space: str,
        covariance: str,
        variational: str,
        earlier: QuadraticLikelihood | None = None,
    ):
        self.statistics, self.earlier = statistics, earlier
        self.covariance = covariance
        grid = statistics.grid
        width, m, logits = grid.high - grid.low, len(inducing_inputs), space == "logits"
        shortest = width * (SHORTEST if covariance == "full" else SHORTEST_ON_GRID)
        full = variational == "full"
        above, bounded = Interval(), (Interval(0.0, 5.0), Interval(shortest, 10.0))
        kernel = (above, Interval(shortest)) if logits else bounded
        self.parametrisation = Parametrisation(m, (*kernel, above, None, None, None if full else above), full)
        start = Posterior(
            variance=1.0,
            lengthscale=max(10.0, width / 10.0) if logits else 0.5,
            noise_variance=0.01,
            inducing_inputs=inducing_inputs,
            q_mean=np.zeros(m),
            q_sqrt=np.eye(m) if full else np.ones(m),
        )
        self.start = self.parametrisation.vector(start)
        self.bounds: list[tuple[float | None, float | None]] = [(None, LARGEST_VARIANCE)]
        self.bounds += [(None, None)] * (len(self.start) - 1)
        self._rows = slice(0, grid.size)
        self._earlier = slice(grid.size, None)
        self._inputs = grid.nodes if earlier is None else np.concatenate([grid.nodes, earlier.points])
        self._features = chebyshev_features(grid) if covariance == "full" else None

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Value in nats and gradient, (p,), at free numbers; NaN where the kernel matrix is none."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, gradient = self.at(self.parametrisation.posterior(vector))
                return value, self.parametrisation.pulled_back(vector, gradient)
        except np.linalg.LinAlgError:
            return np.nan, np.full_like(vector, np.nan)

    def at(self, posterior: Posterior) -> tuple[float, Posterior]:
        """Value in nats at a posterior, and the derivatives by each of its fields, held in a posterior's fields."""
        moments = Moments(posterior, self._inputs)
        value = self._expected_log_likelihood(moments)
        if self.earlier is not None:
            # No log-likelihood exceeds 0. Its expansion can, far off: confident mistakes give it hardly any curvature.
            value += min(self._earlier_log_likelihood(self.earlier, moments, self._earlier, below=0.0), 0.0)
        return value - moments.divergence(), moments.gradient()

    def expansion(self, posterior: Posterior) -> QuadraticLikelihood:
        """Second-order expansion of the likelihood of all rows, earlier ones included, about a posterior."""
        grid = self.statistics.grid
        points, weights = chebyshev_features(grid, N_POINTS)
        moments = Moments(posterior, np.concatenate([self._inputs, points]))
        value = self._expected_log_likelihood(moments)
        curvature, variance_slope = curvature_of_rows(self.statistics, moments.shift[self._rows], weights)
        slope = weights.T @ moments.by_shift[self._rows] + curvature @ moments.shift[-N_POINTS:]
        likelihood = QuadraticLikelihood(grid.low, grid.high, 0.0, slope, curvature, variance_slope)
        # The constant is what makes the expansion exact here, whichever covariance it is for.
        at_points = slice(len(self._inputs), None)
        constant = value - self._earlier_log_likelihood(likelihood, moments, at_points)
        likelihood = replace(likelihood, constant=float(constant))
        return likelihood if self.earlier is None else likelihood + self.earlier

    def _expected_log_likelihood(self, moments: Moments) -> float:
        """Of the rows at hand; its derivatives are added to the moments."""
        if self._features is None:
            return diagonal(self.statistics, moments, self._rows)
        return full(self.statistics, moments, self._rows, *self._features)

    def _earlier_log_likelihood(
        self, earlier: QuadraticLikelihood, moments: Moments, part: slice, below: float = np.inf
    ) -> float:
        """Of earlier rows, from their expansion; where it is ``below``, its derivatives are added to the moments.

        Parameters
        ----------
        part : where the points of the expansion are among the inputs of the moments.
        """
        shift, projection, spread = moments.shift[part], moments.projection[:, part], moments.spread[:, part]
        bend = earlier.curvature @ shift
        value = earlier.constant + float((earlier.slope - 0.5 * bend) @ shift)
        prior = None
        if self.covariance == "diagonal":
            value += float(earlier.variance_slope @ moments.variance[part])
        else:
            prior = Gram(moments.posterior, earlier.points)
            covariance = prior.matrix - projection.T @ projection + spread.T @ spread
            white = moments.posterior.noise_variance * float(earlier.variance_slope.sum())
            value += white - 0.5 * float((earlier.curvature * covariance).sum())
        if value > below:
            return value
        moments.by_shift[part] += earlier.slope - 0.5 * (bend + earlier.curvature.T @ shift)
        if prior is None:
            moments.by_variance[part] += earlier.variance_slope
        else:
            curvature = 0.5 * (earlier.curvature + earlier.curvature.T)
            moments.add_covariance(part, projection @ curvature, spread @ curvature)
            moments.by_noise += float(earlier.variance_slope.sum())
            moments.add_prior(prior, -0.5 * curvature)
        return value


def diagonal(statistics: GridStatistics, moments: Moments, part: slice) -> float:
    """``sum_n [log s_ny + (sum_k s_nk^2 v_nk - s_nk v_nk) / 2]``, s = softmax of the posterior mean.

    Its derivatives are added to the moments, whose inputs of ``part`` are the nodes of the grid.
    """
    shift, variance = _bounded(moments.shift[part]), moments.variance[part]
    growth = np.exp(shift)
    total, weighted = (statistics.sums @ np.stack([growth, growth * variance], axis=1)).T
    total = np.maximum(total, SMALLEST_SUM)
    squared = statistics.squares @ (growth * growth * variance)
    inverse = 1.0 / total
    log_likelihood = _log_likelihood(statistics, shift, total)
    second = 0.5 * float(((squared * inverse - weighted) * inverse).sum())
    first_counts, half = float(log_likelihood <= 0.0), 0.5 * float(second <= 0.0)
    by_weighted = -half * inverse
    by_total = (half * (weighted - 2.0 * squared * inverse) * inverse - first_counts) * inverse
    by_total[total <= SMALLEST_SUM] = 0.0
    of_total, of_weighted = np.stack([by_total, by_weighted]) @ statistics.sums
    of_squared = (half * inverse**2) @ statistics.squares
    by_shift = growth * (of_total + variance * of_weighted + 2.0 * growth * variance * of_squared)
    moments.by_shift[part] += _where_bounded(moments.shift[part], first_counts * statistics.label_weights + by_shift)
    moments.by_variance[part] += growth * (of_weighted + growth * of_squared)
    return _at_most_zero(log_likelihood) + _at_most_zero(second)


def full(statistics: GridStatistics, moments: Moments, part: slice, points: Floats, weights: Floats) -> float:
    """The same with the covariance of a row's classes: ``s^T C s`` instead of ``sum_k s_k^2 v_k``.

    Parameters
    ----------
    points, weights : (f,) and (grid, f); the prior covariance between nodes is that between these points, interpolated.
    """
    q, f = moments.posterior, len(points)
    shift, variance = _bounded(moments.shift[part]), moments.variance[part]
    projection = moments.projection[:, part]
    gram = Gram(q, points)
    growth = np.exp(shift)
    columns = np.column_stack([np.ones_like(shift), variance, weights, projection.T])
    collected = statistics.sums @ (growth[:, None] * columns)
    total = np.maximum(collected[:, 0], SMALLEST_SUM)
    inverse = 1.0 / total
    expected = collected[:, 1:] * inverse[:, None]
    variances, features, projected = expected[:, 0], expected[:, 1 : 1 + f], expected[:, 1 + f :]
    root = np.diag(q.q_sqrt) if q.q_sqrt.ndim == 1 else q.q_sqrt
    excess = root @ root.T - np.eye(len(root))  # of S over the whitened prior
    by_features, by_projected = features @ gram.matrix, projected @ excess
    squared = statistics.squares @ (growth * growth) * inverse**2
    white = float(squared.sum())
    log_likelihood = _log_likelihood(statistics, shift, total)
    quadratic = float((by_features * features).sum() + (by_projected * projected).sum())
    second = 0.5 * (quadratic + q.noise_variance * white - float(variances.sum()))
    first_counts, half = float(log_likelihood <= 0.0), 0.5 * float(second <= 0.0)
    by_expected = np.column_stack([np.full(len(total), -half), 2.0 * half * by_features, 2.0 * half * by_projected])
    noise = half * q.noise_variance
    by_total = -(first_counts + (by_expected * expected).sum(axis=1) + 2.0 * noise * squared) * inverse
    by_total[total <= SMALLEST_SUM] = 0.0
    collected_back = statistics.sums.T @ np.column_stack([by_total, by_expected * inverse[:, None]])
    of_squared = (noise * inverse**2) @ statistics.squares
    by_shift = growth * ((columns * collected_back).sum(axis=1) + 2.0 * growth * of_squared)
    by_columns = growth[:, None] * collected_back
    moments.by_shift[part] += _where_bounded(moments.shift[part], first_counts * statistics.label_weights + by_shift)
    moments.by_variance[part] += by_columns[:, 1]
    moments.add_features(part, by_columns[:, 2 + f :].T, np.tril(2.0 * half * projected.T @ projected @ root))
    moments.add_prior(gram, half * features.T @ features)
    moments.by_noise += half * white
    return _at_most_zero(log_likelihood) + _at_most_zero(second)


def curvature_of_rows(statistics: GridStatistics, shift: Floats, features: Floats) -> tuple[Floats, Floats]:
    """Curvature of the log-likelihood in the shift, and the derivative of :func:`diagonal` by the variance.

    Parameters
    ----------
    shift : (grid,) posterior mean minus prior mean at the nodes.
    features : (grid, f) functions at the nodes.

    Returns
    -------
    (f, f) ``features^T (sum_n diag(s_n) - s_n s_n^T) features`` with a row's classes spread over the nodes, and
    (f,) ``features^T`` times the derivative by the variance.
    """
    growth = np.exp(_bounded(shift))
    total = np.maximum(statistics.sums @ growth, SMALLEST_SUM)
    means = (statistics.sums @ (growth[:, None] * features)) / total[:, None]
    mass = growth * ((1.0 / total) @ statistics.sums)
    squared = growth**2 * ((1.0 / total**2) @ statistics.squares)
    return features.T @ (mass[:, None] * features) - means.T @ means, 0.5 * (features.T @ (squared - mass))


def _log_likelihood(statistics: GridStatistics, shift: Floats, total: Floats) -> float:
    return statistics.label_prior + float(statistics.label_weights @ shift) - float(np.log(total).sum())


def _at_most_zero(value: float) -> float:
    # So it is exactly, for a log-likelihood and for its second-order term. Interpolated between nodes, wild functions
    # can exceed it without end, until the optimiser climbs to infinity; bounded, they are found out afterwards.
    return 0.0 if value > 0.0 else value


def _bounded(shift: Floats) -> Floats:
    # A line search may try absurd values; they must give a bad number, not a NaN.
    return np.clip(shift, -LARGEST_SHIFT, LARGEST_SHIFT)


def _where_bounded(shift: Floats, by_shift: Floats) -> Floats:
    """The derivative through :func:`_bounded`."""
    return np.where(np.abs(shift) <= LARGEST_SHIFT, by_shift, 0.0)
