"""The transforms of parameters: what they map onto, and that a fit leaves nothing behind."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import calibrator
from calib.calibrators.gpcalib.interpolation import Grid, chebyshev_features
from calib.calibrators.gpcalib.posterior import Posterior
from calib.calibrators.gpcalib.quadratic_likelihood import QuadraticLikelihood
from calib.calibrators.gpcalib.statistics import grid_statistics, logit_scale, training_grid
from calib.numerics import log_softmax, softmax
from tests.calibrators.gpcalib import naive
from tests.conftest import Later, simulate

tf, gpflow = Later("tensorflow"), Later("gpflow")
models, likelihoods = (Later(f"calib.calibrators.gpcalib.{name}") for name in ("model", "likelihood"))


def model_at(
    posterior: Posterior,
    logits: np.ndarray,
    labels: np.ndarray,
    space: str,
    covariance: str,
    variational: str,
    earlier: QuadraticLikelihood | None = None,
) -> Any:
    """The fast model with its parameters set to those of a posterior."""
    grid = training_grid(logits, space, earlier)
    likelihood = likelihoods.GridLikelihood(grid_statistics(logits, labels, space, grid))
    earlier = earlier and earlier.onto(grid.low, grid.high)
    model = models.LatentGP(likelihood, posterior.inducing_inputs, space, covariance, variational, earlier)
    model.rbf.variance.assign(posterior.variance)
    model.rbf.lengthscales.assign(posterior.lengthscale)
    model.white.variance.assign(posterior.noise_variance)
    model.q_mu.assign(posterior.q_mean[:, None])
    model.q_sqrt.assign(posterior.q_sqrt[:, None] if variational == "diagonal" else posterior.q_sqrt[None])
    return model


@pytest.mark.parametrize("space", ["logits", "probs"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("variational", ["diagonal", "full"])
@pytest.mark.parametrize("n_classes", [2, 10, 100])
def test_the_grid_objective_equals_the_naive_one(space, covariance, variational, n_classes):
    logits, labels = simulate(60, n_classes, scale=3.0)
    low, high = (logits.min(), logits.max()) if space == "logits" else (0.0, 1.0)
    posterior = naive.some_posterior(low, high, full=variational == "full")
    model = model_at(posterior, logits, labels, space, covariance, variational)
    exact = naive.objective(posterior, logits, labels, space, covariance)
    assert float(model.maximum_log_likelihood_objective()) == pytest.approx(exact, rel=1e-4)


def test_the_two_covariances_differ():
    logits, labels = simulate(60, 10, scale=3.0)
    posterior = naive.some_posterior(logits.min(), logits.max(), full=False)
    values = [naive.objective(posterior, logits, labels, "logits", c) for c in ("diagonal", "full")]
    assert abs(values[0] - values[1]) > 0.01 * abs(values[0])


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("variational", ["diagonal", "full"])
def test_gradients_agree_with_finite_differences(covariance, variational):
    logits, labels = simulate(60, 5, scale=3.0)
    posterior = naive.some_posterior(logits.min(), logits.max(), full=variational == "full")
    model = model_at(posterior, logits, labels, "logits", covariance, variational)
    variables = model.trainable_variables
    assert len(variables) == 6
    with tf.GradientTape() as tape:
        value = model.maximum_log_likelihood_objective()
    for variable, gradient in zip(variables, tape.gradient(value, variables), strict=True):
        start, step = variable.numpy(), 1e-5
        along = np.random.default_rng(0).normal(size=start.shape)
        ends = []
        for sign in (1.0, -1.0):
            variable.assign(start + sign * step * along)
            ends.append(float(model.maximum_log_likelihood_objective()))
        variable.assign(start)
        assert np.isfinite(gradient).all()
        assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(float(np.sum(gradient * along)), rel=1e-4, abs=1e-4)


def plain_gpflow(posterior: Posterior, full: bool) -> gpflow.models.SVGP:
    """GPflow's own sparse variational model with the parameters of a posterior."""
    kernel = gpflow.kernels.SquaredExponential(posterior.variance, posterior.lengthscale) + gpflow.kernels.White(
        posterior.noise_variance
    )
    return gpflow.models.SVGP(
        kernel,
        gpflow.likelihoods.Gaussian(),
        posterior.inducing_inputs[:, None],
        q_diag=not full,
        q_mu=posterior.q_mean[:, None],
        q_sqrt=posterior.q_sqrt[None] if full else posterior.q_sqrt[:, None],
        whiten=True,
    )


