"""L-BFGS on the objective, until it has arrived or may do no more."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from gpflow.optimizers import Scipy
from scipy.optimize import OptimizeResult

from calib.base import Callback
from calib.gp.model import LatentGP
from calib.lbfgs import LBFGSReport

LARGEST_VARIANCE = 1e6
"""Bound on the kernel variance, so that the jitter still keeps K_uu positive definite."""

FLAT = 0.01
"""Gradient per unit of a parameter, relative to the objective, above which the optimiser stopped without arriving."""

WORTHWHILE = 0.01
"""Gain in nats of a fresh start below which no other is made."""


def maximise(model: LatentGP, max_iter: int, callback: Callback) -> LBFGSReport:
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
        report = LBFGSReport.from_result(result, trace)
        if not np.isfinite(result.fun):
            Scipy.assign_tensors(variables, Scipy.unpack_tensors(variables, last))
            return report
        flat = float(np.abs(result.jac).max()) <= FLAT * max(1.0, abs(trace[-1]))
        if flat or len(trace) > max_iter or trace[-1] < before + WORTHWHILE:
            return report
