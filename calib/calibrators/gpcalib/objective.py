"""The objective of GPcalib and its gradient, in NumPy (Wenger et al. 2020, sections S2.1 and S2.2).

The expected log-likelihood is a second-order Taylor approximation, so what is maximised is called the objective, not a
bound. All derivatives are written out by reverse accumulation: each part of the value adds its derivatives by the
moments of the latent function, and these go back through the Cholesky factor to the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import Bounds

from calib.calibrators.gpcalib.interpolation import N_FEATURES, SHORTEST, chebyshev
from calib.calibrators.gpcalib.posterior import Gram, Moments, Posterior
from calib.calibrators.gpcalib.prediction import LARGEST_SHIFT
from calib.calibrators.gpcalib.statistics import N_POINTS, GridStatistics, QuadraticLikelihood
from calib.numerics import Floats, Ints, sigmoid, softplus

SMALLEST_SUM = 1e-290
"""Floor of a row's normaliser; the logarithm of less is not finite."""

SHORTEST_ON_GRID = 1.0 / 128.0
"""Smallest lengthscale over the range of the inputs: two nodes of the coarsest grid."""

LARGEST_VARIANCE = 1e6
"""Bound on the kernel variance, so that the jitter still keeps K_uu positive definite."""


@dataclass(frozen=True, eq=False)
class Parametrisation:
    """The free numbers over which the optimiser searches, and the posterior that they stand for.

    A vector holds the fields of a :class:`Posterior` one after the other; of a triangular root of the covariance the
    m (m + 1) / 2 entries of the lower triangle, row by row.

    Attributes
    ----------
    n_inducing, full : m, and whether ``q_sqrt`` is a triangle, and not m standard deviations.
    low, high : (p,) between which the numbers of the posterior lie. A free number x stands for
        ``low + (high - low) sigmoid(x)``, without an upper end for ``low + softplus(x)``, without both for itself.
    """

    n_inducing: int
    full: bool
    low: Floats
    high: Floats

    def posterior(self, vector: Floats) -> Posterior:
        """The posterior that a vector stands for."""
        values = vector.copy()
        m = self.n_inducing
        above, between = self._kinds()
        values[above] = self.low[above] + softplus(vector[above])
        values[between] = self.low[between] + (self.high - self.low)[between] * sigmoid(
            vector[between]
        )
        kernel, inducing, mean, root = np.split(values, [3, 3 + m, 3 + 2 * m])
        if self.full:
            entries = root
            root = np.zeros((m, m))
            root[np.tril_indices(m)] = entries
        return Posterior(float(kernel[0]), float(kernel[1]), float(kernel[2]), inducing, mean, root)

    def vector(self, posterior: Posterior) -> Floats:
        """The inverse of :meth:`posterior`."""
        values = self._values(posterior)
        above, between = self._kinds()
        beyond = values - self.low
        values[between] = np.log(beyond[between]) - np.log((self.high - values)[between])
        values[above] = beyond[above] + np.log(-np.expm1(-beyond[above]))
        return values

    def pulled_back(self, vector: Floats, gradient: Posterior) -> Floats:
        """Gradient by the free numbers from that by the fields of the posterior."""
        slopes = np.ones_like(vector)
        above, between = self._kinds()
        slopes[above] = sigmoid(vector[above])
        slopes[between] = (
            (self.high - self.low)[between] * sigmoid(vector[between]) * sigmoid(-vector[between])
        )
        return slopes * self._values(gradient)

    def _kinds(self) -> tuple[Ints, Ints]:
        """Places of the numbers that have a lower end alone, and of those that have both."""
        return np.flatnonzero((self.low > -np.inf) & (self.high == np.inf)), np.flatnonzero(
            self.high < np.inf
        )

    def _values(self, posterior: Posterior) -> Floats:
        q = posterior
        root = q.q_sqrt[np.tril_indices(self.n_inducing)] if self.full else q.q_sqrt
        kernel = [q.variance, q.lengthscale, q.noise_variance]
        return np.concatenate([kernel, q.inducing_inputs, q.q_mean, root])


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
        lengthscale, hence its lower bound.
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
        width = grid.high - grid.low
        m = len(inducing_inputs)
        full = variational == "full"
        low = np.full(3 + 2 * m + (m * (m + 1) // 2 if full else m), -np.inf)
        high = np.full(len(low), np.inf)
        low[:3] = 0.0, width * (SHORTEST if covariance == "full" else SHORTEST_ON_GRID), 0.0
        if not full:
            low[3 + 2 * m :] = 0.0
        if space == "probs":
            high[:2] = 5.0, 10.0
        self.parametrisation = Parametrisation(m, full, low, high)
        start = Posterior(
            variance=1.0,
            lengthscale=max(10.0, width / 10.0) if space == "logits" else 0.5,
            noise_variance=0.01,
            inducing_inputs=inducing_inputs,
            q_mean=np.zeros(m),
            q_sqrt=np.eye(m) if full else np.ones(m),
        )
        self.start = self.parametrisation.vector(start)
        self.bounds = Bounds(ub=[LARGEST_VARIANCE, *[np.inf] * (len(self.start) - 1)])
        self._rows = slice(0, grid.size)
        self._earlier = slice(grid.size, None)
        self._inputs = (
            grid.nodes if earlier is None else np.concatenate([grid.nodes, earlier.points])
        )
        self._features = (
            chebyshev(grid.low, grid.high, N_FEATURES, grid.nodes) if covariance == "full" else None
        )

    def __call__(self, vector: Floats) -> tuple[float, Floats]:
        """Value in nats and gradient, (p,), at free numbers; NaN where the kernel matrix is none."""
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, gradient = self.at(self.parametrisation.posterior(vector))
                return value, self.parametrisation.pulled_back(vector, gradient)
        except np.linalg.LinAlgError:
            return np.nan, np.full_like(vector, np.nan)

    def posterior_at(self, vector: Floats) -> Posterior:
        """The posterior that free numbers stand for."""
        return self.parametrisation.posterior(vector)

    def at(self, posterior: Posterior) -> tuple[float, Posterior]:
        """Value in nats at a posterior, and the derivatives by each of its fields, held in a posterior's fields."""
        moments = Moments(posterior, self._inputs)
        value = expected_log_likelihood(self.statistics, moments, self._rows, self._features)
        if self.earlier is not None:
            # No log-likelihood exceeds 0. Its expansion can, far off: confident mistakes give it hardly any curvature.
            value += min(
                self._earlier_log_likelihood(self.earlier, moments, self._earlier, below=0.0), 0.0
            )
        return value - moments.divergence(), moments.gradient()

    def expansion(self, posterior: Posterior) -> QuadraticLikelihood:
        """Second-order expansion of the likelihood of all rows, earlier ones included, about a posterior."""
        grid = self.statistics.grid
        points, weights = chebyshev(grid.low, grid.high, N_POINTS, grid.nodes)
        moments = Moments(posterior, np.concatenate([self._inputs, points]))
        value = expected_log_likelihood(self.statistics, moments, self._rows, self._features)
        curvature, variance_slope = curvature_of_rows(
            self.statistics, moments.shift[self._rows], weights
        )
        slope = weights.T @ moments.by_shift[self._rows] + curvature @ moments.shift[-N_POINTS:]
        likelihood = QuadraticLikelihood(grid.low, grid.high, 0.0, slope, curvature, variance_slope)
        # The constant is what makes the expansion exact here, whichever covariance it is for.
        at_points = slice(len(self._inputs), None)
        constant = value - self._earlier_log_likelihood(likelihood, moments, at_points)
        likelihood = replace(likelihood, constant=float(constant))
        return likelihood if self.earlier is None else likelihood + self.earlier

    def _earlier_log_likelihood(
        self, earlier: QuadraticLikelihood, moments: Moments, part: slice, below: float = np.inf
    ) -> float:
        """Of earlier rows, from their expansion; where it is ``below``, its derivatives are added to the moments.

        Parameters
        ----------
        part : where the points of the expansion are among the inputs of the moments.
        """
        shift = moments.shift[part]
        projection = moments.projection[:, part]
        spread = moments.spread[:, part]
        bend = earlier.curvature @ shift
        by_covariance = (
            -0.5 * earlier.curvature
            if self.covariance == "full"
            else np.diag(earlier.variance_slope)
        )
        prior = Gram(moments.posterior, earlier.points)
        covariance = prior.matrix - projection.T @ projection + spread.T @ spread
        by_noise = float(earlier.variance_slope.sum())
        value = earlier.constant + float(
            (earlier.slope - 0.5 * bend) @ shift + (by_covariance * covariance).sum()
        )
        value += by_noise * moments.posterior.noise_variance
        if value <= below:
            moments.by_shift[part] += earlier.slope - bend
            moments.by_noise += by_noise
            moments.add_prior(prior, by_covariance)
            moments.add_covariance(part, by_covariance)
        return value


def expected_log_likelihood(
    statistics: GridStatistics,
    moments: Moments,
    part: slice,
    features: tuple[Floats, Floats] | None,
) -> float:
    """``sum_n [log s_ny + (s_n^T C_n s_n - s_n . diag C_n) / 2]``, s = softmax of the posterior mean.

    Its derivatives are added to the moments, whose inputs of ``part`` are the nodes of the grid.

    Parameters
    ----------
    features : None where C_n is diagonal. Otherwise points (f,) and weights (grid, f): the prior covariance between
        nodes is that between these points, interpolated.
    """
    q = moments.posterior
    # A line search may try absurd values; they must give a bad number, not a NaN.
    shift = np.clip(moments.shift[part], -LARGEST_SHIFT, LARGEST_SHIFT)
    variance = moments.variance[part]
    growth = np.exp(shift)
    columns = np.stack([np.ones_like(shift), variance])
    marginal = variance
    if features is not None:
        columns = np.concatenate([columns, features[1].T, moments.projection[:, part]])
        marginal = np.full_like(variance, q.noise_variance)
    collected = statistics.sums @ (growth * columns).T
    total = np.maximum(collected[:, 0], SMALLEST_SUM)
    weighted = collected[:, 1]
    inverse = 1.0 / total
    squared = statistics.squares @ (growth * growth * marginal)
    second = float(((squared * inverse - weighted) * inverse).sum())
    by_total = weighted - 2.0 * squared * inverse
    by_collected = [-inverse]
    if features is not None:
        gram = Gram(q, features[0])
        f = len(features[0])
        root = np.diag(q.q_sqrt) if q.q_sqrt.ndim == 1 else q.q_sqrt
        excess = root @ root.T - np.eye(len(root))  # of S over the whitened prior
        expected = collected[:, 2:] * inverse[:, None]
        smooth = expected[:, :f]
        projected = expected[:, f:]
        by_expected = np.concatenate([smooth @ gram.matrix, projected @ excess], axis=1)
        quadratic = (by_expected * expected).sum(axis=1)
        second += float(quadratic.sum())
        by_total -= 2.0 * quadratic * total
        by_collected += list(2.0 * by_expected.T * inverse)
    first = (
        statistics.label_prior
        + float(statistics.label_weights @ shift)
        - float(np.log(total).sum())
    )
    # Both are at most 0. Interpolated between nodes, wild functions can exceed that without end, until the optimiser
    # climbs to infinity; bounded, they are found out afterwards.
    first_counts = float(first <= 0.0)
    half = 0.5 * float(second <= 0.0)
    by_total = (half * by_total * inverse - first_counts) * inverse
    by_total[total <= SMALLEST_SUM] = 0.0
    back = np.stack([by_total, *(half * by for by in by_collected)]) @ statistics.sums
    of_squared = (half * inverse**2) @ statistics.squares
    by_shift = growth * ((columns * back).sum(axis=0) + 2.0 * growth * marginal * of_squared)
    by_shift += first_counts * statistics.label_weights
    moments.by_shift[part] += np.where(np.abs(moments.shift[part]) <= LARGEST_SHIFT, by_shift, 0.0)
    if features is None:
        moments.by_variance[part] += growth * (back[1] + growth * of_squared)
    else:
        moments.by_variance[part] += growth * back[1]
        moments.by_noise += float(growth**2 @ of_squared)
        by_root = np.tril(2.0 * half * projected.T @ projected @ root)
        moments.add_features(part, growth * back[2 + f :], by_root)
        moments.add_prior(gram, half * smooth.T @ smooth)
    return min(first, 0.0) + min(0.5 * second, 0.0)


def curvature_of_rows(
    statistics: GridStatistics, shift: Floats, features: Floats
) -> tuple[Floats, Floats]:
    """Curvature of the log-likelihood in the shift, and its derivative by the variance of single classes.

    Parameters
    ----------
    shift : (grid,) posterior mean minus prior mean at the nodes.
    features : (grid, f) functions at the nodes.

    Returns
    -------
    (f, f) ``features^T (sum_n diag(s_n) - s_n s_n^T) features`` with a row's classes spread over the nodes, and
    (f,) ``features^T`` times the derivative by the variance.
    """
    growth = np.exp(np.clip(shift, -LARGEST_SHIFT, LARGEST_SHIFT))
    total = np.maximum(statistics.sums @ growth, SMALLEST_SUM)
    means = (statistics.sums @ (growth[:, None] * features)) / total[:, None]
    mass = growth * ((1.0 / total) @ statistics.sums)
    squared = growth**2 * ((1.0 / total**2) @ statistics.squares)
    return features.T @ (mass[:, None] * features) - means.T @ means, 0.5 * (
        features.T @ (squared - mass)
    )
