"""The objective of GPcalib in NumPy: its value, its gradient, and the grid that it is computed on."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from calib.calibrators.gpcalib.interpolation import N_FEATURES, Grid, chebyshev
from calib.calibrators.gpcalib.objective import Objective, expected_log_likelihood
from calib.calibrators.gpcalib.posterior import Gram, Moments, Posterior
from calib.calibrators.gpcalib.statistics import (
    QuadraticLikelihood,
    grid_statistics,
    logit_scale,
    training_grid,
)
from tests.calibrators.gpcalib import naive
from tests.conftest import simulate


def objective_of(
    posterior: Posterior,
    logits: np.ndarray,
    labels: np.ndarray,
    space: str,
    covariance: str,
    variational: str,
    earlier: QuadraticLikelihood | None = None,
) -> Objective:
    """The objective of a calibration set with as many inducing inputs as a posterior has."""
    grid = training_grid(logits, space, earlier)
    statistics = grid_statistics(logits, labels, space, grid)
    earlier = earlier and earlier.onto(grid.low, grid.high)
    return Objective(statistics, posterior.inducing_inputs, space, covariance, variational, earlier)


@pytest.mark.parametrize("space", ["logits", "probs"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("variational", ["diagonal", "full"])
@pytest.mark.parametrize("n_classes", [2, 30])
def test_the_grid_objective_equals_the_naive_one(space, covariance, variational, n_classes):
    logits, labels = simulate(60, n_classes, scale=3.0)
    low, high = (logits.min(), logits.max()) if space == "logits" else (0.0, 1.0)
    posterior = naive.some_posterior(low, high, full=variational == "full")
    value, _ = objective_of(posterior, logits, labels, space, covariance, variational).at(posterior)
    assert value == pytest.approx(
        naive.objective(posterior, logits, labels, space, covariance), rel=1e-4
    )


KINDS = list(
    product(("logits", "probs"), ("diagonal", "full"), ("diagonal", "full"), (False, True))
)
every_kind = pytest.mark.parametrize(("space", "covariance", "variational", "after_earlier"), KINDS)


def some_objective(
    space: str, covariance: str, variational: str, after_earlier: bool
) -> tuple[Objective, list]:
    """An objective of 60 rows, of which 30 may have come earlier, and places to look at it."""
    logits, labels = simulate(60, 6, scale=3.0)
    low, high = (logits.min(), logits.max()) if space == "logits" else (0.0, 1.0)
    posterior = naive.some_posterior(low, high, full=variational == "full")
    kind = (space, covariance, variational)
    earlier = None
    if after_earlier:
        earlier = objective_of(posterior, logits[:30], labels[:30], *kind).expansion(posterior)
    made = objective_of(
        posterior, logits[30 * after_earlier :], labels[30 * after_earlier :], *kind, earlier
    )
    at = made.parametrisation.vector(posterior)
    return made, [made.start, at, at + 0.3 * np.random.default_rng(2).normal(size=len(at))]


@every_kind
def test_gradients_agree_with_finite_differences(space, covariance, variational, after_earlier):
    """Of every single parameter, by central differences."""
    objective, (*_, vector) = some_objective(space, covariance, variational, after_earlier)
    _, gradient = objective(vector)
    steps = 1e-5 * np.eye(len(vector))
    slopes = [(objective(vector + step)[0] - objective(vector - step)[0]) / 2e-5 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_no_wild_function_has_a_likelihood_above_one(covariance):
    """What is log-likelihood and its second-order term cannot be positive, however interpolation errs."""
    generator = np.random.default_rng(0)
    logits = np.log(np.maximum(generator.multinomial(50, np.ones(8) / 8, size=300) / 50, 0.01))
    grid = training_grid(logits, "logits")
    statistics = grid_statistics(logits, logits.argmax(axis=1), "logits", grid)
    some = replace(naive.some_posterior(grid.low, grid.high, full=False), noise_variance=1e-6)
    nodes = slice(0, grid.size)
    points, weights = chebyshev(grid.low, grid.high, N_FEATURES, grid.nodes)
    for _ in range(50):
        moments = Moments(some, grid.nodes)
        moments.shift = generator.choice([-1.0, 1.0], grid.size) * generator.uniform(0, 12)
        size = 10.0 ** generator.uniform(0, 6, (grid.size, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            if covariance == "diagonal":
                moments.variance = (size[:, 0] * generator.normal(size=grid.size)) ** 2
                features = None
            else:
                wild = generator.choice([-1.0, 1.0], weights.shape) * size
                moments.variance = ((wild @ Gram(some, points).matrix) * wild).sum(axis=1)
                features = points, wild
            value = expected_log_likelihood(statistics, moments, nodes, features)
        assert not value > 0.0  # where it is no number the optimiser stops


ORDERS = pytest.mark.parametrize("order", [1, 3])


@ORDERS
def test_collecting_is_the_transpose_of_interpolating(order, rng):
    grid, inputs = Grid(-2.0, 2.0, 11, order), rng.uniform(-2.5, 2.5, size=(6, 30))
    mass, other, values = rng.normal(size=(6, 30)), rng.normal(size=(6, 30)), rng.normal(size=11)
    for m in (mass, other):
        collected = grid.stencil(inputs).collect(m)
        assert np.allclose(collected @ values, (m * grid.interpolate(values, inputs)).sum(axis=1))
        assert np.allclose(grid.stencil(inputs).sparse(m).toarray(), collected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_many_rows_of_few_classes_have_the_same_objective_in_sparse_arrays(covariance, monkeypatch):
    """They are held to that in dense ones, of which there is one for eleven classes; an absent one changes nothing."""
    monkeypatch.setattr("calib.calibrators.gpcalib.statistics.MANY_ROWS", 10)
    logits, labels = simulate(60, 6, scale=3.0)
    posterior = naive.some_posterior(logits.min(), logits.max(), full=True)
    padded = np.column_stack([logits, np.full((60, 5), logits.min() - 900.0)])
    grid = training_grid(logits, "logits")
    kind = posterior.inducing_inputs, "logits", covariance, "full"
    thin, dense = (
        Objective(grid_statistics(z, labels, "logits", grid), *kind) for z in (logits, padded)
    )
    assert sparse.issparse(thin.statistics.sums)
    assert not sparse.issparse(dense.statistics.sums)
    vector = thin.parametrisation.vector(posterior)
    for found, expected in zip(thin(vector), dense(vector), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    found, expected = (vars(objective.expansion(posterior)) for objective in (thin, dense))
    for name, values in expected.items():
        np.testing.assert_allclose(
            found[name], values, rtol=1e-8, atol=1e-8 * np.abs(values).max(), err_msg=name
        )


@pytest.mark.parametrize("factor", [1e-80, 1e-5, 1e-2, 1.0, 1e2, 1e4, 1e60])
@pytest.mark.parametrize("n", [60, 2000])
def test_only_badly_scaled_logits_are_scaled(factor, n):
    logits, labels = simulate(n, 5, scale=1.0)
    scale, _ = logit_scale(logits * factor, labels)
    assert scale == (1.0 if factor == 1.0 else pytest.approx(factor, rel=0.1 if n == 2000 else 0.3))


@every_kind
def test_the_objective_has_a_gradient_where_the_variance_is_zero(
    space, covariance, variational, after_earlier
):
    """As where a fit lets the kernel's variance vanish, whose free number then has no lower end."""
    objective, places = some_objective(space, covariance, variational, after_earlier)
    posterior = objective.parametrisation.posterior(places[1])
    vanished, nearly = (
        objective.at(replace(posterior, variance=variance)) for variance in (0.0, 1e-9)
    )
    np.testing.assert_allclose(vanished[0], nearly[0], rtol=1e-7)
    for name in (
        "variance",
        "lengthscale",
        "noise_variance",
        "inducing_inputs",
        "q_mean",
        "q_sqrt",
    ):
        np.testing.assert_allclose(
            getattr(vanished[1], name), getattr(nearly[1], name), rtol=1e-5, atol=1e-6
        )
    vector = places[1].copy()
    vector[0] = -1e3  # its softplus is exactly 0
    value, gradient = objective(vector)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
