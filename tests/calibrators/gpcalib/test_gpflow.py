"""Fits whose products TensorFlow computes, and GPflow's own model, to whose value the objective is held."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from calib.calibrators import backend
from calib.calibrators.gpcalib import GPCalib, training
from calib.calibrators.gpcalib.posterior import Posterior
from calib.numerics import log_softmax, softmax
from tests.calibrators.gpcalib import naive
from tests.calibrators.gpcalib.test_objective import objective_of, some_objective
from tests.conftest import simulate

pytestmark = pytest.mark.long  # of what importing TensorFlow and GPflow takes


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("held", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_products_in_tensorflow_give_the_same_objective_gradient_and_expansion(covariance, held):
    objective, places = some_objective("logits", covariance, "full", True)
    statistics = objective.statistics
    sums, squares = (
        training.OnGPU(held(matrix)) for matrix in (statistics.sums, statistics.squares)
    )
    there = copy(objective)
    there.statistics = replace(statistics, sums=sums, squares=squares)
    for vector in places:
        for found, expected in zip(there(vector), objective(vector), strict=True):
            np.testing.assert_allclose(
                found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max()
            )
    posterior = objective.parametrisation.posterior(places[1])
    found, expected = (vars(each.expansion(posterior)) for each in (there, objective))
    for name, values in expected.items():
        np.testing.assert_allclose(
            found[name], values, rtol=1e-8, atol=1e-8 * np.abs(values).max(), err_msg=name
        )


def test_where_the_gpu_is_full_the_cpu_fits_the_same(pretend_gpu, monkeypatch):
    def full(matrix):
        raise backend.tensorflow().errors.ResourceExhaustedError(
            None, None, "OOM when allocating tensor"
        )

    monkeypatch.setattr(training, "OnGPU", full)
    logits, labels = simulate(100, 3)
    fitted = GPCalib(device="gpu", max_iter=5).fit(logits, labels)
    assert any("ran out of memory" in note for note in fitted.notes())
    alone = GPCalib(device="cpu", max_iter=5).fit(logits, labels)
    np.testing.assert_array_equal(fitted.predict_proba(logits), alone.predict_proba(logits))


def plain_gpflow(posterior: Posterior, full: bool) -> Any:
    """GPflow's own sparse variational model with the parameters of a posterior."""
    import gpflow

    kernel = gpflow.kernels.SquaredExponential(
        posterior.variance, posterior.lengthscale
    ) + gpflow.kernels.White(posterior.noise_variance)
    return gpflow.models.SVGP(
        kernel,
        gpflow.likelihoods.Gaussian(),
        posterior.inducing_inputs[:, None],
        q_diag=not full,
        q_mu=posterior.q_mean[:, None],
        q_sqrt=posterior.q_sqrt[None] if full else posterior.q_sqrt[:, None],
        whiten=True,
    )


@pytest.mark.parametrize(("n", "n_classes"), [(200, 10), (40, 100)])
def test_the_full_grid_objective_equals_that_of_plain_gpflow(n, n_classes):
    logits, labels = simulate(n, n_classes, scale=2.0)
    posterior = naive.some_posterior(logits.min(), logits.max(), full=True)
    plain = plain_gpflow(posterior, True)
    shift, covariance = (
        moment.numpy() for moment in plain.predict_f(logits[:, :, None], full_cov=True)
    )
    latent, covariance = logits + shift[:, :, 0], covariance[:, 0]
    s = softmax(latent)
    quadratic = np.einsum("nk,nkl,nl->n", s, covariance, s) - np.einsum("nk,nkk->n", s, covariance)
    exact = float(
        (log_softmax(latent)[np.arange(n), labels] + 0.5 * quadratic).sum() - plain.prior_kl()
    )
    value, _ = objective_of(posterior, logits, labels, "logits", "full", "full").at(posterior)
    assert value == pytest.approx(exact, rel=1e-4)


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
