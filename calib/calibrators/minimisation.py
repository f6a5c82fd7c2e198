"""Minimisation of functions: Newton's method, and L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from calib.base import Progress, silent
from calib.numerics import Floats

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

MAX_STEPS = 500

UNFINISHED = f"The fit stopped after {MAX_STEPS} steps before it had converged."

SHORTEST_STEP = 1e-12
"""A Newton step is halved to this share of itself at most."""

Found = tuple[Floats, int, bool]
"""Minimum of a function: its place, the number of steps to it, and whether the search converged."""


def newton(
    objective: Callable[[Floats], tuple[float, Floats, Floats]],
    start: Floats,
    tolerance: float,
    progress: Progress = silent,
    low: Floats | float = -np.inf,
    high: Floats | float = np.inf,
) -> Found:
    """Minimise a smooth convex function of few numbers, by projected Newton steps with step halving.

    Bertsekas, Projected Newton Methods for Optimization Problems with Simple Constraints, 1982.

    Parameters
    ----------
    objective : value, gradient (m,) and second derivatives (m, m) at (m,) numbers.
    start : (m,) numbers.
    tolerance : the search ends after a step that promises to lower the value by less than its square, or does; of a
        value beyond 1 by less than that share.
    progress : called after each other step with its number, :data:`MAX_STEPS` and the value.
    low, high : the least and the most that each number may be, (m,) or one for all.
    """
    at, (value, gradient, curvature) = start, objective(start)
    for number in range(1, MAX_STEPS + 1):
        free = ((at > low) | (gradient < 0)) & ((at < high) | (gradient > 0))
        step = np.zeros(len(at))
        size = 1.0
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        trial = np.clip(at - step, low, high)
        nothing = tolerance**2 * max(1.0, abs(value))
        if float(gradient @ step) < nothing:
            return trial, number, True
        lower = objective(trial)
        while not lower[0] <= value - 1e-4 * float(gradient @ (at - trial)):
            size /= 2
            if size < SHORTEST_STEP:
                return at, number, True  # rounding is all that is left to gain
            trial = np.clip(at - size * step, low, high)
            lower = objective(trial)
        gained = value - lower[0]
        at, (value, gradient, curvature) = trial, lower
        progress(number, MAX_STEPS, value)
        if gained < nothing:
            return at, number, True
    return at, MAX_STEPS, False


def minimise(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    progress: Progress,
    *,
    low: Floats | float = -np.inf,
    high: Floats | float = np.inf,
    tolerance: float = 1e-7,
) -> Found:
    """Minimise a smooth function of one valley, by L-BFGS.

    Parameters
    ----------
    objective : value and gradient, (m,), at (m,) numbers; best where it is about as steep in each of them.
    start : (m,) numbers.
    progress : called after each step with its number, :data:`MAX_STEPS` and the value.
    low, high : the least and the most that the numbers may be.
    tolerance : largest entry of the gradient at which the search ends; at its square it also ends on the value.
    """
    from scipy.optimize import Bounds, minimize

    objectives = [
        objective
    ]  # emptied at the end: SciPy's cycles of references would keep the data alive
    steps = 0

    def after_step(intermediate_result: OptimizeResult) -> None:
        nonlocal steps
        steps += 1
        progress(steps, MAX_STEPS, float(intermediate_result.fun))

    options = {
        "maxiter": MAX_STEPS,
        "maxfun": 10 * MAX_STEPS,
        "ftol": tolerance**2,
        "gtol": tolerance,
    }
    try:
        result = minimize(
            lambda values: objectives[0](values),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(low, high),
            callback=after_step,
            options=options,
        )
    finally:
        objectives.clear()
    # Where the line search finds no better point, such a function is at its minimum to rounding.
    return result.x, steps, bool(np.isfinite(result.fun) and result.status != 1)
