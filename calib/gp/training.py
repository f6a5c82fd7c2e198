"""From a calibration set to a fitted posterior: start, optimise, report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import gpflow
import numpy as np
import tensorflow as tf
from scipy.optimize import OptimizeResult

from calib.base import Callback
from calib.gp.device import Device, run
from calib.gp.grid import Grid
from calib.gp.model import LatentGP
from calib.gp.objective import GridLikelihood
from calib.gp.posterior import Posterior
from calib.gp.start import starting_inducing_inputs
from calib.gp.statistics import grid_statistics, training_grid
from calib.gp.summary import Summary
from calib.numerics import Floats, Ints

MOST_ROWS = 50_000
"""More calibration rows than this no longer move a function with ten inducing inputs; they are subsampled."""

STEEPEST = 0.5
"""Change of the shift between neighbouring nodes up to which interpolating its exponential is exact to 0.2 %."""

REFINEMENT = 4
"""How much finer the grid of the second attempt is, where the first was too coarse."""

LARGEST_VARIANCE = 1e6
"""Bound on the kernel variance, so that the jitter still keeps K_uu positive definite."""

FLAT = 0.01
"""Gradient per unit of a parameter, relative to the objective, above which the optimiser stopped without arriving."""

WORTHWHILE = 0.01
"""Gain in nats of a fresh start below which no other is made."""


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A fitted latent function and how the fit went.

    Attributes
    ----------
    posterior : the fitted function.
    low, high : range of the kernel inputs.
    objective_trace : (n_iter + 1,) the objective at the start and after each iteration, in nats.
    converged, message : whether the optimiser finished, and why it stopped, in words.
    device, device_note : where it ran, in words, and a sentence where that is not what was asked for.
    n_rows : calibration rows used.
    summary : what these rows, and the earlier ones, say about the latent function.
    """

    posterior: Posterior
    low: float
    high: float
    objective_trace: Floats
    converged: bool
    message: str
    device: str
    device_note: str
    n_rows: int
    summary: Summary


def fit_latent_gp(
    logits: Floats,
    labels: Ints,
    *,
    space: str,
    n_inducing: int,
    covariance: str,
    variational: str,
    max_iter: int,
    device: str,
    seed: int,
    callback: Callback,
    past: Summary | None = None,
) -> LatentFit:
    """Fit the latent function by L-BFGS; see :class:`calib.calibrators.gpcalib.GPCalib` for the parameters.

    ``past`` is the summary of earlier rows of the same model, which then count as if they were here.
    """
    start = starting_inducing_inputs(logits, space, n_inducing, seed)
    grid = training_grid(logits, space, past)
    past = past and past.onto(grid.low, grid.high)

    def attempt(grid: Grid, most_rows: int) -> _Attempt:
        rows = _sample(len(logits), most_rows, seed)
        likelihood = GridLikelihood(grid_statistics(logits[rows], labels[rows], space, grid))
        model = LatentGP(likelihood, start, space, covariance, variational, past)
        trace: list[float] = []
        result = _maximise(model, max_iter, trace, callback)
        posterior = model.posterior()
        resolved = _resolved(posterior, grid, trace)
        if not resolved:
            model.return_to_prior()  # a summary made there would be one of the grid's faults
        return _Attempt(posterior, model.summary(), result, trace, resolved, likelihood.n_rows)

    def optimise(_: Device) -> _Attempt:
        made = attempt(grid, MOST_ROWS)
        if made.resolved:
            return made
        return attempt(replace(grid, size=REFINEMENT * grid.size), MOST_ROWS // REFINEMENT)

    ran = run(optimise, device, (len(logits), logits.shape[1]))
    made = ran.result
    return LatentFit(
        posterior=made.posterior,
        low=grid.low,
        high=grid.high,
        objective_trace=np.array(made.trace),
        converged=bool(made.result.success) and made.resolved,
        message=_message(made.result, len(made.trace) - 1, made.resolved),
        device=ran.device,
        device_note=ran.note,
        n_rows=made.n_rows,
        summary=made.summary,
    )


class _Attempt(NamedTuple):
    """What one optimisation on one grid came to."""

    posterior: Posterior
    summary: Summary
    result: OptimizeResult
    trace: list[float]
    resolved: bool
    n_rows: int


def _sample(n: int, most: int, seed: int) -> slice | Ints:
    if n <= most:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def _resolved(posterior: Posterior, grid: Grid, trace: list[float]) -> bool:
    """Whether the grid objective can be believed: the shift changes little from node to node.

    Where it does not, the optimiser has found a fault of the interpolation, and its objective may even fall.
    """
    steepest = float(np.abs(np.diff(posterior.shift(grid.nodes))).max())
    return steepest < STEEPEST and trace[-1] > max(trace) - 0.01


def _maximise(model: LatentGP, max_iter: int, trace: list[float], callback: Callback) -> OptimizeResult:
    """L-BFGS-B with the reference's tight tolerance: stopping early moves the calibration error visibly.

    The long memory (40 pairs, with some thirty parameters) halves the number of iterations. After one wild step
    of a line search that memory misleads, and the optimiser stops on a slope; it then starts afresh from there.
    """
    trace.append(float(model.maximum_log_likelihood_objective().numpy()))
    variables = model.trainable_variables
    bounds: list[tuple[float | None, float | None]] = []
    for variable in variables:
        upper = LARGEST_VARIANCE if variable is model.rbf.variance.unconstrained_variable else None
        bounds += [(None, upper)] * int(tf.size(variable))

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        trace.append(-float(intermediate_result.fun))
        callback(min(len(trace) - 1, max_iter), max_iter, trace[-1])

    while True:
        done, before = len(trace) - 1, trace[-1]
        result = gpflow.optimizers.Scipy().minimize(
            model.training_loss,
            variables,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_iteration,
            tf_fun_args={"autograph": False},  # rewriting Python source costs more than the whole fit, for nothing
            options={"maxiter": max_iter - done, "maxfun": 20 * max_iter, "ftol": 2.2e-9, "maxcor": 40},
        )
        flat = float(np.abs(result.jac).max()) <= FLAT * max(1.0, abs(trace[-1]))
        if flat or len(trace) > max_iter or trace[-1] < before + WORTHWHILE:
            return result


def _message(result: OptimizeResult, n_iter: int, resolved: bool) -> str:
    if not resolved:
        return "the latent function became steeper than its grid can follow"
    iterations = f"{n_iter} iteration{'' if n_iter == 1 else 's'}"
    if result.success:
        return f"converged after {iterations}"
    if result.status == 1:
        return f"stopped at the limit of {iterations}"
    return f"the line search found no better point after {iterations}"
