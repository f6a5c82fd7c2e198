"""The model in GPflow beside NumPy's, and GPflow's posterior written plainly, to which both are held."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from calib.calibrators import backend
from calib.calibrators.gpcalib import GPCalib, training
from calib.calibrators.gpcalib.posterior import KERNELS, Posterior
from calib.errors import FitCancelled
from calib.numerics import log_softmax, softmax
from tests.calibrators.conftest import NETWORKS, split_of
from tests.calibrators.gpcalib import naive
from tests.calibrators.gpcalib.test_objective import objective_of, some_objective
from tests.conftest import simulate

pytestmark = pytest.mark.long  # of what importing TensorFlow and GPflow takes


def model_of(objective, kernel: str = "rbf"):
    return training._gpflow_model(objective, kernel)


def order_of(objective) -> np.ndarray:
    """Places of the objective's free numbers among the model's: GPflow fills a triangle in another order."""
    from tensorflow_probability.substrates.numpy.math import fill_triangular

    n = len(objective.start)
    if not objective.parametrisation.full:
        return np.arange(n)
    m = objective.parametrisation.n_inducing
    filled = fill_triangular(np.arange(n - 3 - 2 * m))
    return np.concatenate([np.arange(3 + 2 * m), 3 + 2 * m + filled[np.tril_indices(m)]])


@pytest.mark.parametrize("space", ["logits", "probs"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize(("variational", "after_earlier"), [("full", True), ("diagonal", False)])
def test_both_engines_have_one_objective_and_gradient(
    space, covariance, variational, after_earlier
):
    objective, places = some_objective(space, covariance, variational, after_earlier)
    model = model_of(objective)
    order = order_of(objective)
    np.testing.assert_allclose(model.start[order], objective.start, atol=1e-12)
    for vector in places:
        value, gradient = objective(vector)
        of_model, slopes = model(vector[np.argsort(order)])
        slopes = slopes[order]
        assert of_model == pytest.approx(value, rel=1e-6)
        # NumPy interpolates a full covariance between 96 points, GPflow computes it at all nodes.
        np.testing.assert_allclose(slopes, gradient, rtol=1e-5, atol=1e-5 * np.abs(gradient).max())
        for name, learned in vars(objective.posterior_at(vector)).items():
            expected = getattr(model.posterior_at(vector[np.argsort(order)]), name)
            assert learned == expected if name == "kernel" else np.allclose(learned, expected)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_sparse_sums_give_the_same_objective(covariance):
    objective, (*_, vector) = some_objective("logits", covariance, "full", False)
    dense = model_of(objective)(vector)
    statistics = objective.statistics
    sums, squares = csr_array(statistics.sums), csr_array(statistics.squares)
    objective.statistics = replace(statistics, sums=sums, squares=squares)
    for value, expected in zip(model_of(objective)(vector), dense, strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-8)


def test_where_the_kernel_matrix_is_none_the_objective_is_no_number():
    objective, (vector, *_) = some_objective("logits", "diagonal", "full", False)
    wild = vector.copy()
    wild[0], wild[3:5] = 1e30, 0.0  # two inducing inputs that are one
    for each in (objective, model_of(objective)):
        value, gradient = each(wild)
        assert np.isnan(value) and gradient.shape == wild.shape


def held_out_nll(fitted: GPCalib, logits: np.ndarray, labels: np.ndarray) -> float:
    return -float(np.log(fitted.predict_proba(logits)[np.arange(len(labels)), labels]).mean())


@pytest.mark.parametrize("name", NETWORKS)
def test_both_engines_learn_the_same(name):
    logits, labels, *others = split_of(name)
    here, there = (GPCalib(engine=engine).fit(logits, labels) for engine in ("numpy", "gpflow"))
    # The paths part by rounding; two ends of one engine from two seeds differ by more.
    assert there.objective_ == pytest.approx(here.objective_, abs=0.1)
    assert held_out_nll(there, *others) == pytest.approx(held_out_nll(here, *others), abs=1e-4)


@pytest.mark.parametrize("kernel", KERNELS[1:])
def test_every_kernel_calibrates_what_is_overconfident(kernel, overconfident):
    logits, labels = overconfident
    fitted = GPCalib(kernel=kernel).fit(logits, labels)
    rbf = GPCalib().fit(logits, labels)
    assert fitted.converged_ and fitted.device_.startswith("CPU (")
    assert held_out_nll(fitted, logits, labels) == pytest.approx(
        held_out_nll(rbf, logits, labels), abs=0.01
    )
    longer = GPCalib(kernel=kernel).fit(logits[::2], labels[::2])
    longer.partial_fit(logits[1::2], labels[1::2])
    np.testing.assert_allclose(
        longer.predict_proba(logits), fitted.predict_proba(logits), atol=0.03
    )


def test_a_fit_by_gpflow_can_be_cancelled():
    def cancel(step, total, value):
        if step == 2:
            raise FitCancelled

    with pytest.raises(FitCancelled):
        GPCalib(engine="gpflow").fit(*simulate(100, 3), progress=cancel)


def test_gpflow_takes_the_gpu_where_there_is_one_and_the_cpu_where_its_memory_is_full(
    pretend_gpu, monkeypatch
):
    logits, labels = simulate(100, 3)
    small = {"max_iter": 5, "engine": "gpflow"}
    assert GPCalib(**small).fit(logits, labels).device_ == "Test GPU"
    assert GPCalib(**small, device="cpu").fit(logits, labels).device_.startswith("CPU (")
    make = training._gpflow_model
    tried = []

    def full(*arguments):
        tried.append(arguments)
        if len(tried) == 1:
            raise backend.tensorflow().errors.ResourceExhaustedError(
                None, None, "OOM when allocating tensor"
            )
        return make(*arguments)

    monkeypatch.setattr(training, "_gpflow_model", full)
    fitted = GPCalib(device="gpu", max_iter=5).fit(logits, labels)
    assert any("ran out of memory" in note for note in fitted.notes())
    alone = GPCalib(device="cpu", max_iter=5).fit(logits, labels)
    np.testing.assert_array_equal(fitted.predict_proba(logits), alone.predict_proba(logits))
    assert len(tried) == 1


def plain_gpflow(posterior: Posterior, full: bool) -> Any:
    """GPflow's own sparse variational model with the parameters of a posterior."""
    import gpflow

    smooth = {
        "rbf": gpflow.kernels.SquaredExponential,
        "matern52": gpflow.kernels.Matern52,
        "matern32": gpflow.kernels.Matern32,
        "rational_quadratic": gpflow.kernels.RationalQuadratic,
    }[posterior.kernel](posterior.variance, posterior.lengthscale)
    if posterior.kernel == "rational_quadratic":
        smooth.alpha.assign(posterior.alpha)
    return gpflow.models.SVGP(
        smooth + gpflow.kernels.White(posterior.noise_variance),
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
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_numpy_posterior_equals_gpflow(kernel, full):
    posterior = replace(naive.some_posterior(-12.0, 9.0, full=full), kernel=kernel, alpha=0.6)
    reference = plain_gpflow(posterior, full)
    inputs = np.linspace(-30.0, 30.0, 101)
    mean, variance = reference.predict_f(inputs[:, None])
    assert np.abs(posterior.shift(inputs) - mean.numpy()[:, 0]).max() < 1e-6
    marginal = np.diagonal(posterior.covariance(inputs)) + posterior.noise_variance
    assert np.abs(marginal - variance.numpy()[:, 0]).max() < 1e-6
    _, joint = reference.predict_f(inputs[:40, None], full_cov=True)
    noise = posterior.noise_variance * np.eye(40)
    assert np.abs(posterior.covariance(inputs[:40]) + noise - joint.numpy()[0]).max() < 1e-6


def test_the_sampled_likelihood_is_the_mean_over_drawn_functions() -> None:
    """The same value from NumPy: functions drawn with the model's own normal numbers, softmax row by row."""
    objective, (vector, *_) = some_objective("logits", "full", "full", False)
    model = training._gpflow_model(objective, "rbf", sampled=True)
    vector = model.start
    posterior = model.posterior_at(vector)
    nodes = objective.statistics.grid.nodes
    covariance = posterior.covariance(nodes)
    jitter = 1e-6 * covariance.diagonal().max() + 1e-10
    root = np.linalg.cholesky(covariance + jitter * np.eye(len(nodes)))
    draws = posterior.shift(nodes)[:, None] + root @ model.likelihood._normal.numpy()
    sums = objective.statistics.sums @ np.exp(draws)
    expected = objective.statistics.label_prior - np.log(sums).sum(axis=0).mean()
    expected += (objective.statistics.label_weights @ draws).mean()
    growth = np.exp(posterior.shift(nodes))
    total = objective.statistics.sums @ growth
    softness = (objective.statistics.squares @ growth**2) / total**2 - 1.0
    expected += 0.5 * posterior.noise_variance * softness.sum()
    value, gradient = model(vector)
    assert value == pytest.approx(expected - float(model.prior_kl()), rel=1e-6)
    step = 1e-5 * np.ones_like(vector)
    slope = (model(vector + step)[0] - model(vector - step)[0]) / 2
    assert slope == pytest.approx(gradient @ step, rel=1e-3)


def test_both_likelihoods_learn_one_map() -> None:
    logits, labels = simulate(800, 5)
    expansion = GPCalib(engine="gpflow").fit(logits[:400], labels[:400])
    sampled = GPCalib(likelihood="monte_carlo").fit(logits[:400], labels[:400])
    losses = [
        -np.log(each.predict_proba(logits[400:])[np.arange(400), labels[400:]]).mean()
        for each in (expansion, sampled)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=2e-3)
