"""What the outputs were like that a calibrator was fitted and tested on, and whether new ones are alike.

Probabilities in the place of logits give numbers that look right and are wrong. Where values leave it open what they
are, the error names both readings, and ``kind=`` settles it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import reduce
from typing import Any, Literal, Self, cast

import numpy as np

from calib.canonical import KINDS, ROUNDING, Kind
from calib.data.scales import ONE, Scale
from calib.errors import CalibrationError
from calib.numerics import Floats, blocks
from calib.parameters import number_fault, shown

Look = Literal["probabilities", "log_probabilities", ""]
"""What rows look like: they sum to one, or their exponentials do; else nothing special."""

SLACK = 1e-3
"""How far the sum of a row of probabilities may lie from one: float16 and printed decimals."""

FAR = 0.05
"""From here on a sum is not that of probabilities, however they were rounded."""

SUMS_BY_CHANCE = 0.01
"""Rows of logits in [0, 1] that also sum to one; there are fewer."""

CHANCE = 1e-5
"""What would happen more seldom than this is not taken for chance."""

MOST_SUMMED = 10_000
"""Rows whose sums are taken; they are spread over all."""

FINITE = (-1.7e308, 1.7e308)

SUMMING: tuple[Kind, ...] = ("probabilities", "log_probabilities")
"""The kinds whose rows are probabilities of all classes."""


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
    look : what they looked like together.
    """

    rows: int
    low: float
    high: float
    in_unit: int
    look: Look

    @classmethod
    def from_logits(cls, logits: Floats, kind: Kind, scale: Scale | None = None) -> Self | None:
        """Of canonical logits (n, n_classes) of outputs of a kind and a scale; None where there are no rows."""
        if not len(logits):
            return None
        low, high, in_unit = np.inf, -np.inf, 0
        for rows in blocks(*logits.shape):
            written = _as_written(logits[rows], kind, scale)
            low, high = min(low, float(written.min())), max(high, float(written.max()))
            in_unit += int(((written.min(axis=1) >= 0) & (written.max(axis=1) <= 1)).sum())
        return cls(len(logits), low, high, in_unit, look_of(_as_written(_spread(logits), kind, None)))

    @classmethod
    def from_state(cls, state: Any) -> Self | None:
        """Undo :meth:`state`; None is None.

        Raises
        ------
        CalibrationError
            For anything else: a file can hold what nobody has written.
        """
        if state is None:
            return None
        names = [field.name for field in fields(cls)]
        if not isinstance(state, Mapping) or set(state) != set(names) or state["look"] not in (*KINDS, ""):
            raise CalibrationError(f"What a calibrator has seen is recorded as {', '.join(names)}; got {shown(state)}.")
        faults = [
            number_fault(state["rows"], True, 1, 2**62),
            number_fault(state["in_unit"], True, 0, 2**62),
            *(number_fault(state[end], False, *FINITE) for end in ("low", "high")),
        ]
        if any(faults) or state["in_unit"] > state["rows"]:
            raise CalibrationError(f"What a calibrator has seen are counts of rows and a range; got {shown(state)}.")
        return cls(*(cast(Any, state[name]) for name in names))

    def state(self) -> dict[str, Any]:
        """Its fields, as JSON can hold them."""
        return asdict(self)

    def joined(self, other: Seen | None) -> Seen:
        """These rows and others of the same kind."""
        if other is None:
            return self
        low, high = min(self.low, other.low), max(self.high, other.high)
        look = self.look if self.look == other.look else ""
        return Seen(self.rows + other.rows, low, high, self.in_unit + other.in_unit, look)


def seen_of_parts(kind: Kind, scale: Scale | None, *, data: Mapping[str, Any]) -> Seen | None:
    """What the outputs of a data set look like whose logits come in parts; None where there are no rows."""
    found = [seen for logits in data.values() if (seen := Seen.from_logits(logits, kind, scale)) is not None]
    return reduce(Seen.joined, found) if found else None


