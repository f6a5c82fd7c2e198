"""Fit the latent function: starting values, L-BFGS, and a report."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from calib.base import Progress
from calib.calibrators import backend
from calib.calibrators.gpcalib.interpolation import Grid
from calib.calibrators.gpcalib.objective import Objective
from calib.calibrators.gpcalib.posterior import Posterior
from calib.calibrators.gpcalib.prediction import STEEP
from calib.calibrators.gpcalib.statistics import (
    QuadraticLikelihood,
    grid_statistics,
    starting_inducing_inputs,
    training_grid,
)
from calib.formatting import plural
from calib.numerics import Floats, Ints

if TYPE_CHECKING:
    from calib.calibrators.gpcalib.gpflow_model import LatentFunction


def maximise(
    value_and_gradient: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Bounds,
    max_iter: int,
    progress: Progress,
) -> tuple[Floats, Floats, bool, str]:
    """L-BFGS-B with the reference's tight tolerance: stopping early moves the calibration error visibly.

    The long memory (40 pairs, with some thirty parameters) halves the number of iterations. Where the objective
    overflows the parameters are those of the last iteration before.

    Parameters
    ----------
    value_and_gradient : of the objective in nats at (p,) parameters.
    start, bounds : where to begin, (p,), and the lowest and highest value of each parameter.

    Returns
    -------
    (p,) parameters, (n_iter + 1,) values at the start and after each iteration, whether the optimiser finished, and
    this in words.
    """
    trace = [value_and_gradient(start)[0]]
    last = start

    def loss(vector: Floats) -> tuple[float, Floats]:
        value, gradient = value_and_gradient(vector)
        return -value, -gradient

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        nonlocal last
        value = -float(intermediate_result.fun)
        if np.isfinite(value):
            trace.append(value)
            last = np.array(intermediate_result.x)
        progress(min(len(trace) - 1, max_iter), max_iter, trace[-1])

    result = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        callback=after_iteration,
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 2.2e-9, "maxcor": 40},
    )
    finished = bool(result.success and np.isfinite(result.fun))
    outcome = (
        f"{'converged' if finished else 'stopped'} after {plural(len(trace) - 1, 'iteration')}"
    )
    return last, np.array(trace), finished, outcome


MOST_ROWS = 50_000
"""More calibration rows than this no longer move a function with ten inducing inputs; they are subsampled."""

TOO_STEEP = "the latent function became steeper than its grid can follow"


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A fitted latent function and how the fit went.

    Attributes
    ----------
    posterior : the fitted function.
    likelihood : second-order expansion of the likelihood of all rows; its range is that of the kernel inputs.
    trace : (n_iter + 1,) the objective in nats, at the start and after each iteration.
    converged, message : whether the optimiser finished, and why it stopped in words.
    n_rows : calibration rows used.
    """

    posterior: Posterior
    likelihood: QuadraticLikelihood
    trace: Floats
    converged: bool
    message: str
    n_rows: int


def fit_latent_gp(
    logits: Floats,
    labels: Ints,
    params: Any,
    earlier: QuadraticLikelihood | None,
    progress: Progress,
) -> tuple[LatentFit, str, str]:
    """Fit the latent function by L-BFGS; also where it ran, and a note, as :func:`~calib.calibrators.backend.run` has.

    GPflow computes the objective where the parameters say so, or on a GPU, else NumPy: both search the same free
    numbers from the same start.

    Parameters
    ----------
    logits : (n, n_classes) in the unit of the fit.
    labels : (n,)
    params : its parameters are those of the fit.
    earlier : likelihood of earlier rows of the same model, which then count as if they were here.
    """
    space, seed = params.inputs, params.random_state
    start = starting_inducing_inputs(logits, space, params.n_inducing, seed, earlier)
    grid = training_grid(logits, space, earlier)
    earlier = earlier and earlier.onto(grid.low, grid.high)

    sampled = params.likelihood == "monte_carlo"
    by_gpflow = params.engine == "gpflow" or params.kernel != "rbf" or sampled

    def optimise(on_gpu: bool) -> LatentFit:
        rows = _sample(len(logits), MOST_ROWS, seed)
        statistics = grid_statistics(logits[rows], labels[rows], space, grid)
        objective = Objective(
            statistics, start, space, params.covariance, params.variational, earlier
        )
        searched = objective
        if by_gpflow or on_gpu:
            searched = _gpflow_model(objective, params.kernel, sampled)
        vector, trace, converged, message = maximise(
            searched, searched.start, searched.bounds, params.max_iter, progress
        )
        posterior = at = searched.posterior_at(vector)
        if not _resolved(posterior, grid, trace):
            converged, message = False, TOO_STEEP
            # Expanded at the prior mean with hardly any variance: here it would be an expansion of the grid's faults.
            at = replace(posterior, q_mean=np.zeros_like(posterior.q_mean), variance=1e-6)
        return LatentFit(
            posterior, objective.expansion(at), trace, converged, message, len(labels[rows])
        )

    if params.engine == "numpy":
        return optimise(False), backend.cpu_description(), ""
    use_gpflow = (
        "gpu" if by_gpflow and params.device == "auto" and backend.gpu_present() else params.device
    )
    return backend.run(optimise, use_gpflow, logits.shape)


def _gpflow_model(objective: Objective, kernel: str, sampled: bool = False) -> LatentFunction:
    backend.tensorflow()  # quiet, and with one thread
    with warnings.catch_warnings(action="ignore"):  # of what GPflow imports
        from calib.calibrators.gpcalib.gpflow_model import LatentFunction
    return LatentFunction(objective, kernel, sampled)


def _sample(n: int, most: int, seed: int) -> slice | Ints:
    if n <= most:
        return slice(None)
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def _resolved(posterior: Posterior, grid: Grid, trace: Floats) -> bool:
    """Return whether the grid resolves the objective: the shift changes little from node to node.

    Where it does not, the optimiser has found a fault of the interpolation, and its objective may even fall.
    """
    steepest = float(np.abs(np.diff(posterior.shift(grid.nodes))).max())
    return steepest < STEEP and float(trace[-1]) > float(trace.max()) - 0.01
