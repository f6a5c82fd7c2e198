"""Rows that are gone act through their summary as they did themselves, near the posterior it was made at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators.gpcalib.features import chebyshev_points
from calib.calibrators.gpcalib.laplace_summary import N_POINTS, Summary
from tests.calibrators.gpcalib import naive
from tests.calibrators.gpcalib.test_likelihood import model_at
from tests.conftest import simulate

KINDS = [
    ("logits", "diagonal", "diagonal"),
    ("logits", "diagonal", "full"),
    ("logits", "full", "diagonal"),
    ("probs", "diagonal", "diagonal"),
    ("probs", "full", "full"),
]
every_kind = pytest.mark.parametrize(("space", "covariance", "variational"), KINDS)


def in_parts(space: str, covariance: str, variational: str, certain: bool = False):
    """The model of all rows, the same with the first ones as a summary made there, and the naive objective.

    The later rows reach farther than the first.
    """
    logits, labels = simulate(120, 6, scale=3.0)
    logits[60:] *= 1.3
    low, high = (logits.min(), logits.max()) if space == "logits" else (0.0, 1.0)
    posterior = naive.some_posterior(low, high, full=variational == "full")
    if certain:
        posterior = replace(posterior, noise_variance=1e-6, q_sqrt=1e-3 * posterior.q_sqrt)
    kind = (space, covariance, variational)
    past = model_at(posterior, logits[:60], labels[:60], *kind).summary()
    together = model_at(posterior, logits, labels, *kind)
    apart = model_at(posterior, logits[60:], labels[60:], *kind, past)
    return together, apart, naive.objective(posterior, logits, labels, space, covariance)


@every_kind
def test_where_it_was_made_a_summary_gives_the_objective_of_all_rows(space, covariance, variational):
    _, apart, exact = in_parts(space, covariance, variational)
    assert float(apart.maximum_log_likelihood_objective()) == pytest.approx(exact, rel=1e-4)


@every_kind
def test_where_it_was_made_a_summary_gives_the_gradient_of_all_rows(space, covariance, variational):
    together, apart, _ = in_parts(space, covariance, variational)
    gradients = []
    for model in (together, apart):
        with tf.GradientTape() as tape:
            value = model.maximum_log_likelihood_objective()
        gradients.append(np.concatenate([g.numpy().ravel() for g in tape.gradient(value, model.trainable_variables)]))
    assert np.abs(gradients[0] - gradients[1]).max() < 1e-3 * np.abs(gradients[0]).max()


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_away_from_there_the_error_grows_with_the_third_power(covariance):
    """Where there is next to no variance: the curvature leaves out that of the Taylor term."""
    together, apart, _ = in_parts("logits", covariance, "diagonal", certain=True)
    start = together.q_mu.numpy()
    along = np.random.default_rng(1).normal(size=start.shape)
    errors = []
    for step in (0.0, 0.4, 0.8):
        together.q_mu.assign(start + step * along)
        apart.q_mu.assign(start + step * along)
        errors.append(difference(together, apart))
    assert abs(errors[0]) < 1e-6
    assert errors[2] / errors[1] == pytest.approx(8.0, rel=0.1)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_covariance_enters_exactly(covariance):
    """The Taylor term is linear in it, so a summary made with one covariance serves any other."""
    together, apart, exact = in_parts("logits", covariance, "diagonal")
    before = float(apart.maximum_log_likelihood_objective())
    for model in (together, apart):
        model.q_sqrt.assign(0.3 * model.q_sqrt.numpy())
    assert abs(float(apart.maximum_log_likelihood_objective()) - before) > 0.01 * abs(exact)
    assert abs(difference(together, apart)) < 1e-4 * abs(exact)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_summaries_add_up(covariance):
    """Three parts of one set, all expanded at one posterior, against the set in one piece."""
    logits, labels = simulate(90, 6, scale=3.0)
    logits[0], labels[0] = logits[30], labels[30]
    posterior = naive.some_posterior(logits.min(), logits.max(), full=False)
    kind = ("logits", covariance, "diagonal")
    past = None
    for part in (slice(0, 30), slice(30, 60), slice(60, 90)):
        model = model_at(posterior, logits[part], labels[part], *kind, past)
        past = model.summary()
    exact = naive.objective(posterior, logits, labels, "logits", covariance)
    assert float(model.maximum_log_likelihood_objective()) == pytest.approx(exact, rel=1e-4)
    whole = model_at(posterior, logits, labels, *kind).summary().onto(past.low, past.high)
    shift = posterior.shift(past.points)
    assert shift @ past.curvature @ shift == pytest.approx(shift @ whole.curvature @ shift, rel=1e-3)


def difference(together, apart) -> float:
    return float(apart.maximum_log_likelihood_objective() - together.maximum_log_likelihood_objective())


def random_summary(low: float, high: float, generator: np.random.Generator) -> Summary:
    root = generator.normal(size=(N_POINTS, N_POINTS))
    return Summary(low, high, 1.5, generator.normal(size=N_POINTS), root @ root.T, generator.normal(size=N_POINTS))


@given(st.floats(-20, 20), st.floats(0.1, 50), st.floats(0, 20), st.floats(0, 20), st.integers(0, 99))
def test_a_wider_range_changes_nothing_for_smooth_functions(low, width, below, above, seed):
    generator = np.random.default_rng(seed)
    summary = random_summary(low, low + width, generator)
    wider = summary.onto(low - below, low + width + above)
    coefficients = generator.normal(size=12)

    def value(made: Summary) -> np.ndarray:
        shift = np.polynomial.chebyshev.chebval((made.points - low) / (width + below + above), coefficients)
        return np.array([made.slope @ shift, shift @ made.curvature @ shift, made.variance_slope @ shift])

    assert wider.points == pytest.approx(chebyshev_points(wider.low, wider.high, N_POINTS))
    assert value(wider) == pytest.approx(value(summary), rel=1e-7, abs=1e-7)
    assert wider.constant == summary.constant


def test_rows_that_are_gone_never_say_more_than_certainty():
    """Ten confident rows, half of them wrong, leave a slope and hardly any curvature."""
    logits, labels = np.tile([[12.0, 0.0, -3.0]], (10, 1)), np.arange(10) % 2
    kind = ("logits", "diagonal", "diagonal")
    start = naive.some_posterior(-3.0, 12.0, full=False)
    start = replace(start, q_mean=np.zeros(6), q_sqrt=np.full(6, 1e-3))
    past = model_at(start, logits, labels, *kind).summary()
    objectives = []
    for slope in (0.0, -50.0, -60.0):
        steeper = replace(start, q_mean=slope * np.linspace(1.0, -1.0, 6))
        alone = model_at(steeper, logits, labels, *kind)
        both = model_at(steeper, logits, labels, *kind, past)
        objectives.append(float(both.maximum_log_likelihood_objective() - alone.maximum_log_likelihood_objective()))
    assert objectives[0] < -50.0
    assert objectives[1:] == [0.0, 0.0]
