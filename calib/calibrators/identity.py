"""The uncalibrated model, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Calibrator, Callback
from calib.numerics import Floats, Ints, softmax


@dataclass(eq=False, repr=False, kw_only=True)
class Identity(Calibrator):
    """Softmax of the raw logits; learns nothing."""

    keeps_half: ClassVar[bool] = True

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        pass

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits)
