"""Simulated logits of any size, for speed and memory."""

from __future__ import annotations

import numpy as np

from calib.data.samples import exaggerate
from calib.numerics import Floats, Ints


def simulated(rows: int, n_classes: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Logits of an overconfident model, (rows, n_classes) float64, and labels drawn from what they were before."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(rows, n_classes)) * 2.5
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    return exaggerate(logits), labels
