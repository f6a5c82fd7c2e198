"""The classifiers that learn while labels are asked for, each with a seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calib.errors import CalibrationError
from calib.extras import missing_package


@dataclass(frozen=True)
class ActiveClassifier:
    """One classifier on offer.

    Attributes
    ----------
    title : how pages call it.
    make : makes an untrained classifier of scikit-learn's interface from a seed.
    online : whether it learns new rows by ``partial_fit``; else it is trained anew on all rows.
    summary : one sentence on what it is.
    """

    title: str
    make: Callable[[int], Any]
    online: bool
    summary: str


def _random_forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=50, random_state=seed)


def _mondrian_forest(seed: int) -> Any:
    from river.compat import convert_river_to_sklearn
    from river.forest import AMFClassifier

    return convert_river_to_sklearn(AMFClassifier(n_estimators=10, seed=seed))


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, random_state=seed))


def _network(seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), MLPClassifier((100,), max_iter=100, random_state=seed))


def _naive_bayes(seed: int) -> Any:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB()


CLASSIFIERS = {
    "forest": ActiveClassifier(
        "Random forest", _random_forest, False, "50 trees, grown anew on all labelled rows after each batch."
    ),
    "mondrian": ActiveClassifier(
        "Mondrian forest",
        _mondrian_forest,
        True,
        "10 Mondrian trees that grow with each row, their prunings averaged (Mourtada et al. 2021); slow.",
    ),
    "logistic": ActiveClassifier(
        "Logistic regression", _logistic, False, "A linear model of the standardised features."
    ),
    "network": ActiveClassifier(
        "Neural network", _network, False, "One hidden layer of 100 on the standardised features."
    ),
    "naive_bayes": ActiveClassifier(
        "Naive Bayes", _naive_bayes, True, "A Gaussian for each class and feature; very overconfident."
    ),
}
"""By the name used in plans; the first is what pages begin with."""


def classifier(name: str, seed: int) -> tuple[Any, bool]:
    """An untrained classifier by name, and whether it learns online.

    Raises
    ------
    CalibrationError
        If there is none of this name, or its package is not installed.
    """
    if name not in CLASSIFIERS:
        raise CalibrationError(f"There is no classifier {name!r}; choose from {', '.join(CLASSIFIERS)}.")
    chosen = CLASSIFIERS[name]
    try:
        return chosen.make(seed), chosen.online
    except ModuleNotFoundError as error:
        raise CalibrationError(missing_package(error)) from error
