"""Data sets and classifiers in the manner of Chouraqui et al. (2023), section 4.1, with nothing to download."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks import kitti
from calib.canonical import to_canonical, zero_floor
from calib.numerics import Floats, Ints

MODELS: dict[str, Callable[[int], Any]] = {
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient boosting": lambda seed: HistGradientBoostingClassifier(random_state=seed),
    "MLP": lambda seed: MLPClassifier(random_state=seed),
}
"""The paper's kinds, with scikit-learn's defaults; it looks for the trees' settings and has a CNN for a network."""


@dataclass(frozen=True, eq=False)
class Task:
    """A data set.

    Attributes
    ----------
    title : what it is called in tables.
    features : (n, ...) numbers or images.
    labels : (n,) integers from 0.
    standardised : whether columns are brought to mean 0 and deviation 1 of the training rows.
    """

    title: str
    features: Floats
    labels: Ints
    standardised: bool = False


@dataclass(frozen=True, eq=False)
class Split:
    """A shuffle of a data set and what a classifier trained on its training rows says about the others.

    Attributes
    ----------
    train_features, train_labels : 60 % of the rows.
    features, labels, logits : those of the 20 % to calibrate with, then those of the 20 % to be scored, as pairs;
        logits are log-probabilities whose zeros stand for half the smallest positive one.
    """

    train_features: Floats
    train_labels: Ints
    features: tuple[Floats, Floats]
    labels: tuple[Ints, Ints]
    logits: tuple[Floats, Floats]

    @property
    def confidence(self) -> tuple[Floats, Floats]:
        """The classifier's own largest probability in each row: exactly 1 where a forest's trees all agree."""
        calibration, test = (np.exp(logits.max(axis=1)) for logits in self.logits)
        return calibration, test

    @property
    def right(self) -> tuple[Any, Any]:
        """Whether the predicted class is the label, in each row."""
        calibration, test = (
            logits.argmax(axis=1) == labels for logits, labels in zip(self.logits, self.labels, strict=True)
        )
        return calibration, test

    @property
    def top_label_logits(self) -> tuple[Floats, Floats]:
        """The confidence as outputs (n, 2) for two classes, wrong and right, which binary calibrators take.

        A confidence of 1 becomes one that is half as far from 1 as the nearest other, as for every upload.
        """
        confidence = np.concatenate(self.confidence)
        both = np.stack([1 - confidence, confidence], axis=1)
        logits = to_canonical(both, "probabilities", zero_floor(float(both[both > 0].min()), 2))
        n = len(self.labels[0])
        return logits[:n], logits[n:]


def digits() -> Task:
    """Scikit-learn's 1,797 digits as images (n, 8, 8) in [0, 1]."""
    data = load_digits()
    return Task("digits", data.images / 16, data.target)


def tabular() -> Iterator[Task]:
    """Section 4.3.2 on what scikit-learn carries; odd and even digits are vectors that only were images once."""
    for title, (features, labels) in {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "iris": load_iris(return_X_y=True),
        "digits, odd": load_digits(return_X_y=True),
    }.items():
        yield Task(title, features, labels % 2 if title == "digits, odd" else labels, standardised=True)


def split(task: Task, model: str, seed: int) -> Split:
    """Train a classifier on one shuffle of 60, 20 and 20 %."""
    order = np.random.default_rng(seed).permutation(len(task.labels))
    training, calibration, test = np.split(order, [len(order) * 3 // 5, len(order) * 4 // 5])
    features = task.features
    if task.standardised:
        deviation = features[training].std(axis=0)
        features = (features - features[training].mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    flat = features.reshape(len(features), -1)
    n_classes = int(task.labels.max()) + 1
    rows = np.concatenate([calibration, test])
    logits = kitti.outputs(MODELS[model](seed), flat[training], task.labels[training], flat[rows], n_classes)
    return Split(
        features[training],
        task.labels[training],
        (features[calibration], features[test]),
        (task.labels[calibration], task.labels[test]),
        (logits[: len(calibration)], logits[len(calibration) :]),
    )
