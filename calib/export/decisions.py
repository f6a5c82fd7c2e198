"""What an exported calibrator carries to decide with: base rate, rule and prediction sets, checked."""

from __future__ import annotations

from typing import Any

from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule
from calib.decisions.stored import check_array
from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.parameters import unusable

BASE_RATE, DECISION, SETS = "base_rate", "decision", "sets"

_MISSING = {
    DECISION: (
        "This calibrator's file holds no decision. Export it with one, such as decision=EventCut(cut=0.2) of "
        "calib.decisions, or decide on what calibrate(outputs) gives."
    ),
    SETS: (
        "This calibrator's file holds no prediction sets. Fit them on labelled rows that the calibrator has not seen "
        "(calib.decisions.fit_sets), and export it with sets=."
    ),
}


def held(value: Any, what: str) -> Any:
    """The rule or the sets of a file; where there are none, an error that says what to do."""
    if value is None:
        raise CalibrationError(_MISSING[what])
    return value


def check_decisions(
    base_rate: Floats | None,
    decision: AnyRule | None,
    sets: PredictionSets | None,
    n_classes: int,
    kind: str,
    gives_probabilities: bool,
) -> None:
    """Refuse what cannot be of a calibrator with so many classes, of this kind of outputs.

    Raises
    ------
    CalibrationError
        Naming what does not fit, and what to take instead.
    """
    if base_rate is not None:
        check_array(BASE_RATE, base_rate, 1, low=0.0, high=1.0)
        if len(base_rate) != n_classes or abs(base_rate.sum() - 1) > 1e-9:
            raise unusable(f"{BASE_RATE} must hold {n_classes} numbers whose sum is one")
    if decision is not None:
        decision.check_fits(n_classes, kind, gives_probabilities)
    if sets is None:
        return
    given = {"pairs": "takes answers with one confidence each", "topk": "takes the largest logits of very many"}.get(
        kind
    )
    if given or not gives_probabilities:
        given = given or "gives a confidence only"
        raise CalibrationError(
            f"Prediction sets need probabilities of all classes, and this calibrator {given}; take a threshold of the "
            "confidence (calib.decisions.AnswerAbove)."
        )
    if sets.n_classes != n_classes:
        raise CalibrationError(
            f"The prediction sets are of {sets.n_classes:,} classes and the calibrator of {n_classes:,}; fit them with "
            "this calibrator."
        )
