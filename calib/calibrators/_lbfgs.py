"""Minimise a smooth convex function by L-BFGS, and report how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from calib.base import Callback
from calib.numerics import Floats

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult


@dataclass(frozen=True, eq=False)
class LBFGSReport:
    """How a fit by L-BFGS ended.

    Attributes
    ----------
    trace : (n_iter + 1,) the objective at the start and after each iteration.
    converged : whether the optimiser finished.
    message : why it stopped, in words.
    """

    trace: Floats
    converged: bool
    message: str

    @property
    def n_iter(self) -> int:
        """Number of iterations, over all starts."""
        return len(self.trace) - 1

    @classmethod
    def from_result(cls, result: OptimizeResult, trace: list[float], *, smooth_convex: bool = False) -> LBFGSReport:
        """Read SciPy's result.

        Where the line search finds no better point, a ``smooth_convex`` objective is at its minimum to rounding, and
        any other may be on a slope.
        """
        n_iter = len(trace) - 1
        iterations = f"{n_iter} iteration{'' if n_iter == 1 else 's'}"
        if not np.isfinite(result.fun):
            return cls(np.array(trace), False, f"stopped where the objective overflows, after {iterations}")
        if result.success:
            return cls(np.array(trace), True, f"converged after {iterations}")
        if result.status == 1:
            return cls(np.array(trace), False, f"stopped at the limit of {iterations}")
        return cls(np.array(trace), smooth_convex, f"the line search found no better point after {iterations}")


def minimise_convex(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    max_iter: int,
    callback: Callback,
    *,
    lower: Floats | None = None,
    tolerance: float = 1e-7,
) -> tuple[Floats, LBFGSReport]:
    """Where a smooth convex function is least, and how the search ended.

    Parameters
    ----------
    objective : value and gradient, (m,), at (m,) weights.
    start : (m,) weights.
    max_iter : largest number of iterations.
    callback : called after each with its number, ``max_iter`` and the value.
    lower : (m,) least weights; none without.
    tolerance : largest gradient of a single weight at which the search ends; at its square it also ends on the value.
    """
    from scipy.optimize import minimize

    trace: list[float] = []

    def traced(weights: Floats) -> tuple[float, Floats]:
        value, gradient = objective(weights)
        if not trace:
            trace.append(value)
        return value, gradient

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        trace.append(float(intermediate_result.fun))
        callback(len(trace) - 1, max_iter, trace[-1])

    options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": tolerance**2, "gtol": tolerance}
    bounds = None if lower is None else [(low, None) for low in lower]
    result = minimize(
        traced, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=after_iteration, options=options
    )
    return result.x, LBFGSReport.from_result(result, trace, smooth_convex=True)
