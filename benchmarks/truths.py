"""Simulated outputs whose true probabilities are known, by the shape of their miscalibration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from calib.numerics import Floats, Ints, log_softmax, softmax

N_TEST = {2: 4000, 10: 3000, 100: 2000}
CENTRE, SPREAD = 0.5, 2.5
"""Mean and standard deviation of a binary model's log-odds."""

BINARY: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda x: x,
    "overconfident": lambda x: x / 2,
    "underconfident": lambda x: 1.6 * x,
    "shifted": lambda x: x - 1,
    "parabola": lambda x: 0.7 * x - 0.05 * x**2 - 0.3,
    "flat tails": lambda x: np.where(
        x > 2, 2 + 0.3 * (x - 2), np.where(x < -3, -3 + 0.5 * (x + 3), x)
    ),
    "steps": lambda x: np.select([x < -1, x < 1, x < 3], [-2.5, -0.3, 0.9], 2.8),
    "one-sided": lambda x: np.where(x > 0, 0.4 * x, 1.3 * x),
}
"""The true log-odds at a model's."""

CLASSES = (
    "calibrated",
    "overconfident",
    "scale by class",
    "bias by class",
    "mixed classes",
    "leader",
    "curved",
)

Cell = tuple[Floats, Ints, Floats, Floats]
"""Calibration logits and labels, test logits, and true probabilities of the test rows."""


def binary(shape: str, n: int, seed: int) -> Cell:
    """Outputs of two classes, whose true log-odds are a function of the model's."""
    generator = np.random.default_rng(1000 + seed)
    log_odds = generator.normal(CENTRE, SPREAD, n + N_TEST[2])
    truth = expit(BINARY[shape](log_odds))
    labels = (generator.random(len(truth)) < truth).astype(int)
    logits = np.stack([np.zeros_like(log_odds), log_odds], axis=1)
    return logits[:n], labels[:n], logits[n:], np.stack([1 - truth, truth], axis=1)[n:]


def multiclass(shape: str, n_classes: int, n: int, seed: int) -> Cell:
    """Outputs of many classes from the true log-probabilities; how they differ is the same for all seeds."""
    fixed, generator = np.random.default_rng(7), np.random.default_rng(2000 + seed)
    rows = n + N_TEST[n_classes]
    truth = 1.5 * generator.normal(size=(rows, n_classes))
    leader = generator.integers(n_classes, size=rows)
    truth[np.arange(rows), leader] += generator.gamma(
        3.0, (3.5 if n_classes < 50 else 5.0) / 3, size=rows
    )
    truth = log_softmax(truth)
    labels = np.argmax(truth + generator.gumbel(size=truth.shape), axis=1)
    mixing = np.eye(n_classes) + 0.25 / np.sqrt(n_classes) * fixed.normal(
        size=(n_classes, n_classes)
    )
    by_class = fixed.normal(size=n_classes)
    logits = {
        "calibrated": truth,
        "overconfident": 2 * truth,
        "scale by class": truth * np.exp(0.35 * by_class),
        "bias by class": 1.5 * truth + by_class,
        "mixed classes": 1.5 * truth @ mixing,
        "leader": np.where(truth > -1, 3 * truth, 1.2 * truth),
        "underconfident": truth / 1.6,
        "curved": truth + 0.06 * np.maximum(truth + 4, 0) ** 2,
    }[shape]
    return logits[:n], labels[:n], logits[n:], softmax(truth[n:])
