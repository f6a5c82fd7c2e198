"""Table 2 of Chouraqui et al. (2023) in small, with nothing to download: what says how sure a prediction is.

    python -m benchmarks.geometry_tables [--shuffles 100] [--quick]

Scikit-learn's digits, the tables it carries, and three of its classifiers at their defaults, trained on 60 % of the
rows, calibrated on 20 % and scored on 20 %. The separation sees inputs and the training set; all else learns from the
classifier's confidence in its prediction and whether that was right (top-label calibration, Gupta and Ramdas 2021), but
for temperature scaling, which learns from the outputs for all classes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.kitti import outputs
from benchmarks.measure import machine, markdown
from calib import metrics
from calib.canonical import to_canonical, zero_floor
from calib.numerics import Floats, Ints
from calib.registry import calibrator

MODELS: dict[str, Callable[[int], Any]] = {
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "MLP": lambda seed: MLPClassifier(random_state=seed),
}
SEPARATIONS: dict[str, dict[str, Any]] = {
    "fast separation": {},
    "exact separation": {"exact": True},
    "fast + sigmoid": {"map": "sigmoid"},
}
BASELINES = ("isotonic", "platt", "scaling_binning", "histogram", "bbq", "beta")
FEW = 10
"""Shuffles of the tables that are not digits."""


@dataclass(frozen=True, eq=False)
class Split:
    """A shuffle of a data set, and what a classifier trained on 60 % of its rows says about the others.

    Attributes
    ----------
    train_features, train_labels : the rows it was trained on.
    features, labels, logits : of the 20 % to calibrate with, then of the 20 % to be scored, as pairs.
    """

    train_features: Floats
    train_labels: Ints
    features: tuple[Floats, Floats]
    labels: tuple[Ints, Ints]
    logits: tuple[Floats, Floats]

    @property
    def right(self) -> tuple[Any, Any]:
        """Whether the predicted class is the label, in each row."""
        first, second = (
            z.argmax(axis=1) == y for z, y in zip(self.logits, self.labels, strict=True)
        )
        return first, second

    @property
    def top_label_logits(self) -> tuple[Floats, Floats]:
        """The confidence as outputs (n, 2) for two classes, wrong and right, which binary calibrators take."""
        confidence = np.exp(np.concatenate(self.logits).max(axis=1))
        both = np.stack([1 - confidence, confidence], axis=1)
        logits = to_canonical(both, "probabilities", zero_floor(both))
        n = len(self.labels[0])
        return logits[:n], logits[n:]


def tables() -> dict[str, tuple[Floats, Ints]]:
    """Features and labels by name: images (n, 8, 8), and columns that are to be standardised."""
    digits = load_digits()
    others = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
    return {"digits": (digits.images / 16, digits.target)} | {
        name: load(return_X_y=True) for name, load in others.items()
    }


def split(features: Floats, labels: Ints, model: str, seed: int) -> Split:
    """Train a classifier on one shuffle of 60, 20 and 20 %; columns are scaled by the training rows alone."""
    order = np.random.default_rng(seed).permutation(len(labels))
    training, calibration, test = np.split(order, [len(order) * 3 // 5, len(order) * 4 // 5])
    if features.ndim == 2:
        spread = features[training].std(axis=0)
        features = (features - features[training].mean(axis=0)) / np.where(spread > 0, spread, 1)
    flat, rows = features.reshape(len(features), -1), np.concatenate([calibration, test])
    n_classes = int(labels.max()) + 1
    logits = outputs(MODELS[model](seed), flat[training], labels[training], flat[rows], n_classes)
    return Split(
        features[training],
        labels[training],
        (features[calibration], features[test]),
        (labels[calibration], labels[test]),
        (logits[: len(calibration)], logits[len(calibration) :]),
    )


def confidences(one: Split) -> dict[str, Floats]:
    """Confidence in the predicted class of each row to be scored, by method."""
    (logits, asked), (labels, _), (right, _) = one.logits, one.labels, one.right
    found = {
        "uncalibrated": np.exp(asked.max(axis=1)),
        "constant": np.full(len(asked), right.mean()),
    }
    for title, params in SEPARATIONS.items():
        made = calibrator("geometric", **params)
        training = {"train_features": one.train_features, "train_labels": one.train_labels}
        made.fit(logits, labels, features=one.features[0], **training)
        found[title] = made.predict_confidence(asked, features=one.features[1])
    told, asked_top = one.top_label_logits
    for name in BASELINES:
        found[name] = calibrator(name).fit(told, right.astype(int)).predict_proba(asked_top)[:, 1]
    temperature = calibrator("temperature", device="cpu").fit(logits, labels)
    return found | {"temperature": temperature.predict_proba(asked).max(axis=1)}


def table(name: str, model: str, n_shuffles: int) -> str:
    """ECE and Brier score of the confidences in per cent: means over the shuffles, and their standard errors."""
    found: dict[str, list[tuple[float, float]]] = {}
    shares = []
    for seed in range(n_shuffles):
        one = split(*tables()[name], model, seed)
        right = one.right[1]
        shares.append(right.mean())
        for title, said in confidences(one).items():
            brier = float(np.mean((said - right) ** 2))
            found.setdefault(title, []).append((metrics.ece(said, right), brier))
    rows = []
    for title, scores in found.items():
        mean, error = np.mean(scores, axis=0), np.std(scores, axis=0, ddof=1) / np.sqrt(n_shuffles)
        rows.append(
            [title, *(f"{100 * m:.2f} ± {100 * e:.2f}" for m, e in zip(mean, error, strict=True))]
        )
    return markdown([f"{name}, {model}, {np.mean(shares):.1%} right", "ECE %", "Brier %"], rows)


def main() -> None:
    """Train, calibrate, score and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--shuffles", type=int, default=100, help="of the digits")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="the forest and two shuffles, to see that everything runs",
    )
    given = parser.parse_args()
    print(machine(), end="\n\n")
    for name in tables():
        n = 2 if given.quick else given.shuffles if name == "digits" else FEW
        for model in list(MODELS)[: 1 if given.quick else None]:
            print(f"{name}, {model} ...", file=sys.stderr, flush=True)
            print(table(name, model, n), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
