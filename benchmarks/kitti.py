"""The KITTI tables of Wenger et al. (2020): S2 and S3 with two classes, and eight classes with zeros.

    python -m benchmarks.kitti --data ../shared/data/kitti_data.zip [--folds 10] [--models xgboost forest network]

``--data`` is the archive ``kitti_data.zip`` of the authors' public repository (JonathanWenger/pycalib). Classifiers are
trained on its training file and calibrated on random 1000 rows of its test file, scored on 8000 others. XGBoost is used
where it is installed (``benchmarks/requirements.txt``), and scikit-learn's gradient boosting in its place where not.
Mondrian forests are in no maintained package, and AdaBoost's SAMME.R of the paper is gone from scikit-learn.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.folds import Column, Scores, agrees, beside, cell, columns, score_folds
from benchmarks.measure import machine, markdown
from benchmarks.wenger2020 import KITTI_8_NLL, KITTI_ACCURACY, KITTI_ECE
from calib.canonical import to_canonical, zero_floor
from calib.numerics import Floats, Ints

try:
    from xgboost import XGBClassifier
except ModuleNotFoundError:
    XGBClassifier = None

N_CLASSES = 8
JUDGED = ("XGBoost", "Random Forest", "1 layer NN")
"""Classifiers that are trained as in the paper; AdaBoost cannot be."""

BOOSTING: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3, "random_state": 1}


def boosting() -> Any:
    """XGBoost with its exact trees, the only ones of the paper's day; or the nearest that scikit-learn has."""
    if XGBClassifier is None:
        return GradientBoostingClassifier(**BOOSTING)
    return XGBClassifier(**BOOSTING, tree_method="exact", n_jobs=1)


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


def verdict(here: dict[str, dict[str, Scores]]) -> str:
    """How many cells of table S3 hold, in a sentence."""
    cells = {
        (model, title): agrees("ece", scores.ece, KITTI_ECE[model].get(title))
        for model in JUDGED
        for title, scores in here.get(model, {}).items()
        if title != "Uncal." and title in KITTI_ECE[model]
    }
    missed = ", ".join(f"{model} / {title}" for (model, title), holds in cells.items() if not holds)
    return (
        f"{sum(cells.values())} of {len(cells)} cells of {', '.join(JUDGED)} lie within two of the paper's standard "
        f"deviations or better{f'; not {missed}' if missed else ''}."
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

    # The paper's kernel is on the probabilities of these classifiers; on log p it does not depend on the zeros.
    methods = [*columns("probs"), Column("GPcalib log p", "gpcalib", {"inputs": "logits", "device": "cpu"})]
    two = all_scores(data, arguments.models, 2, methods, **folds)
    eight = all_scores(data, [m for m in arguments.models if m != "adaboost"], N_CLASSES, columns("logits"), **folds)

    missing = (
        " XGBoost is not installed: its rows are scikit-learn's gradient boosting." if XGBClassifier is None else ""
    )
    print(machine("xgboost-cpu") + missing)
    header = ["classifier", "", *(method.title for method in methods)]
    print("\nTable S3, two classes: ECE with 100 bins in the paper's convention.\n")
    print(markdown(header, beside("ece", two, KITTI_ECE), left=2))
    print(f"\n{verdict(two)} `*`: worse than that. Temperature is on log p here, on p in the paper.")
    print("\nTable S2, two classes: accuracy.\n")
    print(markdown(header, beside("accuracy", two, KITTI_ACCURACY), left=2))
    print("\nEight classes, zeros at half the smallest positive probability, the kernel on log p.\n")
    print(markdown(["classifier", "", *(m.title for m in columns("logits"))], eight_class_rows(eight), left=2))


if __name__ == "__main__":
    main()
