"""From a signal to how often predictions are right (Chouraqui et al. 2023, section 3.3)."""

from __future__ import annotations

import numpy as np

from calib.calibrators.isotonic import LinearMap, isotonic_map
from calib.calibrators.logistic import fit_logistic
from calib.calibrators.one_vs_rest import Bools
from calib.calibrators.platt import PlattMap
from calib.numerics import Floats

SuccessMap = LinearMap | PlattMap

MAPS: dict[str, type[SuccessMap]] = {"isotonic": LinearMap, "sigmoid": PlattMap}


def fit_success_map(kind: str, signal: Floats, right: Bools) -> SuccessMap:
    """Learn the success rate as a function that does not fall as the signal rises.

    Rows of equal signal count together, by their number.

    Parameters
    ----------
    kind : "isotonic", linear between its steps and constant beyond them; or "sigmoid", a logistic curve.
    signal : (n,) finite values.
    right : (n,) whether the prediction was right.
    """
    if kind == "isotonic":
        return isotonic_map(signal, right)
    if right.any() and not right.all():
        slopes, intercept = fit_logistic(signal[None], right.astype(float))
        if slopes[0] > 0:
            return PlattMap(float(slopes[0]), float(intercept))
    # Nothing to tell right from wrong by, or worse: the rate alone, with Laplace's two rows.
    rate = (right.sum() + 1) / (len(right) + 2)
    return PlattMap(0.0, float(np.log(rate) - np.log1p(-rate)))
