"""The KITTI table of Wenger et al. (2020), S3, with two classes.

    python -m benchmarks.kitti --data kitti_data.zip [--folds 10] [--models xgboost forest network]

``--data`` is the archive ``kitti_data.zip`` of the authors' public repository (JonathanWenger/pycalib). Classifiers are
trained on its training file and calibrated on random 1000 rows of its test file, scored on 8000 others. XGBoost is used
where it is installed (``benchmarks/requirements.txt``), and scikit-learn's gradient boosting in its place where not.
Mondrian forests are in no maintained package, and AdaBoost's SAMME.R of the paper is gone from scikit-learn.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks.folds import agrees, beside, columns, score_folds
from benchmarks.measure import machine, markdown
from benchmarks.wenger2020 import KITTI_ECE
from calib.canonical import to_canonical, zero_floor
from calib.numerics import Floats, Ints

try:
    import xgboost
except ModuleNotFoundError:
    xgboost = None

N_CLASSES = 8

BOOSTING: dict[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "max_depth": 3,
    "random_state": 1,
}


def boosting() -> Any:
    """XGBoost with its exact trees, the only ones of the paper's day; or the nearest that scikit-learn has."""
    if xgboost is None:
        return GradientBoostingClassifier(**BOOSTING)
    return xgboost.XGBClassifier(**BOOSTING, tree_method="exact", n_jobs=1)


MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    "xgboost": ("XGBoost", boosting),
    "forest": ("Random Forest", lambda: RandomForestClassifier(n_estimators=100, random_state=1)),
    "network": ("1 layer NN", lambda: MLPClassifier((100,), random_state=1)),
}
"""By the name on the command line: the paper's name, and what makes it."""


def read(path: str | Path) -> tuple[Floats, Ints, Floats, Ints]:
    """Features and labels of the training file, then of the test file."""
    with ZipFile(path) as archive:
        parts = [
            _matrix(archive.read(f"kitti_features/kitti_all_{part}.{what}"))
            for part in ("train", "test")
            for what in ("data", "labels")
        ]
    train, train_labels, test, test_labels = parts
    return train, train_labels.astype(int).ravel(), test, test_labels.astype(int).ravel()


def _matrix(content: bytes) -> Floats:
    """Numbers parted by white space, the number of rows and columns first."""
    rows, n_columns, *values = content.split()
    return np.array(values, dtype=float).reshape(int(rows), int(n_columns))


def outputs(model: Any, train: Floats, labels: Ints, test: Floats, n_classes: int) -> Floats:
    """Log-probabilities of a trained classifier, (n, n_classes); zeros stand for half the smallest positive value.

    A class without training rows has a column of zeros.
    """
    present, encoded = np.unique(labels, return_inverse=True)
    probs = np.zeros((len(test), n_classes))
    with warnings.catch_warnings():
        # The paper's network stops after 200 epochs too.
        warnings.simplefilter("ignore", ConvergenceWarning)
        probs[:, present] = model.fit(train, encoded).predict_proba(test)
    return to_canonical(probs, "probabilities", zero_floor(probs))


def main() -> None:
    """Train, calibrate and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="kitti_data.zip")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    arguments = parser.parse_args()
    train, train_labels, test, labels = read(arguments.data)
    methods = columns("probs")  # for classifiers that give probabilities the paper's kernel is on p
    found = {}
    for name in arguments.models:
        title, make = MODELS[name]
        print(f"{title} ...", file=sys.stderr, flush=True)
        logits = outputs(make(), train, train_labels > 0, test, 2)
        folds = {"n_folds": arguments.folds, "n_calibration": 1000, "n_test": 8000}
        found[title] = score_folds(logits, (labels > 0).astype(int), methods, **folds)

    missing = "XGBoost is not installed: its rows are scikit-learn's gradient boosting."
    print(machine(), missing if xgboost is None else f"XGBoost {xgboost.__version__}.")
    print("\nTable S3, two classes: ECE with 100 bins in the paper's convention.\n")
    print(
        markdown(
            ["classifier", "", *(method.title for method in methods)],
            beside(found, KITTI_ECE),
            left=2,
        )
    )
    # The raw model has no interval in the paper.
    holds = [agrees(errors, KITTI_ECE[model][title]) for model, ours in found.items()
             for title, errors in ours.items() if title != "Uncal."]  # fmt: skip
    print(
        f"\n{sum(holds)} of {len(holds)} cells lie within two of the paper's standard deviations or are better; `*`: "
        "worse. Temperature is on log p here, on p in the paper."
    )


if __name__ == "__main__":
    main()
