"""A model's outputs to measure on: simulated ones of any size, and a network's from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from calib.data.samples import exaggerate
from calib.numerics import Floats, Ints


def simulated(rows: int, n_classes: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Logits of an overconfident model, (rows, n_classes) float64, and labels drawn from what they were before."""
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(rows, n_classes)) * 2.5
    labels = np.argmax(logits + generator.gumbel(size=logits.shape), axis=1)
    return exaggerate(logits), labels


def of_network(path: str | Path, n: int | None = None) -> tuple[Floats, Ints]:
    """Log-probabilities and labels of an npz with ``predictions`` (probabilities) and ``ground_truth``.

    A probability of zero counts as the least positive double. ``n`` takes so many rows of a fixed random order.
    """
    with np.load(path) as stored:
        probs, labels = (
            stored["predictions"].astype(float),
            stored["ground_truth"].astype(int).ravel(),
        )
    if n is not None:
        rows = np.random.RandomState(0).permutation(len(labels))[:n]
        probs, labels = probs[rows], labels[rows]
    return np.log(np.maximum(probs, np.finfo(float).tiny)), labels