def look_of(rows: Floats) -> Look:
    """What (n, k) numbers look like together."""
    if rows.shape[1] < 2 or not rows.size:
        return ""
    slack = max(SLACK, rows.shape[1] * float(np.finfo(rows.dtype).eps) if rows.dtype.kind == "f" else 0.0)
    low, high = float(rows.min()), float(rows.max())
    if low >= -ROUNDING and high <= 1 + ROUNDING:
        return "probabilities" if np.abs(_sums(rows) - 1).max() < slack else ""
    return "log_probabilities" if high <= slack and np.abs(_sums(np.exp(rows)) - 1).max() < slack else ""


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
    if not written.size:
        return
    with np.errstate(all="ignore"):  # blocks of a file are compared before their values are checked
        doubt = _of_sums(_spread(values), kind, seen) if kind in SUMMING else _of_range(written, kind, seen)
    if doubt:
        raise AmbiguousOutputs(
            f"The calibrator takes {KINDS[kind]}, but {doubt}. If they are {KINDS[kind]} all the same, call "
            f'calibrate(outputs, kind="{kind}"), or give --kind {kind} to the command.'
        )


def _of_sums(rows: Floats, kind: Kind, seen: Seen | None) -> str:
    """Why rows are no probabilities of all classes, where those that are known were; "" for no doubt."""
    if seen is None or seen.look != kind:
        return ""
    what = "probabilities" if kind == "probabilities" else "exponentials"
    sums = _sums(rows if kind == "probabilities" else np.exp(rows))
    n_off = int((np.abs(sums - 1) > FAR).sum())
    if 2 * n_off <= len(sums):
        return ""
    return (
        f"in {n_off:,} of {len(sums):,} rows the {what} do not sum to one (but to {sums.min():.3g} up to "
        f"{sums.max():.3g}), as they did in all {seen.rows:,} rows that it knows"
    )


def _of_range(rows: Floats, kind: Kind, seen: Seen | None) -> str:
    """Why rows that need not be probabilities probably are, or their logarithms; "" for no doubt."""
    n, low, high = len(rows), float(rows.min()), float(rows.max())
    look = look_of(_spread(rows)) if kind == "logits" else ""
    known = seen is not None
    if look and look == (seen.look if seen else ""):
        return ""
    if look == "log_probabilities":
        words = f"in all {n:,} rows the exponentials sum to one; give the logits, before the log-softmax"
        return words if known else ""
    if not (low >= -ROUNDING and 0 < high <= 1 + ROUNDING):
        return ""
    share = (seen.in_unit + 1) / (seen.rows + 2) if seen else 1.0
    by_chance = (share * (SUMS_BY_CHANCE if look else 1.0)) ** n if known else float(not look or n == 1)
    if by_chance >= CHANCE:
        return ""
    rows_known = f", and of the {seen.rows:,} rows that it knows {seen.in_unit:,} do" if seen else ""
    if look:
        return f"in all {n:,} rows the values sum to one, like probabilities; give the logits, before the softmax"
    return f"all {n:,} rows lie between {low:.3g} and {high:.3g}, like probabilities{rows_known}"


def _as_written(logits: Floats, kind: Kind, scale: Scale | None) -> Floats:
    """Outputs (n, k) as they were written, where canonical logits tell that; else on the plain scale."""
    if kind in ("logits", "log_probabilities"):
        return logits
    if kind == "binary_log_odds":
        return logits[:, 1:] - logits[:, :1]
    if scale == "odds":
        return np.exp(logits[:, 1:] - logits[:, :1])
    probs = np.exp(logits if kind == "probabilities" else logits[:, 1:])
    one = ONE.get(scale, 1.0) if isinstance(scale, str) else 1.0 if scale is None else float(scale)
    return probs * one


def _sums(rows: Floats) -> Floats:
    return rows.sum(axis=1, dtype=np.float64)


def _spread(rows: Floats) -> Floats:
    """At most :data:`MOST_SUMMED` rows, spread over all."""
    return rows[:: max(1, -(-len(rows) // MOST_SUMMED))]
