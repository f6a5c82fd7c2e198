"""``calibrator.npz``: what an exported calibrator holds, as :mod:`calib.export.predict` reads it anywhere."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np

import calib
from calib.base import Calibrator
from calib.calibrators.steps import Step
from calib.canonical import (
    DEFAULT_FLOOR,
    IN_UNIT,
    ONE_COLUMN,
    PLAIN,
    ROUNDING,
    describe_scale,
    full_scale,
)
from calib.decisions.rules import rule_state
from calib.errors import CalibrationError
from calib.export import predict
from calib.export.runtime import ExportedCalibrator
from calib.parameters import trial_rows
from calib.records import LARGEST, flatten, npz_of
from calib.registry import METHODS

AGREEMENT = 1e-6
"""Largest difference between probabilities of steps and those of the method."""


def npz_bytes(exported: ExportedCalibrator) -> bytes:
    """The bytes of the npz; equal content, equal bytes."""
    text, arrays = flatten(record_of(exported))
    size = sum(array.nbytes for array in arrays.values())
    if size > LARGEST:
        raise CalibrationError(
            f"The calibrator carries {size / 1e9:.1f} GB, and an export holds up to {LARGEST / 1e9:.1f} GB; share the "
            "maps of the classes, or fit it with fewer draws."
        )
    record = json.dumps(text, ensure_ascii=False).encode()
    return npz_of({"record": np.frombuffer(record, np.uint8), **arrays})


def record_of(exported: ExportedCalibrator) -> dict[str, Any]:
    """Everything that the npz holds, by name; arrays may stand anywhere in it."""
    calibrator = exported.calibrator
    names = list(exported.class_names)
    return {
        "format": predict.FORMAT,
        "calib": calib.__version__,
        "method": exported.method,
        "title": METHODS[exported.method].title,
        "params": exported.params,
        "kind": exported.kind,
        "scale": exported.scale,
        "floor": exported.floor,
        "class_names": names,
        "classes": list(exported.classes),
        "columns": list(exported.columns) or names[-exported.n_outputs :],
        "n_columns": calibrator.n_classes_,
        "n_outputs": exported.n_outputs,
        "range": _range(exported),
        "to_logits": logit_steps(exported),
        "steps": checked_steps(calibrator, by_group=True),
        "groups": _departures(exported),
        "promises": sorted(calibrator.promises(calibrator.n_classes_)),
        "notes": calibrator.notes(),
        "seen": None if exported.seen is None else asdict(exported.seen),
        "in_unit": exported.in_unit,
        "base_rate": exported.base_rate,
        "decision": rule_state(exported.decision),
        "actions": {str(k): action for k, action in exported.action_names.items()}
        if exported.decision
        else None,
        "sets": None if exported.sets is None else asdict(exported.sets),
        "metadata": exported.metadata,
    }


def _departures(exported: ExportedCalibrator) -> dict[str, Any] | None:
    by_group = exported.calibrator.departures()
    return by_group and {**by_group, "column": exported.group_column}


def checked_steps(calibrator: Calibrator, by_group: bool = False) -> list[Step]:
    """The steps of a fitted calibrator, which give its probabilities on a few rows of all kinds.

    Parameters
    ----------
    by_group : whether the file takes groups of rows too.
    """
    steps = calibrator.shared_steps() if by_group else calibrator.steps()
    rows = trial_rows(calibrator.n_classes_)
    try:
        away = np.abs(predict.probabilities(steps, rows) - calibrator.probs_from_logits(rows)).max()
    except predict.Refused:
        away = np.inf
    if not away < AGREEMENT:
        raise CalibrationError(
            f"The steps of {type(calibrator).__name__} give other probabilities than it does (by {away:.2g}), so that "
            "only a .pkl can be saved; see steps() beside its _predict."
        )
    return steps


def logit_steps(exported: ExportedCalibrator) -> list[Step]:
    """From outputs as they are written to canonical logits, as :func:`calib.canonical.to_canonical` has them."""
    kind, scale = exported.kind, exported.scale
    if kind == "logits":
        return []
    if kind == "binary_log_odds":
        return [{"step": "matrix", "matrix": np.array([[0.0], [1.0]])}]
    full = 1.0 if scale == "log" and kind not in ONE_COLUMN else full_scale(scale)
    if full is None and scale != "counts":
        raise CalibrationError(
            f"Outputs that are {describe_scale(scale or PLAIN)} are converted by calib alone; save a .pkl, or fit on "
            "probabilities."
        )
    plain: Step = {"step": "normalise"} if full is None else {"step": "affine", "scale": 1 / full}
    both: Step = {
        "step": "matrix",
        "matrix": np.array([[-1.0], [1.0]]),
        "offset": np.array([1.0, 0.0]),
    }
    finite: Step = {"step": "finite", "low": float(np.log(exported.floor or DEFAULT_FLOOR))}
    logs = [] if kind == "log_probabilities" else [{"step": "log"}]
    return [*([] if full == 1 else [plain]), *([both] if kind in ONE_COLUMN else []), *logs, finite]


def _range(exported: ExportedCalibrator) -> list[float]:
    """The least and the largest number that outputs may be."""
    scale = exported.scale
    largest = float(np.finfo(np.float64).max)
    if scale == "counts":
        return [0.0, largest]
    if exported.kind == "log_probabilities":
        return [-np.inf, 1e-3]
    if exported.kind not in IN_UNIT:
        return [-largest, largest]
    full = full_scale(scale) or 1.0
    return [-ROUNDING * full, (1 + ROUNDING) * full]
