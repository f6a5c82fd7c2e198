"""What the outputs were like that a calibrator was fitted and tested on, with which new ones are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from calib.canonical import Kind
from calib.data.scales import Scale, one_of
from calib.errors import CalibrationError
from calib.numerics import Floats
from calib.parameters import number_fault
from calib.records import unflatten

MOST_ROWS = 50_000
"""Rows that are looked at; of more every second, third, ..."""


class AmbiguousOutputs(CalibrationError):
    """Outputs that may be of another kind than a calibrator takes; ``kind=`` says what they are."""


@dataclass(frozen=True)
class Seen:
    """Rows that a calibrator was fitted and tested on.

    Attributes
    ----------
    rows : how many were looked at.
    low, high : least and greatest value, as they were written; zeros of probabilities count as the floor.
    in_unit : share of rows that had all values in [0, 1], also as they were written.
    """

    rows: int
    low: float
    high: float
    in_unit: float

    @classmethod
    def from_logits(cls, logits: Floats, kind: Kind, scale: Scale | None = None) -> Self | None:
        """Of canonical logits (n, n_classes) of outputs of a kind and a scale; None where there are no rows."""
        if not len(logits):
            return None
        written = _as_written(logits[:: -(-len(logits) // MOST_ROWS)], kind, scale)
        return cls(len(written), float(written.min()), float(written.max()), in_unit(written))

    @classmethod
    def from_state(cls, state: Any) -> Self | None:
        """What a file holds of it, checked; None is None."""
        if state is None:
            return None
        seen: Self = unflatten(state, {}, cls)
        largest = float(np.finfo(np.float64).max)
        faults = [number_fault(each, False, -largest, largest) for each in (seen.low, seen.high)]
        if any(
            [
                *faults,
                number_fault(seen.rows, True, 1, 2**62),
                number_fault(seen.in_unit, False, 0, 1),
            ]
        ):
            raise CalibrationError(
                "The file says nonsense of what its calibrator has seen; export it again."
            )
        return seen


def in_unit(outputs: Floats) -> float:
    """Share of rows (n, k) with all values in [0, 1]."""
    return float(((outputs >= 0) & (outputs <= 1)).all(axis=1).mean())


def _as_written(logits: Floats, kind: Kind, scale: Scale | None) -> Floats:
    """Outputs (n, k) as they were written, where canonical logits tell that; else on the plain scale."""
    if kind in ("logits", "log_probabilities"):
        return logits
    if kind == "binary_log_odds":
        return logits[:, 1:] - logits[:, :1]
    return np.exp(logits if kind == "probabilities" else logits[:, 1:]) * (one_of(scale) or 1.0)
