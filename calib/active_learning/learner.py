"""A classifier that learns from ever more labelled rows, and says something about every class from the first on."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.numerics import Floats, Ints


class Learner:
    """An untrained classifier of scikit-learn's interface, made to learn batch by batch.

    Parameters
    ----------
    classifier : learns by ``partial_fit`` where ``online``, else by ``fit`` on all rows so far.
    n_classes : classes there are, whether or not labels of each have been seen.
    online : whether the classifier is only shown the new rows of each batch.
    """

    def __init__(self, classifier: Any, n_classes: int, online: bool):
        self._classifier = classifier
        self._n_classes = n_classes
        self._online = online
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
        waited, self._only = self._only is not None, int(all_labels[0]) if np.ptp(all_labels) == 0 else None
        if self._only is not None:
            return
        with warnings.catch_warnings():
            # A network that has not converged after its iterations is still a classifier to be calibrated.
            warnings.filterwarnings("ignore", category=_convergence_warning())
            if self._online and not waited:
                self._classifier.partial_fit(features, labels, classes=np.arange(self._n_classes))
            elif self._online:
                self._classifier.partial_fit(
                    np.concatenate(self._features), all_labels, classes=np.arange(self._n_classes)
                )
            else:
                self._classifier.fit(np.concatenate(self._features), all_labels)

    def probabilities(self, features: Any) -> Floats:
        """(n, n_classes) probabilities; zero for classes of which no label has been seen.

        Raises
        ------
        CalibrationError
            If the classifier gives none for some rows.
        """
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


def _convergence_warning() -> type[Warning]:
    from sklearn.exceptions import ConvergenceWarning

    return ConvergenceWarning
