"""The first pass over stored outputs, for their range, and the calibration set that stays on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from calib.base import LabelledBlocks
from calib.canonical import IN_UNIT, ONE_COLUMN, Kind, to_canonical, zero_floor
from calib.numerics import Floats, Ints
from calib.out_of_core.rows import Block, LogitRows, Progress, Rows, Subset, check_block, in_order, no_progress

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over a model's outputs finds; every value was checked on the way.

    Attributes
    ----------
    low, high : smallest and largest output; minus infinity of log-probabilities left out.
    smallest : smallest positive probability; infinite where the outputs are no probabilities.
    n_zero : how many are exactly zero (or, of log-probabilities, minus infinity), and so become the floor.
    predicted : (n,) class of each row's largest output.
    label_on_top : (n,) whether the label's output is as large as any of its row.
    rows_differ : whether any row has two different outputs.
    off_one : the most by which a row of probabilities misses one.
    """

    low: float
    high: float
    smallest: float
    n_zero: int
    predicted: Ints
    label_on_top: npt.NDArray[np.bool_]
    rows_differ: bool
    off_one: float

    def floor(self, n_classes: int) -> float | None:
        """What exact zeros become, as on loading; None if there are none."""
        return zero_floor(self.smallest, n_classes) if self.n_zero else None


def survey(outputs: Rows, labels: Ints, kind: Kind, progress: Progress = no_progress) -> Survey:
    """Read all rows once.

    Parameters
    ----------
    outputs : as the model wrote them.
    labels : (n,) integers in [0, n_classes).

    Raises
    ------
    CalibrationError
        For values that cannot be of the kind, with the number of the first such row.
    """
    n = len(outputs)
    predicted, on_top = np.empty(n, dtype=np.int64), np.empty(n, dtype=bool)
    summary = _Summary()
    done = 0
    for part in in_order(lambda block: _survey_block(block, labels, kind, n, outputs.name), outputs.blocks()):
        rows = slice(done, done + len(part.predicted))
        predicted[rows], on_top[rows] = part.predicted, part.on_top
        summary = summary.joined(part.summary)
        done = rows.stop
        progress("range", done, n)
    return Survey(predicted=predicted, label_on_top=on_top, **vars(summary))


@dataclass(frozen=True)
class _Summary:
    """Numbers of some rows; the attributes are those of Survey."""

    low: float = np.inf
    high: float = -np.inf
    smallest: float = np.inf
    n_zero: int = 0
    rows_differ: bool = False
    off_one: float = 0.0

    def joined(self, other: _Summary) -> _Summary:
        return _Summary(
            min(self.low, other.low),
            max(self.high, other.high),
            min(self.smallest, other.smallest),
            self.n_zero + other.n_zero,
            self.rows_differ or other.rows_differ,
            max(self.off_one, other.off_one),
        )


@dataclass(frozen=True, eq=False)
class _Part:
    predicted: Ints
    on_top: npt.NDArray[np.bool_]
    summary: _Summary


def _survey_block(block: Block, labels: Ints, kind: Kind, n: int, name: str) -> _Part:
    start, outputs = block
    check_block(outputs, kind, start, n, name)
    wide = outputs.reshape(len(outputs), -1)
    if kind in ONE_COLUMN:
        middle = 0.5 if kind in IN_UNIT else 0.0
        wide = np.concatenate([2 * middle - wide, wide], axis=1)  # so that the larger one is predicted
    predicted = wide.argmax(axis=1)
    rows = np.arange(len(wide))
    top = wide[rows, predicted]
    on_top = wide[rows, labels[start : start + len(wide)]] == top
    ranged = outputs if kind == "binary_log_odds" else wide
    low, high, smallest, n_zero, off_one = float(ranged.min()), float(ranged.max()), np.inf, 0, 0.0
    if kind == "log_probabilities":
        if low == -np.inf:
            zero = np.isneginf(wide)
            n_zero, low = int(zero.sum()), float(np.min(wide, where=~zero, initial=0.0))
        smallest = float(np.exp(low))
    if kind in ("probabilities", "binary_probability"):
        smallest = low if low > 0 else float(np.min(wide, where=wide > 0, initial=np.inf))
        n_zero = 0 if low > 0 else int(np.count_nonzero(wide <= 0))
        off_one = float(np.abs(wide.sum(axis=1, dtype=np.float64) - 1).max())
    differ = bool((wide.min(axis=1) < top).any())
    return _Part(predicted, on_top, _Summary(low, high, smallest, n_zero, differ, off_one))


@dataclass(frozen=True, eq=False, kw_only=True)
class StoredPredictions(LabelledBlocks):
    """What :class:`~calib.data.Predictions` is for arrays in memory.

    Attributes
    ----------
    logits : rows of canonical logits, (n, n_classes); ``low`` and ``high`` also bound rows left out of a part.
    kind, floor : what the outputs are, and what an exact zero became.
    progress : told how far each pass has come.
    """

    logits: Rows
    kind: Kind
    floor: float | None
    progress: Progress = no_progress

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return self.logits.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """See the base class."""
        return len(self), self.n_classes

    def each(self, work: Callable[[Floats, Ints], Result], title: str) -> Iterator[Result]:
        """See the base class."""

        def of_block(block: Block) -> tuple[Result, int]:
            start, logits = block
            stop = start + len(logits)
            return work(logits, self.labels[start:stop]), stop

        for result, done in in_order(of_block, self.logits.blocks()):
            yield result
            self.progress(title, done, len(self))

    def take(self, rows: Ints) -> Floats:
        """See the base class."""
        return self.logits.take(rows).astype(np.float64)

    def part(self, rows: Ints) -> StoredPredictions:
        """The rows of these increasing numbers, still on disk."""
        return replace(
            self,
            logits=Subset(self.logits, rows),
            labels=self.labels[rows],
            label_on_top=self.label_on_top[rows],
        )


def stored(outputs: Rows, labels: Ints, kind: Kind, surveyed: Survey, floor: float | None = None) -> StoredPredictions:
    """Outputs that were surveyed, as canonical logits; ``floor`` overrides the usual one."""
    n_classes = max(outputs.width, 2)
    floor = surveyed.floor(n_classes) if floor is None else floor
    logits = LogitRows(outputs, kind, floor)
    ends = [surveyed.low, surveyed.high]
    if kind == "binary_log_odds":
        ends.append(0.0)  # the logit of class 0
    elif kind == "log_probabilities" and surveyed.n_zero:
        ends.append(-np.inf)
    elif kind in IN_UNIT:
        ends = [surveyed.smallest, surveyed.high, *([0.0] if surveyed.n_zero else [])]
    values = np.array([ends], outputs.dtype)
    if not kind.startswith("binary_log"):
        values = to_canonical(values, "probabilities" if kind in IN_UNIT else kind, floor)
    return StoredPredictions(
        logits=logits,
        labels=labels,
        kind=kind,
        floor=floor,
        low=float(values.min()),
        high=float(values.max()),
        label_on_top=surveyed.label_on_top,
        rows_differ=surveyed.rows_differ,
    )
