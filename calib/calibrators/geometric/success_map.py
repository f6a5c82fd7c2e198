"""From a signal to how often predictions are right (Chouraqui et al. 2023, section 3.3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from calib.calibrators.logistic import fit_logistic
from calib.numerics import LARGEST, Floats, sigmoid
from calib.parameters import unusable

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
        from sklearn.isotonic import IsotonicRegression

        regression = IsotonicRegression(out_of_bounds="clip").fit(signal, right.astype(float))
        return {"knots": regression.X_thresholds_, "values": regression.y_thresholds_}
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
        rate = np.interp(signal, state["knots"], state["values"])
        return np.clip(rate, state["values"][0], state["values"][-1])  # rounding may exceed a segment's end
    return sigmoid(state["slope"] * signal + state["intercept"])


def check_success_map(state: dict[str, Any]) -> None:
    """Raise :class:`~calib.errors.CalibrationError` where a map gives no success rates, as where a file was changed."""
    if "knots" in state:
        knots, values = state["knots"], state["values"]
        rises = len(knots) == len(values) > 0 and (np.diff(knots) > 0).all() and (np.diff(values) >= 0).all()
        within = rises and np.abs(knots).max() <= LARGEST and values[0] >= 0 and values[-1] <= 1
    else:
        within = abs(state["slope"]) <= LARGEST and abs(state["intercept"]) <= LARGEST
    if not within:
        raise unusable("map_ is no rising map to success rates")
