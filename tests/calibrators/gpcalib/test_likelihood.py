from __future__ import annotations

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from calib.calibrators.gpcalib.laplace_summary import Summary
from calib.calibrators.gpcalib.likelihood import GridLikelihood
from calib.calibrators.gpcalib.model import LatentGP
from calib.calibrators.gpcalib.posterior import Posterior
from calib.calibrators.gpcalib.statistics import grid_statistics, training_grid
from calib.numerics import log_softmax, softmax
from tests.calibrators.gpcalib import naive
from tests.conftest import simulate


def model_at(
    posterior: Posterior,
    logits: np.ndarray,
    labels: np.ndarray,
    space: str,
    covariance: str,
    variational: str,
    past: Summary | None = None,
) -> LatentGP:
    """The fast model with its parameters set to those of a posterior."""
    grid = training_grid(logits, space, past)
    likelihood = GridLikelihood(grid_statistics(logits, labels, space, grid))
    past = past and past.onto(grid.low, grid.high)
    model = LatentGP(likelihood, posterior.inducing_inputs, space, covariance, variational, past)
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
    likelihood = GridLikelihood(
        grid_statistics(logits, logits.argmax(axis=1), "logits", training_grid(logits, "logits"))
    )
    n, noise = likelihood.grid.size, tf.constant(1e-6, tf.float64)
    for _ in range(200):
        shift = tf.constant(generator.choice([-1.0, 1.0], n) * generator.uniform(0, 12))
        spread = tf.constant(generator.choice([-1.0, 1.0], (n, 3)) * 10.0 ** generator.uniform(0, 6, (n, 1)))
        variance = tf.reduce_sum(spread**2, axis=1) + noise
        if covariance == "diagonal":
            value = likelihood.diagonal(shift, variance)
        else:
            value = likelihood.full(shift, variance, noise, spread, tf.eye(3, dtype=tf.float64))
        assert not float(value) > 0.0  # where it is no number the optimiser stops