@pytest.mark.parametrize("variational", ["diagonal", "full"])
@pytest.mark.parametrize(("n", "n_classes"), [(1000, 10), (300, 100), (100, 1000)])
def test_the_grid_objective_equals_that_of_plain_gpflow(variational, n, n_classes):
    """The latent function predicted at every one of the n * n_classes logits, as the benchmark's model does."""
    logits, labels = simulate(n, n_classes, scale=2.0)
    full = variational == "full"
    posterior = naive.some_posterior(logits.min(), logits.max(), full=full)
    plain = plain_gpflow(posterior, full)
    moments = plain.predict_f(logits.reshape(-1, 1))
    shift, variance = (moment.numpy().reshape(logits.shape) for moment in moments)
    s = softmax(logits + shift)
    expected = log_softmax(logits + shift)[np.arange(n), labels].sum() + 0.5 * (s * (s - 1.0) * variance).sum()
    model = model_at(posterior, logits, labels, "logits", "diagonal", variational)
    exact = float(expected - plain.prior_kl())
    assert float(model.maximum_log_likelihood_objective()) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(("n", "n_classes"), [(200, 10), (40, 100)])
def test_the_full_grid_objective_equals_that_of_plain_gpflow(n, n_classes):
    logits, labels = simulate(n, n_classes, scale=2.0)
    posterior = naive.some_posterior(logits.min(), logits.max(), full=True)
    plain = plain_gpflow(posterior, True)
    shift, covariance = (moment.numpy() for moment in plain.predict_f(logits[:, :, None], full_cov=True))
    latent, covariance = logits + shift[:, :, 0], covariance[:, 0]
    s = softmax(latent)
    quadratic = np.einsum("nk,nkl,nl->n", s, covariance, s) - np.einsum("nk,nkk->n", s, covariance)
    exact = float((log_softmax(latent)[np.arange(n), labels] + 0.5 * quadratic).sum() - plain.prior_kl())
    model = model_at(posterior, logits, labels, "logits", "full", "full")
    assert float(model.maximum_log_likelihood_objective()) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("full", [False, True])
def test_the_numpy_posterior_equals_gpflow(full):
    posterior = naive.some_posterior(-12.0, 9.0, full=full)
    reference = plain_gpflow(posterior, full)
    inputs = np.linspace(-30.0, 30.0, 101)
    mean, variance = reference.predict_f(inputs[:, None])
    assert np.abs(posterior.shift(inputs) - mean.numpy()[:, 0]).max() < 1e-6
    marginal = np.diagonal(posterior.covariance(inputs)) + posterior.noise_variance
    assert np.abs(marginal - variance.numpy()[:, 0]).max() < 1e-6
    _, joint = reference.predict_f(inputs[:40, None], full_cov=True)
    noise = posterior.noise_variance * np.eye(40)
    assert np.abs(posterior.covariance(inputs[:40]) + noise - joint.numpy()[0]).max() < 1e-6


