"""The uncalibrated model, the baseline of every comparison."""

from __future__ import annotations

from dataclasses import dataclass

from calib.base import (
    KEEPS_ACCURACY,
    KEEPS_HALF,
    KEEPS_RANKING,
    LEARNS_NOTHING,
    MINDS_OFFSETS,
    Calibrator,
    Progress,
)
from calib.calibrators.steps import Step
from calib.canonical import from_canonical
from calib.numerics import Floats, Ints
from calib.parameters import param


@dataclass(eq=False, repr=False, kw_only=True)
class Identity(Calibrator):
    """Softmax of the raw logits; learns nothing.

    Where a model's probabilities are exactly 0 the logits of its data hold the logarithm of a floor, which fits need.
    With that ``floor`` they are 0 again, so that scores are of what the model said.

    Examples
    --------
    >>> Identity().fit([[0.7, 0.3], [0.4, 0.6]], [0, 1]).predict_proba([[0.8, 0.2]]).round(6).tolist()
    [[0.8, 0.2]]
    """

    floor: float = param(
        0.0, low=0.0, high=0.5, help="What exact zeros of the probabilities became; 0 if none."
    )

    traits = Calibrator.traits | {
        KEEPS_HALF,
        KEEPS_ACCURACY,
        KEEPS_RANKING,
        LEARNS_NOTHING,
        MINDS_OFFSETS,
    }
    min_rows = 1

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        pass

    def _predict(self, logits: Floats) -> Floats:
        return from_canonical(logits, self.floor)

    def promises(self, n_classes: int) -> frozenset[str]:
        return self.traits if self.floor else self.traits - {MINDS_OFFSETS}

    def variant(self, n_classes: int) -> str:
        return ""  # the floor is of the data, and no choice between two methods

    def steps(self) -> list[Step]:
        return [{"step": "softmax"}]
