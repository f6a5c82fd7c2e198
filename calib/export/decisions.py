"""Decisions of an exported calibrator: base rate, rule and prediction sets, checked."""

from __future__ import annotations

from typing import Any

from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule, check_array
from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.parameters import unusable


def held(exported: Any, what: str) -> Any:
    """The "decision" or the "sets" of a file; where there are none, an error that says what to do."""
    if getattr(exported, what) is None:
        raise CalibrationError(
            f"The file holds no {what}; export it with {what}=, which calib.decisions makes."
        )
    return getattr(exported, what)


def check_decisions(
    base_rate: Floats | None,
    decision: AnyRule | None,
    sets: PredictionSets | None,
    n_classes: int,
    kind: str,
    gives_probabilities: bool,
) -> None:
    """Refuse what cannot be of a calibrator with so many classes, of this kind of outputs."""
    if base_rate is not None:
        check_array("base_rate", base_rate, low=0.0, high=1.0)
        if len(base_rate) != n_classes or abs(base_rate.sum() - 1) > 1e-9:
            raise unusable(f"base_rate must hold {n_classes} numbers whose sum is one")
    if decision is not None:
        decision.check_fits(n_classes, kind, gives_probabilities)
    if sets is None:
        return
    if kind == "pairs" or not gives_probabilities:
        raise CalibrationError(
            "Prediction sets need probabilities of all classes, which this calibrator does not give; take a threshold "
            "of the confidence (calib.decisions.AnswerAbove)."
        )
    if sets.n_classes != n_classes:
        raise CalibrationError(
            f"The prediction sets are of {sets.n_classes:,} classes and the calibrator of {n_classes:,}; fit them with "
            "this calibrator."
        )