def test_absurd_shifts_give_a_finite_value():
    logits, labels = simulate(60, 5, scale=3.0)
    posterior = naive.some_posterior(logits.min(), logits.max(), full=False)
    model = model_at(posterior, logits, labels, "logits", "diagonal", "diagonal")
    model.q_mu.assign(1e4 * np.ones((6, 1)))
    assert np.isfinite(float(model.maximum_log_likelihood_objective()))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_no_wild_function_has_a_likelihood_above_one(covariance):
    """What is log-likelihood and its second-order term cannot be positive, however interpolation errs."""
    generator = np.random.default_rng(0)
    logits = np.log(np.maximum(generator.multinomial(50, np.ones(8) / 8, size=300) / 50, 0.01))
    likelihood = likelihoods.GridLikelihood(
        grid_statistics(logits, logits.argmax(axis=1), "logits", training_grid(logits, "logits"))
    )
    n, noise = likelihood.grid.size, tf.constant(1e-6, tf.float64)
    for _ in range(50):
        shift = tf.constant(generator.choice([-1.0, 1.0], n) * generator.uniform(0, 12))
        spread = tf.constant(generator.choice([-1.0, 1.0], (n, 3)) * 10.0 ** generator.uniform(0, 6, (n, 1)))
        variance = tf.reduce_sum(spread**2, axis=1) + noise
        if covariance == "diagonal":
            value = likelihood.diagonal(shift, variance)
        else:
            value = likelihood.full(shift, variance, noise, spread, tf.eye(3, dtype=tf.float64))
        assert not float(value) > 0.0  # where it is no number the optimiser stops


ORDERS = pytest.mark.parametrize("order", [1, 3])


@given(st.floats(-50, 50), st.floats(0.01, 100), st.integers(4, 60), st.sampled_from([1, 3]), st.integers(0, 99))
def test_polynomials_of_the_order_are_exact_everywhere(low, width, size, order, seed):
    grid = Grid(low, low + width, size, order)
    generator = np.random.default_rng(seed)
    inputs = generator.uniform(grid.low, grid.high, 20)
    coefficients = generator.normal(size=order + 1)
    unit = (inputs - low) / width
    exact = np.polyval(coefficients, unit)
    assert np.allclose(grid.interpolate(np.polyval(coefficients, (grid.nodes - low) / width), inputs), exact, atol=1e-9)


@ORDERS
def test_nodes_are_met_exactly(order, rng):
    grid = Grid(-3.0, 8.0, 17, order)
    values = rng.normal(size=17)
    assert np.allclose(grid.interpolate(values, grid.nodes), values, atol=1e-12)


@ORDERS
def test_inputs_outside_take_the_value_at_the_nearer_end(order, rng):
    grid = Grid(-1.0, 1.0, 9, order)
    values = rng.normal(size=9)
    assert np.allclose(grid.interpolate(values, np.array([-1e3, -1.1, 1.1, 1e3])), values[[0, 0, -1, -1]])


def test_the_cubic_error_falls_with_the_fourth_power():
    inputs = np.linspace(0.0, 6.0, 1001)
    errors = []
    for size in (33, 65):
        grid = Grid(0.0, 6.0, size)
        errors.append(np.abs(grid.interpolate(np.sin(grid.nodes), inputs) - np.sin(inputs)).max())
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.2)


@ORDERS
def test_each_row_may_have_its_own_function(order, rng):
    grid, values, inputs = Grid(0.0, 1.0, 12, order), rng.normal(size=(5, 12)), rng.uniform(size=(5, 7))
    each = [grid.interpolate(v, t) for v, t in zip(values, inputs, strict=True)]
    assert np.allclose(grid.interpolate(values, inputs), each)


@ORDERS
def test_collecting_is_the_transpose_of_interpolating(order, rng):
    grid, inputs = Grid(-2.0, 2.0, 11, order), rng.uniform(-2.5, 2.5, size=(6, 30))
    mass, other, values = rng.normal(size=(6, 30)), rng.normal(size=(6, 30)), rng.normal(size=11)
    for m in (mass, other):
        collected = grid.stencil(inputs).collect(m)
        assert np.allclose(collected @ values, (m * grid.interpolate(values, inputs)).sum(axis=1))


@ORDERS
def test_a_window_interpolates_like_the_whole_grid(order, rng):
    grid, values, inputs = Grid(-5.0, 9.0, 40, order), rng.normal(size=40), rng.uniform(-1.0, 2.0, 50)
    nodes, window = grid.window(inputs.min(), inputs.max())
    assert window.size < 20
    assert np.allclose(window.interpolate(values[nodes], inputs), grid.interpolate(values, inputs), atol=1e-12)


