"""Accuracy and speed of the seven reductions: figures 6 to 8 of Chouraqui et al. (2023).

    python -m benchmarks.geometry_reductions [--shuffles 3] [--rows 6000]

The images are those of ``geometry_speed``: digits enlarged to 28 x 28, turned, sheared and shifted. A random forest
learns from the training rows at full size; fast separation is learned on 1,000 calibration rows and judged on 1,000
others, with the training set reduced by t x t. Errors are mean ± standard error; speeds are of predictions with one
thread, the reduction of the new inputs among them.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks.geometry_speed import SIDE, jittered
from benchmarks.measure import machine, markdown
from calib import metrics
from calib.calibrators.geometric import Geometric
from calib.calibrators.geometric.reductions import REDUCTIONS
from calib.numerics import log_softmax

N_EACH = 1000
"""Calibration rows, and test rows."""
FACTORS = (2, 4)


def errors_of(seed: int, n_train: int) -> dict[tuple[str, int], tuple[float, float, float]]:
    """ECE, Brier score of the confidence and predictions per CPU second, by reduction and factor."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    generator = np.random.default_rng(seed)
    digits = load_digits()
    known = generator.random(len(digits.target)) < 0.8
    train, train_labels = jittered(
        digits.images[known] / 16, digits.target[known], n_train, generator
    )
    new, labels = jittered(digits.images[~known] / 16, digits.target[~known], 2 * N_EACH, generator)
    forest = RandomForestClassifier(100, random_state=seed).fit(train, train_labels)
    logits = log_softmax(np.log(np.maximum(forest.predict_proba(new), 1e-3)))
    images, train = (each.reshape(-1, SIDE, SIDE) for each in (new, train))
    fit, test = slice(N_EACH), slice(N_EACH, None)
    found = {}
    for name in REDUCTIONS:
        for factor in (1,) if name == "none" else FACTORS:
            fitted = Geometric(reduction=name, factor=factor, random_state=seed).fit(
                logits[fit],
                labels[fit],
                features=images[fit],
                train_features=train,
                train_labels=train_labels,
            )
            started = time.process_time()
            confidence = fitted.predict_confidence(logits[test], features=images[test])
            seconds = time.process_time() - started
            correct = logits[test].argmax(axis=1) == labels[test]
            found[name, factor] = (
                metrics.ece(confidence=confidence, correct=correct),
                float(np.mean((confidence - correct) ** 2)),
                N_EACH / seconds,
            )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--rows", type=int, default=6000)
    given = parser.parse_args()
    print(machine(), end="\n\n")
    runs = [errors_of(seed, given.rows) for seed in range(given.shuffles)]
    lines = []
    plain = np.mean([run["none", 1][2] for run in runs])
    for name, factor in runs[0]:
        values = np.array([run[name, factor] for run in runs])
        mean = values.mean(axis=0)
        half = values.std(axis=0, ddof=1) / len(runs) ** 0.5
        cells = [f"{100 * m:.2f} ± {100 * s:.2f}" for m, s in zip(mean[:2], half[:2], strict=True)]
        lines.append([name, str(factor), *cells, f"{mean[2]:,.0f}", f"{mean[2] / plain:.1f}"])
    print(markdown(["reduction", "t", "ECE, %", "Brier, %", "per CPU s", "times"], lines))


if __name__ == "__main__":
    main()
