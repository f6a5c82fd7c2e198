"""Make the files of ``sample_data``: ``python -m sample_data.make_samples [NAME ...]`` from the repository root.

Everything is seeded and nothing is downloaded. The files are shipped, so this is run only to change them; the
small Keras network needs TensorFlow, the rest scikit-learn. It prints the rows of README.md's table.
"""

from __future__ import annotations

import csv
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    LeaveOneOut,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bayes_iso_table1 import bayes_iso_scores
from calib.calibrators.beta import BetaCalibration
from calib.calibrators.identity import Identity
from calib.calibrators.temperature import TemperatureScaling
from calib.data.samples import SAMPLES, exaggerate, load_sample
from calib.diagnostics.reliability import reliability_curve
from calib.evaluation import Evaluation
from calib.numerics import Floats, Ints, logsumexp, softmax

FOLDER = Path(__file__).resolve().parent
Arrays = dict[str, Any]

N_TRAIN = 250
"""Digits to train on. So few of the 1797, so that 1547 are left out of sample and some of them are mistaken."""

CLINIC_MEASUREMENTS = ("texture", "smoothness", "compactness", "symmetry", "fractal dimension")
"""What the clinical risk model looks at, of thirty measurements."""

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
    model = MLPClassifier(
        (100,), alpha=0, learning_rate_init=3e-3, max_iter=2000, tol=0, random_state=0
    )
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
    log_probs = cross_val_predict(
        GaussianNB(), data.data, data.target, cv=folds, method="predict_log_proba"
    )
    return {
        "log_probabilities": log_probs.astype(np.float32),
        "labels": data.target,
        "class_names": [str(name) for name in data.target_names],
    }


def simulated_binary() -> Arrays:
    """Scores of the synthetic task of the Bayes-Iso paper, one binary column of probabilities."""
    scores, labels = bayes_iso_scores(n_per_class=2000, seed=0)
    return {
        "probabilities": scores.astype(np.float32),
        "labels": labels,
        "class_names": ["negative", "positive"],
    }


