"""The optimisation of GPcalib: its trace, its ends, its rows and its first inducing points."""

from __future__ import annotations

import numpy as np
import pytest

from calib.base import silent
from calib.calibrators.gpcalib import GPCalib, training
from calib.calibrators.gpcalib.statistics import starting_inducing_inputs
from calib.numerics import log_softmax
from tests.conftest import simulate


def fit(logits, labels, progress=silent, **params):
    return training.fit_latent_gp(logits, labels, GPCalib(device="cpu", **params), None, progress)[
        0
    ]


def test_the_objective_rises_and_progress_is_told_of_each_step(overconfident):
    seen = []
    result = fit(*overconfident, progress=lambda *step: seen.append(step))
    assert result.converged
    assert result.message == f"converged after {len(seen)} iterations"
    assert (np.diff(result.trace) > -1e-6).all()
    assert [s[0] for s in seen] == list(range(1, len(seen) + 1))
    assert {s[1] for s in seen} == {1000}
    assert np.array_equal(result.trace[1:], [s[2] for s in seen])


def test_an_objective_that_overflows_ends_the_fit_where_it_still_was_a_number(
    monkeypatch, overconfident
):
    minimize, runs = training.minimize, []

    def overflow(*args, options, **kwargs):
        result = minimize(*args, options=options | {"maxiter": 5}, **kwargs)
        runs.append(result.nit)
        result.x, result.fun, result.success = np.full_like(result.x, np.nan), -np.inf, True
        return result

    monkeypatch.setattr(training, "minimize", overflow)
    result = fit(*overconfident)
    assert runs == [5]
    assert not result.converged
    assert result.message == "stopped after 5 iterations"
    monkeypatch.undo()
    stopped = fit(*overconfident, max_iter=5)
    np.testing.assert_allclose(result.posterior.q_mean, stopped.posterior.q_mean)
    np.testing.assert_allclose(result.trace, stopped.trace)


@pytest.mark.parametrize("space", ["logits", "probs"])
def test_inducing_inputs_start_at_the_data_largest_first(space):
    logits, _ = simulate(300, 5)
    start = starting_inducing_inputs(logits, space, 10, 0)
    assert len(start) == 10
    assert (np.diff(start) < 0).all()
    low, high = (logits.min(), logits.max()) if space == "logits" else (0.0, 1.0)
    assert low < start[-1] < start[0] < high
    assert np.array_equal(start, starting_inducing_inputs(logits[:, ::-1], space, 10, 0))


def test_few_distinct_values_give_few_inducing_inputs():
    assert np.array_equal(starting_inducing_inputs(np.zeros((50, 3)), "logits", 10, 0), [0.0])
    values = np.random.default_rng(0).choice([-1.0, 0.0, 2.0], size=(50, 3))
    assert np.array_equal(starting_inducing_inputs(values, "logits", 10, 0), [2.0, 0.0, -1.0])


def test_a_function_steeper_than_the_grid_is_said_so_and_leaves_a_summary_of_the_rows(monkeypatch):
    """Made at the prior, where the log-likelihood is that of the raw model."""
    monkeypatch.setattr("calib.calibrators.gpcalib.training.STEEP", 1e-6)
    logits, labels = simulate(200, 4)
    result = fit(logits, labels, max_iter=5)
    assert not result.converged
    assert "steeper" in result.message
    summary = result.likelihood
    raw = float(log_softmax(logits)[np.arange(200), labels].sum())
    assert summary.constant == pytest.approx(raw, rel=0.01)
    assert (
        abs(summary.slope.sum()) < 1e-6 * np.abs(summary.slope).sum()
    )  # a constant shift changes nothing
