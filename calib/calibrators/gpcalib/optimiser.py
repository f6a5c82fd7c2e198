"""L-BFGS on the objective, until it has arrived or may do no more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf
from gpflow.optimizers import Scipy
from scipy.optimize import OptimizeResult

from calib.base import Callback
from calib.calibrators.gpcalib.model import LatentGP

LARGEST_VARIANCE = 1e6
"""Bound on the kernel variance, so that the jitter still keeps K_uu positive definite."""

FLAT = 0.01
"""Gradient per unit of a parameter, relative to the objective, above which the optimiser stopped without arriving."""

WORTHWHILE = 0.01
"""Gain in nats of a fresh start below which no other is made."""


class Optimum(NamedTuple):
    """Where the optimiser ended.

    Attributes
    ----------
    trace : (n_iter + 1,) the objective at the start and after each iteration, in nats.
    converged, message : whether it finished, and why it stopped, in words.
    """

    trace: list[float]
    converged: bool
    message: str


def maximise(model: LatentGP, max_iter: int, callback: Callback) -> Optimum:
    """L-BFGS-B with the reference's tight tolerance: stopping early moves the calibration error visibly.

    The long memory (40 pairs, with some thirty parameters) halves the number of iterations. After one wild step
    of a line search that memory misleads, and the optimiser stops on a slope; it then starts afresh from there. Where
    the objective overflows the model is left at the last iteration before.
    """
    trace = [float(model.maximum_log_likelihood_objective().numpy())]
    variables = model.trainable_variables
    bounds: list[tuple[float | None, float | None]] = []
    for variable in variables:
        upper = LARGEST_VARIANCE if variable is model.rbf.variance.unconstrained_variable else None
        bounds += [(None, upper)] * int(tf.size(variable))

    last = Scipy.initial_parameters(variables).numpy()

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        nonlocal last
        value = -float(intermediate_result.fun)
        if np.isfinite(value):
            trace.append(value)
            last = np.array(intermediate_result.x)
        callback(min(len(trace) - 1, max_iter), max_iter, trace[-1])

    while True:
        done, before = len(trace) - 1, trace[-1]
        result = Scipy().minimize(
            model.training_loss,
            variables,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_iteration,
            tf_fun_args={"autograph": False},  # rewriting Python source costs more than the whole fit, for nothing
            options={"maxiter": max_iter - done, "maxfun": 20 * max_iter, "ftol": 2.2e-9, "maxcor": 40},
        )
        if not np.isfinite(result.fun):
            Scipy.assign_tensors(variables, Scipy.unpack_tensors(variables, last))
            return Optimum(trace, False, f"stopped where the objective overflows, after {_iterations(len(trace) - 1)}")
        flat = float(np.abs(result.jac).max()) <= FLAT * max(1.0, abs(trace[-1]))
        if flat or len(trace) > max_iter or trace[-1] < before + WORTHWHILE:
            return Optimum(trace, bool(result.success), _message(result, len(trace) - 1))


def _message(result: OptimizeResult, n_iter: int) -> str:
    if result.success:
        return f"converged after {_iterations(n_iter)}"
    if result.status == 1:
        return f"stopped at the limit of {_iterations(n_iter)}"
    return f"the line search found no better point after {_iterations(n_iter)}"


def _iterations(n: int) -> str:
    return f"{n} iteration{'' if n == 1 else 's'}"
