"""The KITTI tables of Wenger et al. (2020): S2 and S3 with two classes, and eight classes with zeros.

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
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier

from benchmarks.folds import Column, Scores, agrees, beside, cell, columns, score_folds
from benchmarks.measure import machine, markdown
from benchmarks.wenger2020 import KITTI_8_NLL, KITTI_ACCURACY, KITTI_ECE, Printed
from calib.canonical import to_canonical, zero_floor
from calib.numerics import Floats, Ints

try:
    import xgboost
except ModuleNotFoundError:
    xgboost = None

N_CLASSES = 8
JUDGED = ("XGBoost", "Random Forest", "1 layer NN")
"""Classifiers that are trained as in the paper; AdaBoost cannot be."""

BOOSTING: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3, "random_state": 1}


def boosting() -> Any:
    """XGBoost with its exact trees, the only ones of the paper's day; or the nearest that scikit-learn has."""
    if xgboost is None:
        return GradientBoostingClassifier(**BOOSTING)
    return xgboost.XGBClassifier(**BOOSTING, tree_method="exact", n_jobs=1)


MODELS: dict[str, tuple[str, Callable[[], Any]]] = {
    "adaboost": ("AdaBoost", lambda: AdaBoostClassifier(n_estimators=100, random_state=1)),
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
    return to_canonical(probs, "probabilities", zero_floor(float(probs[probs > 0].min()), n_classes))


def all_scores(
    data: tuple[Floats, Ints, Floats, Ints], models: list[str], n_classes: int, methods: list[Column], **folds: int
) -> dict[str, dict[str, Scores]]:
    """Scores by classifier and column."""
    train, train_labels, test, labels = data
    if n_classes == 2:
        train_labels, labels = (train_labels > 0).astype(int), (labels > 0).astype(int)
    found = {}
    for name in models:
        title, make = MODELS[name]
        print(f"{title}, {n_classes} classes ...", file=sys.stderr, flush=True)
        logits = outputs(make(), train, train_labels, test, n_classes)
        found[title] = score_folds(logits, labels, methods, **folds)
    return found


def verdict(score: str, here: dict[str, dict[str, Scores]], printed: Printed) -> str:
    """How many cells of a table of the paper hold, in a sentence; the raw model's has no interval there."""
    holds = {
        f"{model} / {title}": agrees(score, getattr(scores, score), printed[model][title])
        for model in JUDGED
        for title, scores in here.get(model, {}).items()
        if title in printed[model] and title != "Uncal."
    }
    missed = [name for name, held in holds.items() if not held]
    other = f"; not {', '.join(missed)}" if missed else ""
    models = ", ".join(model for model in JUDGED if model in here)
    return (
        f"{len(holds) - len(missed)} of {len(holds)} cells of {models} lie within two of the paper's standard "
        f"deviations or are better{other}."
    )


def eight_class_rows(here: dict[str, dict[str, Scores]]) -> list[list[str]]:
    """NLL beside that of the authors' code, then calibration error and accuracy."""
    rows = []
    for model, methods in here.items():
        rows.append([model, "NLL", *(cell(scores.nll) for scores in methods.values())])
        reference = KITTI_8_NLL.get(model, {})
        if reference:
            rows.append(["", "authors' code", *(f"{reference[t]:.4f}" if t in reference else "–" for t in methods)])
        rows.append(["", "ECE", *(cell(scores.ece) for scores in methods.values())])
        rows.append(["", "accuracy", *(cell(scores.accuracy) for scores in methods.values())])
    return rows


def main() -> None:
    """Train, calibrate and print the three tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, help="kitti_data.zip")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    arguments = parser.parse_args()
    data = read(arguments.data)
    folds = {"n_folds": arguments.folds, "n_calibration": 1000, "n_test": 8000}

    # For classifiers that give probabilities the paper's kernel is on p; calib's default, on log p, stands last.
    methods = [*columns("probs"), Column("GPcalib log p", "gpcalib", {"inputs": "logits", "device": "cpu"})]
    two = all_scores(data, arguments.models, 2, methods, **folds)
    eight = all_scores(data, [m for m in arguments.models if m != "adaboost"], N_CLASSES, columns("logits"), **folds)

    missing = "XGBoost is not installed: its rows are scikit-learn's gradient boosting."
    print(machine(), missing if xgboost is None else f"XGBoost {xgboost.__version__}.")
    header = ["classifier", "", *(method.title for method in methods)]
    print("\nTable S3, two classes: ECE with 100 bins in the paper's convention.\n")
    print(markdown(header, beside("ece", two, KITTI_ECE), left=2))
    print(f"\n{verdict('ece', two, KITTI_ECE)} `*`: worse. Temperature is on log p here, on p in the paper.")
    print("\nTable S2, two classes: accuracy.\n")
    print(markdown(header, beside("accuracy", two, KITTI_ACCURACY), left=2))
    print(f"\n{verdict('accuracy', two, KITTI_ACCURACY)}")
    print("\nEight classes, zeros at half the smallest positive probability, the kernel on log p.\n")
    print(markdown(["classifier", "", *(m.title for m in columns("logits"))], eight_class_rows(eight), left=2))


if __name__ == "__main__":
    main()