def test_statistics_do_not_depend_on_the_order_of_the_classes(rng):
    logits, labels = simulate(200, 7)
    order = rng.permutation(7)
    grid = training_grid(logits, "logits")
    one = grid_statistics(logits, labels, "logits", grid)
    other = grid_statistics(logits[:, order], np.argsort(order)[labels], "logits", grid)
    assert np.array_equal(one.sums, other.sums)
    assert np.array_equal(one.squares, other.squares)
    assert np.array_equal(one.label_weights, other.label_weights)
    assert one.label_prior == other.label_prior


def test_statistics_do_not_depend_on_the_blocks(monkeypatch):
    logits, labels = simulate(200, 7)
    grid = training_grid(logits, "probs")
    whole = grid_statistics(logits, labels, "probs", grid)
    monkeypatch.setattr("calib.calibrators.gpcalib.statistics.BLOCK_ENTRIES", 512 * 9)
    parts = grid_statistics(logits, labels, "probs", grid)
    assert np.array_equal(whole.sums, parts.sums)
    assert np.allclose(whole.label_weights, parts.label_weights, atol=1e-10)
    assert whole.label_prior == pytest.approx(parts.label_prior, rel=1e-12)


def test_chebyshev_features_carry_the_kernel():
    grid = Grid(-30.0, 5.0, 256)
    points, weights = chebyshev_features(grid)
    for lengthscale in (35.0 / 32.0, 3.0, 40.0):
        small, large = (np.exp(-0.5 * (np.subtract.outer(x, x) / lengthscale) ** 2) for x in (points, grid.nodes))
        assert np.abs(weights @ small @ weights.T - large).max() < 1e-7


@pytest.mark.parametrize("factor", [1e-3, 1e-2, 1.0, 1e2, 1e4])
def test_only_badly_scaled_logits_are_scaled(factor):
    logits, labels = simulate(2000, 5, scale=1.0)
    scale = logit_scale(logits * factor, labels)
    assert scale == (1.0 if factor == 1.0 else pytest.approx(factor, rel=0.1))


def test_the_scale_of_separable_data_is_finite():
    logits, _ = simulate(300, 5)
    assert 0.01 < logit_scale(logits, logits.argmax(axis=1)) <= 1.0


@pytest.mark.parametrize(("name", "limits"), [("above", (0.25, np.inf)), ("between", (0.5, 3.0))])
def test_stays_inside_and_has_an_inverse(name, limits):
    low, high = limits
    transform = getattr(models, name)(*filter(np.isfinite, limits))
    values = np.linspace(-8.0, 8.0, 33)
    mapped = transform.forward(values).numpy()
    assert (mapped > low).all()
    assert (mapped < high).all()
    assert (np.diff(mapped) > 0).all()
    np.testing.assert_allclose(transform.inverse(mapped).numpy(), values, atol=1e-9)


def test_softplus_is_the_closed_form():
    values = np.array([-30.0, -1.0, 0.0, 2.0, 40.0])
    np.testing.assert_allclose(models.above(0.1).forward(values).numpy(), np.logaddexp(0.0, values) + 0.1, rtol=1e-12)


def test_triangular_holds_each_number_once():
    values = np.arange(1.0, 7.0)
    matrix = models.triangular().forward(values).numpy()
    np.testing.assert_array_equal(matrix, np.tril(matrix))
    np.testing.assert_array_equal(np.sort(matrix[np.tril_indices(3)]), values)


@pytest.mark.parametrize(
    ("inputs", "variational"),
    [
        ("logits", "full"),
        *(pytest.param(*kind, marks=pytest.mark.long) for kind in (("logits", "diagonal"), ("probs", "full"))),
    ],
)
def test_a_fit_leaves_no_graph_behind(inputs, variational):
    kind = Later("tensorflow.python.framework.func_graph").FuncGraph

    def graphs():
        gc.collect()
        return sum(isinstance(thing, kind) for thing in gc.get_objects())

    logits = np.random.default_rng(0).normal(size=(40, 3))
    before = graphs()
    calibrator("gpcalib", inputs=inputs, variational=variational, max_iter=3).fit(logits, np.arange(40) % 3)
    assert graphs() <= before
