"""From a signal to how often predictions are right (Chouraqui et al. 2023, section 3.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators.isotonic import IsotonicMap
from calib.calibrators.logistic import fit_logistic
from calib.numerics import Floats, sigmoid

MAPS = ("isotonic", "sigmoid")


def fit_success_map(kind: str, signal: Floats, right: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Learn the success rate as a function that does not fall as the signal rises.

    Rows of equal signal count together, by their number.

    Parameters
    ----------
    kind : "isotonic", linear between its steps and constant beyond them; or "sigmoid", a logistic curve.
    signal : (n,) finite values.
    right : (n,) whether the prediction was right.

    Returns
    -------
    dict
        What :func:`apply_success_map` needs, as arrays and numbers.
    """
    if kind == "isotonic":
        return dict(vars(IsotonicMap.fit(signal, right)))
    slope, intercept = 0.0, 0.0
    if right.any() and not right.all():
        slopes, intercept, _ = fit_logistic(signal[None], right.astype(float))
        slope = float(slopes[0])
    if slope <= 0:  # nothing to tell right from wrong by, or worse: the rate alone, with Laplace's two rows
        rate = (right.sum() + 1) / (len(right) + 2)
        slope, intercept = 0.0, float(np.log(rate) - np.log1p(-rate))
    return {"slope": slope, "intercept": intercept}


def apply_success_map(state: dict[str, Any], signal: Floats) -> Floats:
    """Success rate at some values of the signal, of any shape; NumPy alone."""
    if "knots" in state:
        return IsotonicMap(**state).apply(signal)
    return sigmoid(state["slope"] * signal + state["intercept"])
