"""Temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calib.base import KEEPS_ACCURACY, KEEPS_HALF, KEEPS_RANKING, POSITIVE, Calibrator, Progress
from calib.calibrators.backend import DEVICES, Loss, run
from calib.calibrators.minimisation import newton
from calib.calibrators.steps import Step
from calib.numerics import Floats, Ints, logit_unit
from calib.parameters import param

BOUND = 5.0
"""Largest |log T|, in units of the logits' usual gap between the two best classes."""

TOLERANCE = 1e-6
"""The search ends where a step promises less than the square of this, in nats."""

FLATTEST = 1e-12
"""Curvature by the unit of the logits that is taken for none, so that a step stays a number."""

DEVICE_HELP = "Where to fit; auto takes a GPU where there is one and the data are big."


@dataclass(eq=False, repr=False, kw_only=True)
class TemperatureScaling(Calibrator):
    """Divide all logits by one temperature; keeps the accuracy.

    ``p = softmax(z / T)`` with the T of greatest likelihood: Guo et al., On Calibration of Modern Neural Networks, ICML
    2017, section 4.2. The mean negative log-likelihood is convex in b = 1 / T, with slope and curvature::

        d/db = mean(E[z] - z_y),    d2/db2 = mean(Var[z]),    moments of a row's logits z under softmax(b z)

    so that Newton's method finds its one minimum. The search is relative to the unit of the
    logits, :func:`calib.numerics.logit_unit`, so that logits times a constant have the same probabilities. Rows without
    a mistake have no best temperature: T then ends at its bound, which ``notes()`` says.

    ``fit(..., weights=)`` counts each row as often as its weight says.

    Examples
    --------
    >>> import calib
    >>> TemperatureScaling().fit(calib.load_sample("digits-cnn"))
    TemperatureScaling(): fitted on 1,547 rows, 10 classes, temperature_=2.18
    """

    device: str = param("auto", choices=DEVICES, help=DEVICE_HELP)

    headline = ("temperature_",)
    traits: ClassVar[frozenset[str]] = Calibrator.traits | {
        POSITIVE,
        KEEPS_HALF,
        KEEPS_ACCURACY,
        KEEPS_RANKING,
    }

    @property
    def at_bound(self) -> bool:
        """Return whether the temperature is at its bound, so that the rows have no best one."""
        return bool(abs(np.log(self.temperature_ / self.unit_)) > 0.999 * BOUND)

    def notes(self) -> list[str]:
        cause = "no prediction of these rows is clearly wrong. Use more rows, and none that the model was trained on."
        if self.temperature_ > self.unit_:
            cause = "a label's output is on average hardly above those of the other classes. Check the labels."
        bound = f"The temperature {self.temperature_:.3g} is at its bound: {cause}"
        return [
            *([bound] if self.at_bound else []),
            *([self.device_note_] if self.device_note_ else []),
        ]

    def _fit(
        self, logits: Floats, labels: Ints, *, progress: Progress, weights: Floats | None = None
    ) -> None:
        weights = np.ones(len(labels)) if weights is None else weights
        self.unit_ = logit_unit(logits)
        all_correct = not logits[
            np.arange(len(labels)), labels
        ].any()  # the largest logit of a row is 0

        def search(on_gpu: bool) -> float:
            """Units over T."""
            if all_correct and logits.any():
                return float(np.exp(BOUND))  # the NLL falls all the way to T = 0
            loss = Loss(logits, labels, weights, on_gpu)

            def objective(inverse: Floats) -> tuple[float, Floats, Floats]:
                value, slope, curvature = loss.at_temperature(float(inverse[0]) / self.unit_)
                bend = max(curvature / self.unit_**2, FLATTEST)
                return value, np.array([slope / self.unit_]), np.array([[bend]])

            at, *_ = newton(
                objective, np.ones(1), TOLERANCE, progress, np.exp(-BOUND), np.exp(BOUND)
            )
            return float(at[0])

        inverse, self.device_, self.device_note_ = run(search, self.device, logits.shape)
        self.temperature_ = self.unit_ / inverse

    def _predict(self, logits: Floats) -> Floats:
        probs = logits / self.temperature_
        np.exp(probs, out=probs)  # the largest logit of a row is 0
        probs /= np.einsum("nk->n", probs)[:, None]
        return probs

    def steps(self) -> list[Step]:
        return [{"step": "affine", "scale": 1 / self.temperature_}, {"step": "softmax"}]
