"""Where a function is zero or least: a bracketed root, Newton's method, and L-BFGS."""

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

NEWTON_STEP = 1e-6
"""A Newton step shorter than this ends the search for a root, which is then known to about its square."""

SHORTEST_STEP = 1e-12
"""A bracket is halved to this, where no Newton step is taken."""

Found = tuple[Floats, int, bool]
"""Where a function is least, the number of steps to there, and whether the search converged."""


def find_root(falling: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Where a falling function is zero: 0 where that is everywhere, an end of [low, high] where that lies beyond.

    Newton's method from 0. A step that leaves the bracket, or is no shorter than half the one before, goes to an end
    that was not tried yet, and else halves the bracket (Press et al., Numerical Recipes, 2007, section 9.4). SciPy's
    functions would keep the data of ``falling`` alive by a cycle of references.

    Parameters
    ----------
    falling : gives the value and the derivative.
    """
    at, step = 0.0, high - low
    left, right, untried = low, high, {low, high}
    while True:
        value, slope = falling(at)
        if value == slope == 0 or (at == high and value >= 0) or (at == low and value <= 0):
            return at
        left, right = (at, right) if value > 0 else (left, at)
        newton = at - value / slope if slope < 0 else np.inf
        end = high if value > 0 else low
        least = SHORTEST_STEP
        if left <= newton <= right and abs(newton - at) < abs(step) / 2:
            after, least = newton, NEWTON_STEP
        elif end in untried:
            untried.remove(end)
            after = end
        else:
            after = (left + right) / 2
        at, step = after, after - at
        if abs(step) < least:
            return at


def newton(
    objective: Callable[[Floats], tuple[float, Floats, Floats]],
    start: Floats,
    tolerance: float,
    progress: Progress = silent,
    lowest: Floats | float = -np.inf,
) -> Found:
    """Where a smooth convex function of few numbers is least, by projected Newton steps with step halving.

    Bertsekas, Projected Newton Methods for Optimization Problems with Simple Constraints, 1982.

    Parameters
    ----------
    objective : value, gradient (m,) and second derivatives (m, m) at (m,) numbers.
    start : (m,) numbers.
    tolerance : the search ends after a step that promises to lower the value by less than its square, or does; of a
        value beyond 1 by less than that share.
    progress : called after each other step with its number, :data:`MAX_STEPS` and the value.
    lowest : the least that each number may be, (m,) or one for all.
    """
    at, (value, gradient, curvature) = start, objective(start)
    for number in range(1, MAX_STEPS + 1):
        free = (at > lowest) | (gradient < 0)
        step, size = np.zeros(len(at)), 1.0
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        trial, nothing = np.maximum(at - step, lowest), tolerance**2 * max(1.0, abs(value))
        if float(gradient @ step) < nothing:
            return trial, number, True
        lower = objective(trial)
        while not lower[0] <= value - 1e-4 * float(gradient @ (at - trial)):
            size /= 2
            if size < SHORTEST_STEP:
                return at, number, True  # rounding is all that is left to gain
            trial = np.maximum(at - size * step, lowest)
            lower = objective(trial)
        gained = value - lower[0]
        at, (value, gradient, curvature) = trial, lower
        progress(number, MAX_STEPS, value)
        if gained < nothing:
            return at, number, True
    return at, MAX_STEPS, False


def minimise_convex(
    objective: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    progress: Progress,
    *,
    unit: Floats | float = 1.0,
    lower: float | None = None,
    tolerance: float = 1e-7,
) -> Found:
    """Where a smooth convex function is least, by L-BFGS.

    Parameters
    ----------
    objective : value and gradient, (m,), at (m,) numbers.
    start : (m,) numbers.
    progress : called after each step with its number, :data:`MAX_STEPS` and the value.
    unit : of the numbers in the search; best where the loss is about as steep in each of them.
    lower : the least that any number may be.
    tolerance : largest entry of the gradient at which the search ends, by the unit; at its square it also ends on the
        value.
    """
    from scipy.optimize import minimize

    held = [objective]  # emptied at the end: SciPy's cycles of references would keep the data alive
    steps = 0

    def after_step(intermediate_result: OptimizeResult) -> None:
        nonlocal steps
        steps += 1
        progress(steps, MAX_STEPS, float(intermediate_result.fun))

    options = {"maxiter": MAX_STEPS, "maxfun": 10 * MAX_STEPS, "ftol": tolerance**2, "gtol": tolerance}
    bounds = None if lower is None else [(low, None) for low in np.broadcast_to(lower / unit, start.shape)]

    def in_units(values: Floats) -> tuple[float, Floats]:
        value, gradient = held[0](unit * values)
        return value, unit * gradient

    try:
        result = minimize(
            in_units,
            start / unit,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_step,
            options=options,
        )
    finally:
        held.clear()
    # Where the line search finds no better point, a convex function is at its minimum to rounding.
    return unit * result.x, steps, bool(np.isfinite(result.fun) and result.status != 1)
