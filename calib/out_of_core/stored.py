"""A calibration set whose rows stay on disk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.data.canonical import Kind, to_canonical
from calib.numerics import Ints
from calib.out_of_core.outputs import LogitRows
from calib.out_of_core.rows import Rows, Subset
from calib.out_of_core.survey import Survey


@dataclass(frozen=True, eq=False)
class StoredPredictions:
    """What :class:`~calib.data.Predictions` is for arrays in memory.

    Attributes
    ----------
    logits : rows of canonical logits, (n, n_classes).
    labels : (n,) integers in [0, n_classes).
    kind, floor : what the outputs are, and what an exact zero became.
    low, high : range of the logits, also of rows that were left out of a part.
    label_on_top : (n,) whether the label's logit is as large as any of its row.
    rows_differ : whether any row has two different logits.
    """

    logits: Rows
    labels: Ints
    kind: Kind
    floor: float | None
    low: float
    high: float
    label_on_top: npt.NDArray[np.bool_]
    rows_differ: bool

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return self.logits.shape[1]

    def part(self, rows: Ints) -> StoredPredictions:
        """The rows of these increasing numbers, still on disk."""
        return StoredPredictions(
            Subset(self.logits, rows),
            self.labels[rows],
            self.kind,
            self.floor,
            self.low,
            self.high,
            self.label_on_top[rows],
            self.rows_differ,
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
        logits, labels, kind, floor, float(values.min()), float(values.max()), found.label_on_top, found.rows_differ
    )
