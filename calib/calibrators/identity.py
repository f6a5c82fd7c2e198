"""The uncalibrated model, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Callback
from calib.calibrators.top_k_outputs import TopKCalibrator, log_partition_bounds
from calib.numerics import Floats, Ints, softmax
from calib.top_k import Groups, TopK


@dataclass(eq=False, repr=False, kw_only=True)
class Identity(TopKCalibrator):
    """Softmax of the raw logits; learns nothing."""

    more_rows: ClassVar[str] = "It learns nothing, so that more rows change nothing."
    keeps_half: ClassVar[bool] = True
    min_rows: ClassVar[int] = 1

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        pass

    def fit_top_k(self, outputs: TopK, labels: Ints, callback: Callback) -> None:
        """Learn nothing; see the base class."""

    def predict_groups(self, groups: Groups) -> Floats:
        """See the base class."""
        return softmax(groups.logits, groups.counts)

    def nll_bounds(self, outputs: TopK, labels: Ints) -> tuple[Floats, Floats]:
        """The NLL itself, which the log-sum of the rest determines."""
        exact = log_partition_bounds(outputs, 1.0, labels)[0] - outputs.label_logits(labels)
        return exact, exact

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits)
