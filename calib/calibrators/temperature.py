"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Callback
from calib.calibrators.scaling import ScaledCrossEntropy, ScalingCalibrator
from calib.numerics import Floats, Ints, softmax
from calib.parameters import param


@dataclass(eq=False, repr=False, kw_only=True)
class TemperatureScaling(ScalingCalibrator):
    """Divide all logits by one temperature; keeps the accuracy.

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, section 4.2. The negative
    log-likelihood is convex in 1/T, so its slope has one root, which a bracketed solve on log T finds.
    """

    max_log_temperature: float = param(5.0, low=0.1, high=10.0, help="Bound on |log T|; reached on separable data.")

    passes: ClassVar[int] = 10

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def notes(self) -> list[str]:
        notes = super().notes()
        if abs(np.log(self.temperature_)) > 0.999 * self.max_log_temperature:
            notes.insert(
                0,
                f"The temperature {self.temperature_:.3g} is at its bound: the fewer mistakes a calibration set "
                "holds, the less it can say, and this one has no best temperature. Check the labels, or use more rows.",
            )
        return notes

    def _fit_scaling(self, cross_entropy: ScaledCrossEntropy, logits: Floats, labels: Ints, callback: Callback) -> None:
        from scipy.optimize import brentq

        bound = self.max_log_temperature
        if (logits[np.arange(len(labels)), labels] == logits.max(axis=1)).all():
            # Every label is on top: the NLL falls all the way to T = 0, below float resolution long before.
            # Where all logits of a row are equal, any temperature is as good as none.
            differ = any(np.ptp(row) > 0 for row in logits)
            self.temperature_ = float(np.exp(-bound)) if differ else 1.0
            return
        ones, zeros = np.ones(logits.shape[1]), np.zeros(logits.shape[1])
        calls = 0

        @cache
        def slope(log_temperature: float) -> float:
            """Derivative of the NLL in 1/T, which falls as T grows."""
            nonlocal calls
            value, by_scale, _ = cross_entropy(np.exp(-log_temperature) * ones, zeros)
            calls += 1
            callback(calls, self.passes, value)
            return float(by_scale.sum())

        low, high = (0.0, bound) if slope(0.0) > 0 else (-bound, 0.0)
        if slope(high) >= 0:
            root = high
        elif slope(low) <= 0:
            root = low
        else:
            root = brentq(slope, low, high, xtol=1e-10)
        self.temperature_ = float(np.exp(root))

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits / self.temperature_)
