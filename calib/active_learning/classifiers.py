"""Classifiers for the simulation, and a learner that takes labelled rows batch by batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from calib.errors import CalibrationError, missing_package
from calib.numerics import Floats, Ints


@dataclass(frozen=True)
class ActiveClassifier:
    """One classifier on offer.

    Attributes
    ----------
    title : how pages call it.
    make : makes an untrained classifier of scikit-learn's interface from a seed.
    summary : one sentence on what it is.
    """

    title: str
    make: Callable[[int], Any]
    summary: str


def _mondrian_forest(seed: int) -> Any:
    try:
        from river.compat import convert_river_to_sklearn  # an extra
        from river.forest import AMFClassifier
    except ModuleNotFoundError as error:
        raise CalibrationError(missing_package(error)) from error
    return convert_river_to_sklearn(AMFClassifier(n_estimators=10, seed=seed))


CLASSIFIERS = {
    "forest": ActiveClassifier(
        "Random forest",
        lambda seed: RandomForestClassifier(n_estimators=50, random_state=seed),
        "50 trees, grown anew on all labelled rows after each batch.",
    ),
    "mondrian": ActiveClassifier(
        "Mondrian forest",
        _mondrian_forest,
        "10 Mondrian trees that grow with each row, their prunings averaged (Mourtada et al. 2021); slow.",
    ),
    "logistic": ActiveClassifier(
        "Logistic regression",
        lambda seed: make_pipeline(
            StandardScaler(), LogisticRegression(max_iter=1000, random_state=seed)
        ),
        "A linear model of the standardised features.",
    ),
    "network": ActiveClassifier(
        "Neural network",
        lambda seed: make_pipeline(
            StandardScaler(), MLPClassifier((100,), max_iter=100, random_state=seed)
        ),
        "One hidden layer of 100 on the standardised features.",
    ),
    "naive_bayes": ActiveClassifier(
        "Naive Bayes",
        lambda _: GaussianNB(),
        "A Gaussian for each class and feature; very overconfident.",
    ),
}
"""By the name used in plans; the first is what pages begin with."""


def classifier(name: str, seed: int) -> Any:
    """An untrained classifier by name."""
    return CLASSIFIERS[name].make(seed)


class Learner:
    """An untrained classifier of scikit-learn's interface, made to learn batch by batch.

    Parameters
    ----------
    classifier : learns new rows by ``partial_fit`` where it has that, else by ``fit`` on all rows so far.
    n_classes : classes there are, whether or not labels of each have been seen.
    """

    def __init__(self, classifier: Any, n_classes: int):
        self._classifier = classifier
        self._n_classes = n_classes
        self._features: list[Any] = []
        self._labels: list[Ints] = []
        self._only: int | None = None

    def learn(self, features: Any, labels: Ints) -> None:
        """Take in (n, d) features with their (n,) labels.

        As long as all labels so far are of one class nothing is trained: most classifiers refuse that, and there
        is nothing else to predict.
        """
        self._features.append(features)
        self._labels.append(labels)
        all_labels = np.concatenate(self._labels)
        waited = self._only is not None
        self._only = int(all_labels[0]) if np.ptp(all_labels) == 0 else None
        if self._only is not None:
            return
        online = hasattr(self._classifier, "partial_fit")
        if waited or not online:
            features = np.concatenate(self._features)
            labels = all_labels
        with warnings.catch_warnings():
            # A network that has not converged after its iterations is still a classifier to be calibrated.
            warnings.filterwarnings("ignore", category=ConvergenceWarning)
            if online:
                self._classifier.partial_fit(features, labels, classes=np.arange(self._n_classes))
            else:
                self._classifier.fit(features, labels)

    def probabilities(self, features: Any) -> Floats:
        """(n, n_classes) probabilities; zero for classes of which no label has been seen."""
        probs = np.zeros((len(features), self._n_classes))
        if self._only is not None:
            probs[:, self._only] = 1.0
        elif len(features):
            # Naive Bayes takes the logarithm of how often a class was seen, and divides by the spread of features.
            with np.errstate(divide="ignore", invalid="ignore"):
                probs[:, self._classifier.classes_] = self._classifier.predict_proba(features)
        lacking = int(np.isnan(probs).any(axis=1).sum())
        if lacking:
            raise CalibrationError(
                f"The classifier gave no probabilities for {lacking:,} of {len(probs):,} rows, as naive Bayes does "
                "where no feature varies. Choose another classifier, or features that differ between rows."
            )
        return probs
