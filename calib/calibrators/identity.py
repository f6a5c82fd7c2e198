"""The uncalibrated model, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from calib.base import KEEPS_ACCURACY, KEEPS_HALF, KEEPS_RANKING, LEARNS_NOTHING, Calibrator, Progress
from calib.calibrators.steps import Step
from calib.numerics import Floats, Ints, softmax


@dataclass(eq=False, repr=False, kw_only=True)
class Identity(Calibrator):
    """Softmax of the raw logits; learns nothing."""

    traits = Calibrator.traits | {KEEPS_HALF, KEEPS_ACCURACY, KEEPS_RANKING, LEARNS_NOTHING}
    min_rows = 1

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        pass

    def _predict(self, logits: Floats) -> Floats:
        return softmax(logits)

    def steps(self) -> list[Step]:
        return [{"step": "softmax"}]
