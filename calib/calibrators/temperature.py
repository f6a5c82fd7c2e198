"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_HALF, KEEPS_RANKING, POSITIVE, Calibrator, Progress
from calib.calibrators.backend import DEVICES, Loss, run
from calib.calibrators.minimisation import find_root
from calib.calibrators.steps import Step
from calib.numerics import Floats, Ints, logit_unit, unit_rows
from calib.parameters import param

BOUND = 5.0
"""Largest |log T|, in units of the logits' usual gap between the two best classes."""

USUAL_STEPS = 6
"""Passes over the rows that most searches need, for their progress."""

DEVICE_HELP = "Where to fit; auto takes a GPU where there is one and the data are big."


@dataclass(eq=False, repr=False, kw_only=True)
class TemperatureScaling(Calibrator):
    """Divide all logits by one temperature; keeps the accuracy.

    ``p = softmax(z / T)`` with the T of greatest likelihood: Guo et al., On Calibration of Modern Neural Networks, ICML
    2017, section 4.2. The mean negative log-likelihood is convex in b = 1 / T, with slope and curvature::

        d/db = mean(E[z] - z_y),    d2/db2 = mean(Var[z]),    moments of a row's logits z under softmax(b z)

    so that its minimum is the one root of the slope, searched on log T. The search is relative to the unit of the
    logits, :func:`calib.numerics.logit_unit`, so that logits times a constant have the same probabilities. Rows without
    a mistake have no best temperature: T then ends at its bound, which ``notes()`` says.

    ``fit(..., weights=)`` counts each row as often as its weight says.
    """

    device: str = param("auto", choices=DEVICES, help=DEVICE_HELP)

    traits: ClassVar[frozenset[str]] = Calibrator.traits | {POSITIVE, KEEPS_HALF, KEEPS_ACCURACY, KEEPS_RANKING}

    @property
    def at_bound(self) -> bool:
        """Whether the temperature is at its bound, so that the rows have no best one."""
        return bool(abs(np.log(self.temperature_ / self.unit_)) > 0.999 * BOUND)

    def notes(self) -> list[str]:
        bound = (
            f"The temperature {self.temperature_:.3g} is at its bound: the fewer mistakes a calibration set holds, the "
            "less it can say, and this one has no best temperature. Check the labels, or use more rows."
        )
        return [*([bound] if self.at_bound else []), *([self.device_note_] if self.device_note_ else [])]

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None) -> None:
        weights = np.ones(len(labels)) if weights is None else weights
        self.unit_ = logit_unit(logits[unit_rows(logits.shape)])
        all_correct = not logits[np.arange(len(labels)), labels].any()  # the largest logit of a row is 0

        def search(on_gpu: bool) -> float:
            """log T in units."""
            if all_correct and logits.any():
                return -BOUND  # the NLL falls all the way to T = 0
            loss, steps = Loss(logits, labels, weights, on_gpu), 0

            def slope(log_units: float) -> tuple[float, float]:
                """Slope of the NLL in 1 / T, which falls as T grows, and its derivative in log T."""
                nonlocal steps
                inverse = float(np.exp(-log_units)) / self.unit_
                value, slope, curvature = loss.at_temperature(inverse)
                steps += 1
                progress(steps, max(steps, USUAL_STEPS), value)
                return slope, -inverse * curvature

            return find_root(slope, -BOUND, BOUND)

        ran = run(search, self.device, logits.shape)
        self.temperature_ = self.unit_ * float(np.exp(ran.result))
        self.device_, self.device_note_ = ran.device, ran.note

    def _predict(self, logits: Floats) -> Floats:
        probs = logits / self.temperature_
        np.exp(probs, out=probs)  # the largest logit of a row is 0
        probs /= np.einsum("nk->n", probs)[:, None]
        return probs

    def steps(self) -> list[Step]:
        return [{"step": "affine", "scale": 1 / self.temperature_}, {"step": "softmax"}]
