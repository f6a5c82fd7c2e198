"""Ensemble temperature scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.base import NEEDS_CLASSES, Calibrator, Progress, silent
from calib.calibrators.steps import Step
from calib.calibrators.temperature import BOUND, TemperatureScaling
from calib.numerics import Floats, Ints, blocks, softmax

_COARSE = np.linspace(-3.0, 3.0, 25)  # log-temperatures of the first search, from that of temperature scaling
_SAMPLE = 1_000_000  # logits that this search reads at each of them
_MAX_NEWTON = 100
_PASSES = 12  # about how often the second search reads all logits


@dataclass(eq=False, repr=False, kw_only=True)
class EnsembleTemperatureScaling(Calibrator):
    """A weighted average of the scaled model and the uniform distribution, ``(1 - w) softmax(z / T) + w / K``.

    Zhang, Kailkhura and Han, Mix-n-Match: Ensemble and Compositional Methods for Uncertainty Calibration in Deep
    Learning, ICML 2020. The paper has the raw model as a third component, and finds T, then the weights, by least
    squared error. Here w and T minimise the negative log-likelihood together, without the raw model, so that the loss
    on the calibration set is never above that of temperature scaling.

    At each T the best w is the root of a falling function. What remains is a loss of T alone, with several valleys: a
    coarse search over part of the rows finds the deepest one, and L-BFGS its lowest point.
    """

    traits = TemperatureScaling.traits | {NEEDS_CLASSES}  # the uniform distribution is over all classes

    def notes(self) -> list[str]:
        plain = (
            f"The uniform distribution has no weight, so this is temperature scaling with T = {self.temperature_:.3g}."
        )
        return [*([plain] if self.weight_ < 1e-6 else []), *self.temperature_notes_]

    def _fit(self, logits: Floats, labels: Ints, *, progress: Progress) -> None:
        from scipy.optimize import minimize

        scaled = TemperatureScaling(device="cpu").fit(logits, labels, progress=progress)
        self.temperature_notes_ = scaled.notes()
        log_scaled = float(np.log(scaled.temperature_))
        log_unit = float(np.log(scaled.unit_))
        low, high = log_unit - BOUND, log_unit + BOUND
        every = max(1, logits.size // _SAMPLE)
        some = _Profile(logits[::every], labels[::every])
        coarse = min(np.clip(log_scaled + _COARSE, low, high), key=lambda log_t: some(log_t)[0])
        profile = _Profile(logits, labels, progress)
        deepest = minimize(
            profile,
            [min(log_scaled, float(coarse), key=lambda log_t: profile(log_t)[0])],
            jac=True,
            method="L-BFGS-B",
            bounds=[(low, high)],
            options={"ftol": 1e-14, "gtol": 1e-9},
        )
        self.temperature_ = float(np.exp(deepest.x[0]))
        self.weight_ = uniform_weight(profile.label_probs(1 / self.temperature_)[0], self.n_classes_)

    def _predict(self, logits: Floats) -> Floats:
        return (1 - self.weight_) * softmax(logits / self.temperature_) + self.weight_ / logits.shape[1]

    def steps(self) -> list[Step]:
        uniform = {"step": "affine", "scale": 1 - self.weight_, "offset": self.weight_ / self.n_classes_}
        return [{"step": "affine", "scale": 1 / self.temperature_}, {"step": "softmax"}, uniform]


class _Profile:
    """The least mean negative log-likelihood at a temperature, over the weight of the uniform distribution.

    Parameters
    ----------
    logits : (n, n_classes) array, whose largest of each row is 0; not copied.
    labels : (n,) integers in [0, n_classes).
    progress : called at each evaluation.
    """

    def __init__(self, logits: Floats, labels: Ints, progress: Progress = silent):
        self._logits, self._labels, self._progress, self._calls = logits, labels, progress, 0

    def __call__(self, log_temperature: float | Floats) -> tuple[float, float]:
        """Value in nats and its slope in log T, which is the loss's at the best weight as if that were fixed."""
        probs, slopes = self.label_probs(float(np.exp(-np.squeeze(log_temperature))))
        n_classes = self._logits.shape[1]
        weight = uniform_weight(probs, n_classes)
        mixed = (1 - weight) * probs + weight / n_classes
        value = -float(np.log(np.maximum(mixed, np.finfo(float).tiny)).mean())
        self._calls += 1
        self._progress(self._calls, _PASSES, value)
        return value, -float(((1 - weight) * slopes / mixed).mean())

    def label_probs(self, inverse: float) -> tuple[Floats, Floats]:
        """Each label's probability in ``softmax(inverse * logits)`` and its slope in log T, both (n,)."""
        probs, slopes = np.empty(len(self._labels)), np.empty(len(self._labels))
        for block in blocks(*self._logits.shape):
            scaled = inverse * self._logits[block]
            odds = np.exp(scaled)
            total = odds.sum(axis=1)
            of_label = np.arange(len(scaled)), self._labels[block]
            probs[block] = odds[of_label] / total
            slopes[block] = probs[block] * (np.einsum("nk,nk->n", odds, scaled) / total - scaled[of_label])
        return probs, slopes


def uniform_weight(label_probs: Floats, n_classes: int) -> float:
    """The w in [0, 1] with the greatest mean of ``log((1 - w) p + w / K)``, by Newton's method within a bracket.

    Parameters
    ----------
    label_probs : (n,) probabilities p of the labels.
    n_classes : K.
    """
    change = 1 / (n_classes * np.maximum(label_probs, 1e-100)) - 1
    if change.mean() <= 0:
        return 0.0
    if (change / (1 + change)).mean() >= 0:
        return 1.0
    low, high, weight = 0.0, 1.0, 0.5
    for _ in range(_MAX_NEWTON):
        relative = change / (1 + weight * change)
        slope = float(relative.mean())
        low, high = (weight, high) if slope > 0 else (low, weight)
        newton = weight + slope / float((relative**2).mean())
        following = newton if low < newton < high else (low + high) / 2
        if abs(following - weight) < 1e-14:
            break
        weight = following
    return weight
