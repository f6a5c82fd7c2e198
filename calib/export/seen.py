"""What the outputs were like that a calibrator was fitted and tested on, and whether new ones are alike.

Probabilities in the place of logits give numbers that look right and are wrong. :func:`calib.export.predict.doubt` says
when that is likely, and ``kind=`` settles it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import reduce
from typing import Any, Literal, Self

import numpy as np

from calib.canonical import KINDS, ROUNDING, Kind
from calib.data.scales import Scale, one_of
from calib.errors import CalibrationError
from calib.export import predict
from calib.numerics import Floats, blocks
from calib.parameters import number_fault
from calib.records import unflatten

SLACK = 1e-3
"""How far the sum of a row of probabilities may lie from one: float16 and printed decimals."""

FINITE = (-1.7e308, 1.7e308)


class AmbiguousOutputs(CalibrationError):
    """Outputs that may be of another kind than a calibrator takes; ``kind=`` says what they are."""


@dataclass(frozen=True)
class Seen:
    """The rows that a calibrator was fitted and tested on.

    Attributes
    ----------
    rows : how many.
    low, high : least and greatest value, as they were written; zeros of probabilities count as the floor.
    in_unit : how many rows had all values in [0, 1], also as they were written.
    look : what all rows looked like: they, or their exponentials, sum to one; "" for neither.
    """

    rows: int
    low: float
    high: float
    in_unit: int
    look: Literal["probabilities", "log_probabilities", ""]

    @classmethod
    def from_logits(cls, logits: Floats, kind: Kind, scale: Scale | None = None) -> Self | None:
        """Of canonical logits (n, n_classes) of outputs of a kind and a scale; None where there are no rows."""
        parts = []
        for rows in blocks(*logits.shape):
            written, plain = (_as_written(logits[rows], kind, each) for each in (scale, None))
            unit = (written.min(axis=1) >= 0) & (written.max(axis=1) <= 1)
            parts.append(
                cls(len(written), float(written.min()), float(written.max()), int(unit.sum()), _look_of(plain))
            )
        return reduce(cls.joined, parts) if len(logits) else None

    @classmethod
    def from_state(cls, state: Any) -> Self | None:
        """What a file holds of it, checked; None is None."""
        if state is None:
            return None
        seen: Self = unflatten(state, {}, cls)
        faults = (number_fault(seen.rows, True, 1, 2**62), number_fault(seen.in_unit, True, 0, seen.rows))
        if any((*faults, number_fault(seen.low, False, *FINITE), number_fault(seen.high, False, *FINITE))):
            raise CalibrationError("The file says nonsense of what its calibrator has seen; export it again.")
        return seen

    def state(self) -> dict[str, Any]:
        """Its fields, as JSON can hold them."""
        return asdict(self)

    def joined(self, other: Self | None) -> Self:
        """These rows and others of the same kind."""
        if other is None:
            return self
        low, high, look = min(self.low, other.low), max(self.high, other.high), self.look
        return type(self)(
            self.rows + other.rows, low, high, self.in_unit + other.in_unit, look if look == other.look else ""
        )


def seen_of_parts(kind: Kind, scale: Scale | None, *, data: Mapping[str, Any]) -> Seen | None:
    """What the outputs of a data set look like whose logits come in parts; None where there are no rows."""
    found = [seen for logits in data.values() if (seen := Seen.from_logits(logits, kind, scale)) is not None]
    return reduce(Seen.joined, found) if found else None


def check_alike(outputs: Any, plain: Any, kind: Kind, seen: Seen | None) -> None:
    """Refuse outputs that are probably of another kind than those of the calibration data.

    Parameters
    ----------
    outputs : (n, k) or (n,) finite numbers as they are written.
    plain : the same on the plain scale of their kind.
    kind : what the calibrator takes.
    seen : what it was fitted on, as far as that is known.

    Raises
    ------
    AmbiguousOutputs
        With the numbers of both, and how to say what is meant.
    """
    written, values = (np.asarray(array).reshape(len(array), -1) for array in (outputs, plain))
    if why := predict.doubt(written, values, kind, seen and seen.state()):
        raise AmbiguousOutputs(
            f"The calibrator takes {KINDS[kind]}, but {why}. If they are {KINDS[kind]} all the same, call "
            f'calibrate(outputs, kind="{kind}"), or give --kind {kind} to the command.'
        )


def _look_of(rows: Floats) -> Literal["probabilities", "log_probabilities", ""]:
    """What (n, k) numbers look like together."""
    low, high = rows.min(), rows.max()
    if rows.shape[1] > 1 and low >= -ROUNDING and np.abs(rows.sum(axis=1) - 1).max() < SLACK:
        return "probabilities"
    exponentials = rows.shape[1] > 1 and high <= SLACK and np.abs(np.exp(rows).sum(axis=1) - 1).max() < SLACK
    return "log_probabilities" if exponentials else ""


def _as_written(logits: Floats, kind: Kind, scale: Scale | None) -> Floats:
    """Outputs (n, k) as they were written, where canonical logits tell that; else on the plain scale."""
    if kind in ("logits", "log_probabilities"):
        return logits
    if kind == "binary_log_odds":
        return logits[:, 1:] - logits[:, :1]
    if scale == "odds":
        return np.exp(logits[:, 1:] - logits[:, :1])
    probs = np.exp(logits if kind == "probabilities" else logits[:, 1:])
    return probs * (one_of(scale) or 1.0)
