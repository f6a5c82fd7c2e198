"""A calibration set whose rows stay on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from calib.base import LabelledBlocks
from calib.canonical import Kind, to_canonical
from calib.numerics import Floats, Ints
from calib.streaming.outputs import LogitRows
from calib.streaming.parallel import in_order
from calib.streaming.progress import Progress, no_progress
from calib.streaming.rows import Block, Rows, Subset
from calib.streaming.survey import Survey

Result = TypeVar("Result")


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


def stored(outputs: Rows, labels: Ints, kind: Kind, found: Survey, floor: float | None = None) -> StoredPredictions:
    """Outputs that were surveyed, as canonical logits; ``floor`` overrides the usual one."""
    n_classes = max(outputs.width, 2)
    floor = found.floor(n_classes) if floor is None else floor
    logits = LogitRows(outputs, kind, floor)
    ends = [found.low, found.high]
    if kind == "binary_log_odds":
        ends.append(0.0)  # the logit of class 0
    elif kind == "log_probabilities" and found.n_zero:
        ends.append(-np.inf)
    elif kind in ("probabilities", "binary_probability"):
        ends = [found.smallest, found.high, *([0.0] if found.n_zero else [])]
    values = np.array([ends], outputs.dtype)
    if not kind.startswith("binary_log"):
        values = to_canonical(values, "probabilities" if kind == "binary_probability" else kind, floor)
    return StoredPredictions(
        logits=logits,
        labels=labels,
        kind=kind,
        floor=floor,
        low=float(values.min()),
        high=float(values.max()),
        label_on_top=found.label_on_top,
        rows_differ=found.rows_differ,
    )
