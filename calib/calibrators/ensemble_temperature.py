"""Ensemble temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base import NEEDS_CLASSES, Calibrator, Progress
from calib.calibrators.minimisation import minimise
from calib.calibrators.steps import Step
from calib.calibrators.temperature import BOUND, TemperatureScaling
from calib.numerics import Floats, Ints, blocks, softmax

_COARSE = np.linspace(
    -3.0, 3.0, 13
)  # log-temperatures of the first search, from that of temperature scaling
_WEIGHTS = np.array([0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 0.6])  # and weights
_SAMPLE = 1_000  # rows that this search reads
_SMALLEST = np.finfo(np.float64).tiny  # the probability that a loss takes for zero


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleTemperatureScaling(Calibrator):
    """A weighted average of the scaled model and the uniform distribution, ``(1 - w) softmax(z / T) + w / K``.

    Zhang, Kailkhura and Han, Mix-n-Match: Ensemble and Compositional Methods for Uncertainty Calibration in Deep
    Learning, ICML 2020. The paper has the raw model as a third component, and finds T, then the weights, by least
    squared error. Here w and T minimise the negative log-likelihood together, without the raw model, so that the loss
    on the calibration set is never above that of temperature scaling.

    The loss has several valleys: a coarse search over part of the rows finds the deepest one, and L-BFGS its lowest
    point.

    Examples
    --------
    >>> import calib
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5)
    >>> fitted = EnsembleTemperatureScaling().fit(calibration)
    >>> calib.ece(fitted.predict_proba(test), test.labels) < 0.04  # of the raw model
    True
    """

    headline = ("temperature_", "weight_")
    traits = TemperatureScaling.traits | {
        NEEDS_CLASSES
    }  # the uniform distribution is over all classes

    def notes(self) -> list[str]:
        plain = (
            "The uniform distribution has no weight, so this is temperature scaling "
            f"with T = {self.temperature_:.3g}."
        )
        return [*([plain] if self.weight_ < 1e-6 else []), *self.temperature_notes_]

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        scaled = TemperatureScaling(device="cpu").fit(
            logits, labels, kind="logits", progress=progress
        )
        self.temperature_notes_ = scaled.notes()
        plain = np.log(scaled.temperature_)
        log_unit = np.log(scaled.unit_)
        low = log_unit - BOUND
        high = log_unit + BOUND

        def objective(at: Floats) -> tuple[float, Floats]:
            log_temperature, weight = at
            probs, slopes = _of_labels(logits, labels, log_temperature)
            mixed = np.maximum((1 - weight) * probs + weight / self.n_classes_, _SMALLEST)
            by_weight = float(((probs - 1 / self.n_classes_) / mixed).mean())
            return -float(np.log(mixed).mean()), np.array(
                [-float(((1 - weight) * slopes / mixed).mean()), by_weight]
            )

        every = max(1, len(labels) // _SAMPLE)
        losses = {}
        for log_temperature in np.clip(plain + _COARSE, low, high):
            probs, _ = _of_labels(logits[::every], labels[::every], log_temperature)
            for weight in _WEIGHTS:
                mixed = np.maximum((1 - weight) * probs + weight / self.n_classes_, _SMALLEST)
                losses[log_temperature, weight] = -float(np.log(mixed).mean())
        coarse = min(losses, key=losses.__getitem__)
        start = min(np.array([plain, 0.0]), np.array(coarse), key=lambda at: objective(at)[0])
        ends = {"low": np.array([low, 0.0]), "high": np.array([high, 1.0])}
        (log_temperature, weight), *_ = minimise(objective, start, progress, **ends, tolerance=1e-4)
        self.temperature_, self.weight_ = float(np.exp(log_temperature)), float(weight)

    def _predict(self, logits: Floats) -> Floats:
        return (1 - self.weight_) * softmax(
            logits / self.temperature_
        ) + self.weight_ / logits.shape[1]

    def steps(self) -> list[Step]:
        uniform = {
            "step": "affine",
            "scale": 1 - self.weight_,
            "offset": self.weight_ / self.n_classes_,
        }
        return [{"step": "affine", "scale": 1 / self.temperature_}, {"step": "softmax"}, uniform]


def _of_labels(logits: Floats, labels: Ints, log_temperature: float) -> tuple[Floats, Floats]:
    """Each label's probability after temperature scaling, and its slope in log T, both (n,)."""
    probs = np.empty(len(labels))
    slopes = np.empty(len(labels))
    for block in blocks(*logits.shape):
        scaled = np.exp(-log_temperature) * logits[block]
        odds = np.exp(scaled)
        total = odds.sum(axis=1)
        of_label = np.arange(len(scaled)), labels[block]
        probs[block] = odds[of_label] / total
        slopes[block] = probs[block] * (
            np.einsum("nk,nk->n", odds, scaled) / total - scaled[of_label]
        )
    return probs, slopes