def exaggerated_logits(n: int, n_classes: int, seed: int) -> tuple[Floats, Ints]:
    """Logits of an overconfident classifier with a perfectly calibrated core.

    Every row has standard normal logits, one favoured class raised to ``log(n_classes) + U(0, 8)`` and three
    rivals between 0.5 and 5 below it. Labels are drawn from the softmax of these, which makes them perfectly
    calibrated by construction; what is returned has passed through :func:`calib.data.samples.exaggerate`.

    Returns
    -------
    logits : (n, n_classes) float32
    labels : (n,) integers
    """
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((n, n_classes), dtype=np.float32)
    favoured = rng.integers(n_classes, size=n)
    strength = np.log(n_classes) + rng.uniform(0, 8, size=n)
    # Steps below n_classes / 3 keep the favoured class and its three rivals apart.
    step = rng.integers(1, n_classes // 3, size=n)
    rows = np.arange(n)
    for rival in range(1, 4):
        logits[rows, (favoured + rival * step) % n_classes] = strength - rng.uniform(0.5, 5, size=n)
    logits[rows, favoured] = strength
    # One uniform number per row against the cumulated probabilities: a tenth of the cost of n * K Gumbels.
    cumulated = np.cumsum(softmax(logits), axis=1, dtype=np.float64)
    labels = np.sum(cumulated < rng.uniform(size=(n, 1)) * cumulated[:, -1:], axis=1)
    return exaggerate(logits).astype(np.float32, copy=False), labels


def simulated_100() -> Arrays:
    """Logits of 100 classes, perfectly calibrated before they were exaggerated."""
    logits, labels = exaggerated_logits(2500, 100, seed=0)
    return {
        "logits": logits,
        "labels": labels,
        "class_names": [f"class {k:02d}" for k in range(100)],
    }


def simulated_tokens() -> Arrays:
    """The 20 largest of 8000 logits, which fall with the logarithm of a class's rank; labels at a temperature of 1.3.

    How steeply they fall differs by row, and the ranking does, so that the other classes are far from equal.
    """
    rng = np.random.default_rng(0)
    n, n_classes = 1200, 8000
    ranks = rng.permuted(np.tile(np.arange(1.0, n_classes + 1), (n, 1)), axis=1)
    logits = rng.normal(0, 0.7, size=ranks.shape) - rng.uniform(1.2, 3.0, size=(n, 1)) * np.log(
        ranks
    )
    labels = np.argmax(logits / 1.3 + rng.gumbel(size=logits.shape), axis=1)
    logits = logits.astype(np.float32).astype(np.float64)
    order = np.argsort(-logits, axis=1, kind="stable")
    falling = np.take_along_axis(logits, order, axis=1)
    return {
        "values": falling[:, :20].astype(np.float32),
        "indices": order[:, :20].astype(np.uint16),
        "rest": logsumexp(falling[:, 20:], axis=1).astype(np.float32),
        "labels": labels,
    }


Table = dict[str, list[Any]]
"""The columns of a table by name, as they are written."""


def clinic_tumours() -> Table:
    """Risks of malignancy from Gaussian naive Bayes on five measurements, each tumour left out of its own fit."""
    data = load_breast_cancer()
    chosen = [list(data.feature_names).index(f"mean {name}") for name in CLINIC_MEASUREMENTS]
    measured, malignant = data.data[:, chosen], 1 - data.target
    risk = cross_val_predict(
        GaussianNB(), measured, malignant, cv=LeaveOneOut(), method="predict_proba"
    )[:, 1]
    return {
        "patient_id": [f"P{row:03d}" for row in range(1, len(risk) + 1)],
        "mean_texture": [f"{value:.2f}" for value in measured[:, 0]],
        "risk": [f"{value:.15g}" for value in risk],
        "malignant": malignant.tolist(),
    }


def simulated_loans() -> Table:
    """Loans of 60 branches whose scores are too extreme, too low on average, and most so for one segment.

    With s the reported log-odds, the log-odds of a default are ``-0.6 + 0.7 s``, plus 0.5 for small and medium
    enterprises, plus a normal effect of the branch with standard deviation 0.35.
    """
    rng = np.random.default_rng(0)
    n, n_branches = 4000, 60
    branch = rng.integers(n_branches, size=n)
    segment = rng.choice(3, size=n, p=[0.6, 0.3, 0.1])
    exposure = np.exp(rng.normal(np.array([2.5, 4.0, 5.5])[segment], 0.7))
    scored = rng.normal(-3.2, 1.1, size=n)
    effect = rng.normal(0, 0.35, size=n_branches)[branch]
    happens = rng.random(n) < expit(-0.6 + 0.7 * scored + 0.5 * (segment == 1) + effect)
    return {
        "loan_id": [f"L{row:04d}" for row in range(1, n + 1)],
        "branch": [f"B{number:02d}" for number in branch],
        "segment": [("retail", "sme", "corporate")[number] for number in segment],
        "exposure": [f"{value:.2f}" for value in exposure],
        "pd": [f"{value:.6f}" for value in expit(scored)],
        "default": happens.astype(int).tolist(),
    }


def simulated_answers() -> Table:
    """Answers of two language models to the same 750 questions, each with a confidence in words of ten per cent.

    A question has a normal difficulty with standard deviation 1.2; the large model is 0.8 better. What is stated is the
    probability of a correct answer with its log-odds doubled and raised by 0.8, rounded to nine values.
    """
    rng = np.random.default_rng(0)
    n = 750
    difficulty = rng.normal(0, 1.2, size=n)
    stated = np.array([0.1, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
    columns: Table = {"question_id": [], "model": [], "confidence": [], "correct": []}
    for model, ability in (("m-large", 0.9), ("m-small", 0.1)):
        log_odds = ability - difficulty
        felt = expit(2 * (log_odds + rng.normal(0, 0.7, size=n)) + 0.8)
        columns["question_id"] += [f"Q{row:03d}" for row in range(1, n + 1)]
        columns["model"] += [model] * n
        columns["confidence"] += stated[np.abs(felt[:, None] - stated).argmin(axis=1)].tolist()
        columns["correct"] += [
            "true" if right else "false" for right in rng.random(n) < expit(log_odds)
        ]
    return columns


DECISIONS = "simulated-decisions.jsonl"
"""A log of six questions, of which no single data set is read."""


def simulated_decisions() -> list[dict[str, Any]]:
    """Answers of a simulated model to six questions about each of 1,500 messages, 400 of them with labels.

    Labels are drawn from the stated probabilities. Those of ``complaint`` are drawn from log-odds lower by 1, so that
    it is stated too often; those of ``department`` from the probabilities to the power 0.6, normalised: overconfident.
    Of ``department`` two in a hundred are refused.
    """
    rng = np.random.default_rng(0)
    choices = {
        "department": (("billing", "technical", "sales"), 2.5, 0.6),
        "language": (("en", "de", "fr"), 4.0, 1.0),
        "anger": (tuple("12345"), 1.5, 1.0),
    }
    predicates = {
        "urgent": (0.0, 1.6, 0.0),
        "complaint": (-0.5, 2.0, 1.0),
        "refund": (-2.5, 1.2, 0.0),
    }
    n = 1500
    labelled = np.isin(np.arange(n), rng.choice(n, 400, replace=False))
    rows = []
    for row in range(n):
        answers: dict[str, Any] = {}
        labels: dict[str, Any] = {}
        for name, (mean, spread, excess) in predicates.items():
            log_odds = rng.normal(mean, spread)
            probability = round(float(np.clip(expit(log_odds), 0.001, 0.999)), 3)
            answers[name] = {"type": "predicate", "probability": probability}
            labels[name] = bool(rng.random() < expit(log_odds - excess))
        for name, (values, spread, power) in choices.items():
            logits = rng.normal(0.0, spread, len(values))
            probs = np.exp(logits - logsumexp(logits))
            drawn = rng.choice(len(values), p=probs**power / (probs**power).sum())
            labels[name] = int(values[drawn]) if name == "anger" else values[drawn]
            stated = {value: round(float(p), 4) for value, p in zip(values, probs, strict=True)}
            kind = "score" if name == "anger" else "choice"
            answers[name] = {"type": kind, "probabilities": stated}
        if rng.random() < 0.02:
            answers["department"] = {"type": "refusal", "refusal": "not said"}
        record = {"id": f"M{row + 1:04d}", "model": "simulated-1.0", "answers": answers}
        rows.append(record | ({"labels": labels} if labelled[row] else {}))
    return rows


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    lines = (json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")


def wine_forest() -> Table:
    """Probabilities of a random forest of 50 shallow trees for 178 wines, by five folds, as a spreadsheet."""
    data = load_wine()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    forest = RandomForestClassifier(50, max_depth=2, random_state=0)
    probs = cross_val_predict(forest, data.data, data.target, cv=folds, method="predict_proba")
    names = [f"cultivar {number}" for number in (1, 2, 3)]
    return {
        "bottle": list(range(1, len(probs) + 1)),
        "cultivar": [names[label] for label in data.target],
        **{
            f"P({name})": [round(float(value), 6) for value in probs[:, k]]
            for k, name in enumerate(names)
        },
    }


MAKERS = {
    maker.__name__.replace("_", "-"): maker
    for maker in (
        digits_cnn, digits_forest, digits_mlp, odd_digits_adaboost, breast_cancer_bayes, simulated_binary,
        simulated_100, simulated_tokens,
    )
}  # fmt: skip
"""Those of arrays, written as npz."""

TABLES = {maker.__name__.replace("_", "-"): maker for maker in (
    clinic_tumours, simulated_loans, simulated_answers, wine_forest
)}  # fmt: skip
"""Those of tables, written as the format of their sample."""


def pool_arrays(name: str) -> Arrays:
    """The arrays of one file as they are stored: labels as the smallest integers, names as text."""
    arrays = MAKERS[name]()
    for key in ("labels", "train_labels"):
        if key in arrays:
            arrays[key] = arrays[key].astype(np.min_scalar_type(arrays[key].max()))
    return {key: np.asarray(value) for key, value in arrays.items()}


def write_table(path: Path, columns: Table) -> None:
    """Write a table as csv, or as a spreadsheet with one sheet."""
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        return
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    sheet = book.create_sheet("predictions")
    for row in rows:
        sheet.append(list(row))
    book.save(path)


BEFORE_AND_AFTER = "before_and_after"


def before_and_after() -> dict[str, list[list[float]]]:
    """The figure of the empty first page: mean risk and observed rate in seven bins of the clinical risk table.

    Of the half of the rows that calibrators are not fitted on, from the raw model and calibrated.
    """
    calibration, test = load_sample("clinic-tumours").split(0.5, random_state=0)
    happened, curves = test.labels == 1, {}
    for name, unfitted in (("raw", Identity()), ("beta", BetaCalibration())):
        risk = unfitted.fit(calibration.logits, calibration.labels).predict_proba(test.logits)[:, 1]
        curve = reliability_curve(risk, happened, n_bins=7, binning="equal_mass")
        curves[name] = np.round(np.stack([curve.confidence, curve.accuracy], axis=1), 4).tolist()
    return curves


def table_row(name: str) -> str:
    """One row of README.md's table: NLL on every second row, the temperature fitted on the others."""
    data = load_sample(name)
    scaling = TemperatureScaling().fit(data.logits[::2], data.labels[::2])
    raw = Evaluation.from_calibrator(
        Identity().fit(data.logits, data.labels), data.logits, data.labels
    )
    scaled = Evaluation.from_calibrator(scaling, data.logits[1::2], data.labels[1::2])
    cells = [
        name,
        data.kind,
        f"{len(data)} x {data.n_classes}",
        f"{raw.correct.mean():.3f}",
        f"{raw.confidence.mean():.3f}",
        f"{scaling.temperature_:.3f}",
        f"{raw.row_nll[1::2].mean():.3f}",
        f"{scaled.row_nll.mean():.3f}",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    for name in sys.argv[1:] or {**MAKERS, **TABLES, BEFORE_AND_AFTER: None, DECISIONS: None}:
        if name == DECISIONS:
            write_lines(FOLDER / name, simulated_decisions())
            continue
        if name == BEFORE_AND_AFTER:
            (FOLDER / f"{name}.json").write_text(json.dumps(before_and_after()) + "\n")
            continue
        path = FOLDER / SAMPLES[name].file
        if name in TABLES:
            write_table(path, TABLES[name]())
        else:
            np.savez_compressed(path, **pool_arrays(name))
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    for name in SAMPLES:
        print(table_row(name))
