"""Binary tasks and classifiers in the manner of Allikivi and Kull (2019), section 5.2, with nothing to download."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_friedman1, make_hastie_10_2
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks import kitti
from calib.numerics import Floats, Ints

MODELS: dict[str, Callable[[int], Any]] = {
    "decision tree": lambda seed: DecisionTreeClassifier(min_samples_leaf=10, random_state=seed),
    "naive Bayes": lambda seed: GaussianNB(),
    "SVM": lambda seed: SVC(),
    "random forest": lambda seed: RandomForestClassifier(random_state=seed),
    "logistic regression": lambda seed: LogisticRegression(),
    "nearest neighbours": lambda seed: KNeighborsClassifier(),
    "AdaBoost": lambda seed: AdaBoostClassifier(random_state=seed),
    "bagged trees": lambda seed: BaggingClassifier(random_state=seed),
    "network": lambda seed: MLPClassifier(random_state=seed),
}
"""The paper's nine, with scikit-learn's defaults as there."""

SIZES = (100, 1000, 3000)
"""Rows to calibrate with."""

LARGEST_SHARE = 0.6
"""How much of the rows that are not only for training a calibration set may take."""

MOST_TRAINING, MOST_TEST = 3000, 4000
"""As in the paper."""


@dataclass(frozen=True, eq=False)
class Task:
    """A data set with two classes.

    Attributes
    ----------
    title : what it is called in tables.
    features, labels : (n, n_features) and (n,) of 0 and 1.
    n_training_pool : rows at the beginning that may only be trained on, as KITTI's training file; 0 divides all rows
        by chance.
    """

    title: str
    features: Floats
    labels: Ints
    n_training_pool: int = 0

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of calibration sets that leave rows to train on and to score."""
        n = len(self.labels) - self.n_training_pool
        return tuple(size for size in SIZES if size <= LARGEST_SHARE * n)

    def divided(self, seed: int) -> tuple[Ints, Ints, Ints]:
        """Rows to train on, to calibrate with (the largest size; the first rows are the smaller sizes) and to score."""
        order = np.random.default_rng(seed).permutation(len(self.labels))
        in_pool = order < self.n_training_pool
        n_calibration = max(self.sizes)
        n_training = min(MOST_TRAINING, (len(order) - n_calibration) // 2)
        training = order[in_pool][:n_training] if self.n_training_pool else order[:n_training]
        rest = order[~in_pool] if self.n_training_pool else order[n_training:]
        return training, rest[:n_calibration], rest[n_calibration:][:MOST_TEST]


def tasks(kitti_archive: str | Path | None = None) -> Iterator[Task]:
    """All data sets; KITTI's only where its archive is given.

    Friedman's is *fried* of the paper made anew, cut at its mean as there.
    """
    for title, (features, labels) in {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "diabetes, above the median": _cut(*load_diabetes(return_X_y=True), np.median),
        "digits, odd": _digits(lambda digit: digit % 2 == 1),
        "digits, five and above": _digits(lambda digit: digit >= 5),
        "digits, eight": _digits(lambda digit: digit == 8),
        "Friedman's first": _cut(*make_friedman1(12_000, noise=1.0, random_state=0), np.mean),
        "Hastie's 10.2": _cut(*make_hastie_10_2(12_000, random_state=0), np.mean),
    }.items():
        yield Task(title, features, labels)
    if kitti_archive is not None:
        train, train_labels, test, test_labels = kitti.read(kitti_archive)
        features, labels = np.concatenate([train, test]), np.concatenate([train_labels, test_labels])
        for title, positive in {"KITTI, not class 0": labels > 0, "KITTI, class 3": labels == 3}.items():
            yield Task(title, features, positive.astype(int), len(train))


def outputs(name: str, task: Task, training: Ints, rows: Ints, seed: int) -> Floats:
    """Logits (n, 2) of a classifier trained on some rows for some others: log-probabilities, or the SVM's margin."""
    model = MODELS[name](seed)
    train, labels, features = task.features[training], task.labels[training], task.features[rows]
    with warnings.catch_warnings():
        # As in the paper, whose features are not scaled and whose number of steps is scikit-learn's.
        warnings.simplefilter("ignore", ConvergenceWarning)
        if has_probabilities(name):
            return kitti.outputs(model, train, labels, features, 2)
        margins = model.fit(train, labels).decision_function(features)
    return np.stack([np.zeros(len(margins)), margins], axis=1)


def has_probabilities(name: str) -> bool:
    """Whether a classifier says probabilities, which are then its scores; the SVM says margins."""
    return name != "SVM"


def _digits(positive: Callable[[Ints], Any]) -> tuple[Floats, Ints]:
    features, digits = load_digits(return_X_y=True)
    return features, positive(digits).astype(int)


def _cut(features: Floats, values: Floats, at: Callable[[Floats], Any]) -> tuple[Floats, Ints]:
    return features, (values > at(values)).astype(int)
