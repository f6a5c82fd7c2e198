"""What the kernel acts on."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.base import LabelledBlocks
from calib.numerics import Floats, Ints, log_softmax, softmax

USUAL_TEMPERATURES = (0.2, 5.0)
"""Within these the paper's prior, that the model is calibrated already, can be mended by the fit."""

MOST_ENTRIES = 200_000


class StoredLogits:
    """As much of a float64 array (n, n_classes) as a fit to sampled rows asks for; rows are read by indexing."""

    ndim = 2

    def __init__(self, data: LabelledBlocks, scale: float = 1.0):
        self._data, self._scale = data, scale
        self.shape = data.shape
        self.size = self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def min(self) -> float:
        """Smallest logit."""
        return self._data.low / self._scale

    def max(self) -> float:
        """Largest logit."""
        return self._data.high / self._scale

    def __getitem__(self, rows: Any) -> Floats:
        taken = self._data.take(np.arange(len(self))[rows])
        return taken / self._scale if self._scale != 1.0 else taken

    def __truediv__(self, scale: float) -> StoredLogits:
        return StoredLogits(self._data, self._scale * scale)


Logits = Floats | StoredLogits
"""What a fit that samples rows learns from: an array, or rows that stay on disk."""


def kernel_inputs(logits: Floats, space: str) -> tuple[Floats, Floats]:
    """Kernel inputs and the prior mean there: (z, z), or (p, ln p) where ``space`` is "probs"."""
    return (logits, logits) if space == "logits" else (softmax(logits), log_softmax(logits))


def logit_scale(logits: Logits, labels: Ints) -> float:
    """What to divide badly scaled logits by before the fit; 1 for all others.

    Similarities in [-1, 1] or margins in the thousands are so far from log-probabilities that the objective has no
    useful maximum near the prior. The scale is the temperature of greatest posterior probability, with a
    standard normal prior on log T so that separable data have one too, rounded to three digits.
    """
    from scipy.optimize import minimize_scalar

    rows = slice(None, None, max(1, logits.size // MOST_ENTRIES))
    sample, classes = logits[rows], labels[rows]
    index = np.arange(len(sample))
    weight = len(logits) / len(sample)

    def loss(log_temperature: float) -> float:
        log_probs = log_softmax(sample * np.exp(-log_temperature))[index, classes]
        return 0.5 * log_temperature**2 - weight * float(log_probs.sum())

    temperature = float(np.exp(minimize_scalar(loss, bounds=(-15.0, 15.0), method="bounded").x))
    low, high = USUAL_TEMPERATURES
    return 1.0 if low <= temperature <= high else float(f"{temperature:.3g}")
