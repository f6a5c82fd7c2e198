"""Ways to predict from a posterior, against Monte Carlo and averages over its draws."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from calib.calibrators.gpcalib.posterior import Posterior
from calib.calibrators.gpcalib.prediction import (
    add_white_noise,
    predict_draws,
    tabulate,
)
from calib.numerics import softmax
from tests.calibrators.gpcalib import naive
from tests.conftest import simulate

Table = namedtuple("Table", ("grid", "shift", "draws"))


@pytest.fixture(scope="module")
def logits() -> np.ndarray:
    return simulate(60, 8, scale=3.0)[0]


@pytest.fixture(scope="module")
def posterior(logits):
    return naive.some_posterior(logits.min(), logits.max(), full=True, noise=0.0)


def table(posterior, logits, **changes):
    options = {"n_draws": 128, "seed": 0, "monotone": False} | changes
    return Table(*tabulate(posterior, logits.min(), logits.max(), "logits", **options))


def mean_of(logits, table):
    return softmax(logits + table.grid.interpolate(table.shift, logits))


def draws_of(logits, table):
    return predict_draws(logits, logits, table.grid, table.draws)


def test_the_mean_and_the_draws_are_those_of_the_softmax(logits, posterior):
    """The matrix-product form is an identity, not an approximation of the average over the same draws."""
    made = table(posterior, logits)
    exact = softmax(np.array([z + posterior.shift(z) for z in logits]))
    assert np.abs(mean_of(logits, made) - exact).max() < 1e-5
    naive_average = np.mean(
        [softmax(logits + made.grid.interpolate(draw, logits)) for draw in made.draws], axis=0
    )
    assert np.abs(draws_of(logits, made) - naive_average).max() < 1e-3


def test_draws_approach_joint_monte_carlo(logits, posterior, rng):
    """Against plain Monte Carlo from each row's full covariance, by its own standard error."""
    made = table(posterior, logits)
    probs = draws_of(logits, made)
    for z, p in zip(logits[:15], probs, strict=False):
        root = np.linalg.cholesky(posterior.covariance(z) + 1e-9 * np.eye(len(z)))
        samples = softmax(z + posterior.shift(z) + rng.normal(size=(20_000, len(z))) @ root.T)
        # 0.01: Sobol with 128 points against a standard deviation of the samples of about 0.2.
        assert np.abs(p - samples.mean(axis=0)).max() < 0.01


def test_draws_are_no_wider_than_the_objective_can_tell():
    """A column of floors far below the rest: between them there are no data, and the prior is as wide as that gap."""
    inducing = np.array([-1.0, -4.0, -8.0, -14.0, -95.0])
    posterior = Posterior(
        900.0, 14.0, 1e-9, inducing, np.array([0.6, 0.1, 0.0, 0.0, 1.5]), np.full(5, 0.01)
    )
    made = Table(*tabulate(posterior, -95.0, 0.0, "logits", n_draws=128, seed=0, monotone=False))
    deviations = made.draws - made.shift
    at_data = np.array([made.grid.interpolate(d, inducing) for d in deviations])
    deviations -= np.median(at_data, axis=1, keepdims=True)
    sd = deviations.std(axis=0)
    exact = np.sqrt(np.maximum(np.diagonal(posterior.covariance(made.grid.nodes)), 0.0))
    assert exact.max() > 25
    assert 2.5 < sd.max() < 3.5  # of which the median has its part
    # Near the data they are as they were: differences there have the posterior's own deviation.
    low, high = (
        np.array([made.grid.interpolate(d, np.array([z]))[0] for d in made.draws])
        for z in (-9.5, -0.5)
    )
    two = posterior.covariance(np.array([-9.5, -0.5]))
    assert np.std(high - low) == pytest.approx(
        np.sqrt(two[0, 0] + two[1, 1] - 2 * two[0, 1]), rel=0.1
    )
    logits = np.array(
        [[-0.3, -1.4, -40.0, -60.0]]
    )  # the last two are 30 below, and were never right
    mean = mean_of(logits, made)
    assert np.abs(draws_of(logits, made) - mean).max() < 0.02


def test_white_noise_acts_like_noise_on_every_latent(rng):
    probs = softmax(rng.normal(size=(20, 5)) * 2.0)
    latent = np.log(probs) + 0.2 * rng.normal(size=(10_000, *probs.shape))
    sampled = softmax(latent.reshape(-1, 5)).reshape(latent.shape).mean(axis=0)
    noisy = add_white_noise(probs, 0.04)
    assert np.abs(noisy - sampled).max() < 2e-3
    assert np.abs(noisy - sampled).max() < 0.3 * np.abs(probs - sampled).max()
