"""What an exported calibrator carries to decide with: base rate, rule and prediction sets, checked and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule, rule_from_state, rule_state
from calib.decisions.stored import check_array
from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.parameters import unusable
from calib.records import flatten, unflatten

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


def to_fields(
    base_rate: Floats | None, decision: AnyRule | None, sets: PredictionSets | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a record says of them, and its arrays by name."""
    states = {BASE_RATE: base_rate, DECISION: rule_state(decision), SETS: None if sets is None else sets.as_state()}
    fields: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name, state in states.items():
        fields[name], own = flatten(state, name)
        arrays |= own
    return fields, arrays


def from_fields(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Undo :func:`to_fields`; records of the formats 1 and 2 hold none of them.

    Raises
    ------
    CalibrationError
        For a rule or sets that nobody can have written.
    """
    states = {name: unflatten(record.get(name), arrays) for name in (BASE_RATE, DECISION, SETS)}
    return {
        BASE_RATE: states[BASE_RATE],
        DECISION: rule_from_state(states[DECISION]),
        SETS: PredictionSets.from_state(states[SETS]),
    }
