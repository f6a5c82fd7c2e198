"""What a fitted GPcalib can still be used for, and what it cannot, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calib.calibrators.gpcalib.laplace_summary import Summary
from calib.errors import CalibrationError

if TYPE_CHECKING:
    from calib.calibrators.gpcalib import GPCalib


def check_unchanged(fitted: GPCalib) -> None:
    """Refuse what was set after the fit and would not be what it says; how to predict may be chosen then."""
    fitted_as = dict(fitted.fitted_as_)
    if fitted.prediction == "draws":
        fitted_as["n_draws"] = len(fitted.shift_draws_)
    for name, value in fitted_as.items():
        if getattr(fitted, name) != value:
            raise CalibrationError(
                f"{name}={getattr(fitted, name)!r} was set after the fit, which had {name}={value!r}; "
                "fit again, or set it back."
            )


def summary_of_the_past(fitted: GPCalib) -> Summary:
    """What the rows of all fits so far said, for a fit that goes on from there."""
    if not hasattr(fitted, "summary_"):
        raise CalibrationError(
            "This calibrator comes from a version of calib that kept nothing to go on from; fit it on all rows."
        )
    inputs = fitted.fitted_as_["inputs"]
    if fitted.inputs != inputs:
        raise CalibrationError(
            f"The calibrator was fitted with inputs={inputs!r}; to use inputs={fitted.inputs!r}, fit it on all rows."
        )
    return Summary(**fitted.summary_)
