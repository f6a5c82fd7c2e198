"""Vector scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import Callback
from calib.calibrators.temperature import IterativeScaling, ScaledCrossEntropy
from calib.numerics import Floats, Ints, softmax
from calib.parameters import Array, State, param


@dataclass(eq=False, repr=False, kw_only=True)
class VectorScaling(IterativeScaling):
    """A scale and a bias for every class: softmax(scale * z + bias).

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, section 4.2 (matrix and vector scaling).
    A quadratic penalty on how far the scales are from one, in units of the logits' spread, and the biases
    from zero keeps the bias of a class without calibration rows from running to minus infinity.
    """

    penalty: float = param(1.0, low=1e-6, high=1e4, help="Pull towards the raw model; fades as rows are added.")
    max_iter: int = param(500, low=1, high=100_000, help="Largest number of L-BFGS steps.")

    state: ClassVar[State] = {"scale_": Array("n_classes"), "bias_": Array("n_classes")}
    passes: ClassVar[int] = 40
    needs_classes: ClassVar[bool] = True

    def notes(self) -> list[str]:
        return [*self._unfinished(), *super().notes()]

    def _fit_scaling(self, cross_entropy: ScaledCrossEntropy, logits: Floats, labels: Ints, callback: Callback) -> None:
        n, n_classes = logits.shape
        spread = float(logits.std()) or 1.0
        # Scales in units of one over the spread, so that a step means as much to them as to the biases.
        start = np.concatenate([np.full(n_classes, spread), np.zeros(n_classes)])

        def objective(weights: Floats) -> tuple[float, Floats]:
            loss, by_scale, by_bias = cross_entropy(weights[:n_classes] / spread, weights[n_classes:])
            away = weights - start
            gradient = np.concatenate([by_scale / spread, by_bias])
            return loss + 0.5 * self.penalty / n * float(away @ away), gradient + self.penalty / n * away

        weights = self._minimum(objective, start, callback)
        self.scale_ = weights[:n_classes] / spread
        self.bias_ = weights[n_classes:].copy()

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits * self.scale_ + self.bias_)
