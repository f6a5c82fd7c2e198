"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_RANKING, Calibrator, Callback, param
from calib.numerics import Floats, Ints, log_softmax, softmax


@dataclass(eq=False, repr=False, kw_only=True)
class TemperatureScaling(Calibrator):
    """Divide all logits by one temperature; keeps the accuracy.

    Guo et al., On Calibration of Modern Neural Networks, ICML 2017, section 4.2. The negative
    log-likelihood is convex in 1/T, so one bracketed solve on log T finds its minimum.
    """

    max_log_temperature: float = param(5.0, low=0.1, high=10.0, help="Bound on |log T|; reached on separable data.")

    def promises(self, n_classes: int) -> frozenset[str]:
        return super().promises(n_classes) | {KEEPS_ACCURACY, KEEPS_RANKING}

    def notes(self) -> list[str]:
        if abs(np.log(self.temperature_)) > 0.999 * self.max_log_temperature:
            return [
                f"The temperature {self.temperature_:.3g} is at its bound: the fewer mistakes a calibration set "
                "holds, the less it can say, and this one has no best temperature. Check the labels, or use more rows."
            ]
        return []

    def _fit(self, logits: Floats, labels: Ints, callback: Callback, **extras: Any) -> None:
        from scipy.optimize import minimize_scalar

        rows = np.arange(len(labels))
        bound = self.max_log_temperature
        if (logits[rows, labels] == logits.max(axis=1)).all() and (np.ptp(logits, axis=1) > 0).any():
            # Every label is on top: the NLL falls all the way to T = 0, below float resolution long before.
            self.temperature_ = float(np.exp(-bound))
            return
        calls = 0

        def nll(log_temperature: float) -> float:
            nonlocal calls
            value = -float(log_softmax(logits / np.exp(log_temperature))[rows, labels].mean())
            calls += 1
            callback(calls, 25, value)
            return value

        solution = minimize_scalar(nll, bounds=(-bound, bound), method="bounded", options={"xatol": 1e-8})
        self.temperature_ = float(np.exp(solution.x))

    def _predict_proba(self, logits: Floats) -> Floats:
        return softmax(logits / self.temperature_)
