"""Make the files of ``sample_data``: ``python -m sample_data.make_samples [NAME ...]`` from the repository root.

Everything is seeded and nothing is downloaded. The files are shipped, so this is run only to change them; the
small Keras network needs TensorFlow, the rest scikit-learn. It prints the rows of README.md's table.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from calib.calibrators.temperature import TemperatureScaling
from calib.data.samples import SAMPLES, bayes_iso_scores, exaggerated_logits, load_sample
from calib.numerics import Floats, Ints, softmax

FOLDER = Path(__file__).resolve().parent
Arrays = dict[str, Any]

N_TRAIN = 250
"""Digits to train on. So few of the 1797, so that 1547 are left out of sample and some of them are mistaken."""

DIGIT_NAMES = [f"digit {digit}" for digit in range(10)]


def digits() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pixels in [0, 1] and labels of the training digits, then of the digits predicted; the same for every model.

    Pixels come as rows of 64, as scikit-learn's models take them.
    """
    data = load_digits()
    pixels = (data.data / 16).astype(np.float32)
    train, rest, train_labels, labels = train_test_split(
        pixels, data.target, train_size=N_TRAIN, stratify=data.target, random_state=0
    )
    return train, train_labels, rest, labels


def images() -> Arrays:
    """What every digits file carries beside its outputs: the images of the digits predicted and the training set."""
    train, train_labels, rest, _ = digits()
    return {
        "features": rest.reshape(-1, 8, 8),
        "train_features": train.reshape(-1, 8, 8),
        "train_labels": train_labels,
    }


def digits_cnn() -> Arrays:
    """Logits of a small Keras CNN trained for 100 epochs, long after its training accuracy reached 1."""
    import keras

    train, train_labels, rest, labels = digits()
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(64, activation="relu"),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(3e-3), loss)
    model.fit(train.reshape(-1, 8, 8, 1), train_labels, epochs=100, batch_size=32, verbose=0)
    return {
        "logits": model.predict(rest.reshape(-1, 8, 8, 1), verbose=0),
        "labels": labels,
        "class_names": DIGIT_NAMES,
        **images(),
    }


def digits_forest() -> Arrays:
    """Probabilities of a random forest of 100 trees, many of them exactly zero."""
    train, train_labels, rest, labels = digits()
    model = RandomForestClassifier(100, random_state=0).fit(train, train_labels)
    return {
        "probabilities": model.predict_proba(rest).astype(np.float32),
        "labels": labels,
        "class_names": DIGIT_NAMES,
        **images(),
    }


def digits_mlp() -> Arrays:
    """Probabilities of a scikit-learn MLP trained for 2000 epochs without regularisation."""
    train, train_labels, rest, labels = digits()
    model = MLPClassifier((100,), alpha=0, learning_rate_init=3e-3, max_iter=2000, tol=0, random_state=0)
    model.set_params(n_iter_no_change=model.max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is meant to run to the end
        model.fit(train, train_labels)
    return {
        "probabilities": model.predict_proba(rest).astype(np.float32),
        "labels": labels,
        "class_names": DIGIT_NAMES,
        **images(),
    }


def odd_digits_adaboost() -> Arrays:
    """Probability that a digit is odd, from AdaBoost with 100 decision stumps; one binary column."""
    train, train_labels, rest, labels = digits()
    stump = DecisionTreeClassifier(max_depth=1)
    model = AdaBoostClassifier(stump, n_estimators=100, random_state=0).fit(train, train_labels % 2)
    return {
        "probabilities": model.predict_proba(rest)[:, 1].astype(np.float32),
        "labels": labels % 2,
        "class_names": ["even", "odd"],
        **images(),
        "train_labels": train_labels % 2,
    }


def breast_cancer_bayes() -> Arrays:
    """Log-probabilities of Gaussian naive Bayes, each row predicted by the one of five folds that left it out."""
    data = load_breast_cancer()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    log_probs = cross_val_predict(GaussianNB(), data.data, data.target, cv=folds, method="predict_log_proba")
    return {
        "log_probabilities": log_probs.astype(np.float32),
        "labels": data.target,
        "class_names": [str(name) for name in data.target_names],
    }


def simulated_binary() -> Arrays:
    """Scores of the synthetic task of the Bayes-Iso paper, one binary column of probabilities."""
    scores, labels = bayes_iso_scores(n_per_class=2000, seed=0)
    return {"probabilities": scores.astype(np.float32), "labels": labels, "class_names": ["negative", "positive"]}


def simulated_100() -> Arrays:
    """Logits of 100 classes, perfectly calibrated before they were exaggerated."""
    logits, labels = exaggerated_logits(2500, 100, seed=0)
    return {"logits": logits, "labels": labels, "class_names": [f"class {k:02d}" for k in range(100)]}


MAKERS = {
    maker.__name__.replace("_", "-"): maker
    for maker in (
        digits_cnn, digits_forest, digits_mlp, odd_digits_adaboost, breast_cancer_bayes, simulated_binary, simulated_100
    )
}  # fmt: skip


def pool_arrays(name: str) -> Arrays:
    """The arrays of one file as they are stored: labels as bytes, names as text."""
    arrays = MAKERS[name]()
    for key in ("labels", "train_labels"):
        if key in arrays:
            arrays[key] = arrays[key].astype(np.uint8)
    return {key: np.asarray(value) for key, value in arrays.items()}


def nll(probs: Floats, labels: Ints) -> float:
    """Mean negative log-probability of the true class, in nats."""
    return -float(np.log(probs[np.arange(len(labels)), labels]).mean())


def table_row(name: str) -> str:
    """One row of README.md's table: NLL on every second row, the temperature fitted on the others."""
    data = load_sample(name)
    logits, labels = data.logits.astype(np.float64), data.labels
    probs = softmax(logits)
    scaling = TemperatureScaling().fit(logits[::2], labels[::2])
    cells = [
        name,
        data.kind,
        f"{len(data)} x {data.n_classes}",
        f"{np.mean(probs.argmax(axis=1) == labels):.3f}",
        f"{probs.max(axis=1).mean():.3f}",
        f"{scaling.temperature_:.3f}",
        f"{nll(probs[1::2], labels[1::2]):.3f}",
        f"{nll(scaling.predict_proba(logits[1::2]), labels[1::2]):.3f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for name in sys.argv[1:] or MAKERS:
        path = FOLDER / f"{name}.npz"
        np.savez_compressed(path, **pool_arrays(name))
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    for name in SAMPLES:
        print(table_row(name))
