"""The data sets that come with the project, and the known calibration functions of the simulated ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calib.data.load import load
from calib.data.predictions import Predictions
from calib.errors import DataError, Finding
from calib.numerics import Floats, Ints, softmax
from calib.settings import studio

BEND = 4.0
"""Logit above which the simulated model begins to exaggerate."""

CURVATURE = 0.06
"""How fast it exaggerates: the factor of the squared excess over :data:`BEND`."""


def exaggerate(logits: Floats) -> Floats:
    """Logits as an overconfident model reports them: ``h(l) = l + 0.06 max(l - 4, 0)^2``.

    Strictly increasing, so no ranking changes, and the identity up to :data:`BEND`, so that no single
    temperature can undo it.
    """
    excess = np.maximum(logits - BEND, 0.0)
    return logits + CURVATURE * excess**2


def undo_exaggeration(logits: Floats) -> Floats:
    """The inverse of :func:`exaggerate`: the latent function of a perfect calibrator, up to a shift.

    Above the bend, ``h(l) - 4 = e + c e^2`` with the excess e = l - 4, a quadratic equation with the one
    positive root used here, in the form that does not cancel for small excesses.
    """
    excess = np.maximum(logits - BEND, 0.0)
    root = 2 * excess / (1 + np.sqrt(1 + 4 * CURVATURE * excess))
    return np.minimum(logits, BEND) + root


def exaggerated_logits(n: int, n_classes: int, seed: int) -> tuple[Floats, Ints]:
    """Logits of an overconfident classifier with a perfectly calibrated core.

    Every row has standard normal logits, one favoured class raised to ``log(n_classes) + U(0, 8)`` and three
    rivals between 0.5 and 5 below it. Labels are drawn from the softmax of these, which makes them perfectly
    calibrated by construction; what is returned has passed through :func:`exaggerate`.

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


def bayes_iso_scores(n_per_class: int, seed: int) -> tuple[Floats, Ints]:
    """Scores of the synthetic binary task of Allikivi and Kull (2019), section 5.1, table 1.

    Negatives come from Beta(1, 3), positives from Beta(1.5, 3) and Beta(30, 3) in equal parts by chance; the
    classes are exactly balanced.

    Returns
    -------
    scores : (2 * n_per_class,) floats in (0, 1), the probability the simulated model gives to class 1
    labels : (2 * n_per_class,) of 0 and 1, in random order
    """
    rng = np.random.default_rng(seed)
    second = rng.random(n_per_class) < 0.5
    positives = np.where(second, rng.beta(30, 3, n_per_class), rng.beta(1.5, 3, n_per_class))
    scores = np.concatenate([rng.beta(1, 3, n_per_class), positives])
    labels = np.repeat([0, 1], n_per_class)
    order = rng.permutation(2 * n_per_class)
    return scores[order], labels[order]


def bayes_iso_map(scores: Floats) -> Floats:
    """True probability of class 1 at each score of :func:`bayes_iso_scores`.

    The common factor (1 - s)^2 of the three densities cancels in their ratio, which leaves
    ``r(s) = 1.09375 sqrt(s) + 2480 s^29`` for positives against negatives (half the ratio of
    1 / B(1.5, 3) = 6.5625 and of 1 / B(30, 3) = 14880 to 1 / B(1, 3) = 3), and r / (1 + r).
    """
    ratio = 1.09375 * np.sqrt(scores) + 2480.0 * np.asarray(scores) ** 29
    return ratio / (1 + ratio)


TrueFunction = Callable[[Floats], Floats]
"""Maps an array of any shape elementwise; increasing."""

FOLDER = "sample_data"


@dataclass(frozen=True)
class Sample:
    """One data set that comes with the project.

    Attributes
    ----------
    name : what :func:`load_sample` is given; the stem of its file.
    ending : of its file; ".npz" for arrays, anything else for a table.
    title : how pages call it.
    description : one sentence on where it comes from.
    look_for : one sentence on what it shows.
    n_rows, n_classes : its size.
    simulated : whether it was drawn from known distributions instead of predicted by a model.
    features : what it carries as features, with the training set; empty if nothing.
    build : makes the labelled logits where that is quicker than storing them; None if there is a file.
    true_latent : for simulated logits, the latent function of a perfect calibrator, up to a shift.
    true_map : for simulated binary scores, the true probability of class 1 at each given probability.
    """

    name: str
    title: str
    description: str
    look_for: str
    n_rows: int
    n_classes: int
    ending: str = ".npz"
    simulated: bool = False
    features: str = ""
    build: Callable[[], tuple[Floats, np.ndarray]] | None = None
    true_latent: TrueFunction | None = None
    true_map: TrueFunction | None = None

    @property
    def file(self) -> str:
        """Name of its file in the folder of samples."""
        return self.name + self.ending


DIGITS = "8 x 8 images of the digits predicted and of the 250 trained on"

# The order is the order of display; the first one shows every page at its best, since it carries features.
_SAMPLES = (
    Sample(
        "digits-cnn",
        "Digits, convolutional network",
        "Logits of a small Keras network trained far too long on 250 handwritten digits, for 1547 others.",
        "Overconfidence: its average confidence lies well above its accuracy, and one temperature corrects most of it.",
        1547,
        10,
        features=DIGITS,
    ),
    Sample(
        "clinic-tumours",
        "Clinical risk table",
        "Risks of malignancy for 569 tumours, from naive Bayes on five measurements, each left out of its own fit.",
        "Risks that are nearly right on average and far too extreme, with a calibration slope near 0.5.",
        569,
        2,
        ending=".csv",
    ),
    Sample(
        "simulated-loans",
        "Loans, simulated",
        "4000 simulated loans of 60 branches with their probability of default, segment and exposure.",
        "Half as many defaults again as predicted, most of all among small firms; rows of one branch belong together.",
        4000,
        2,
        ending=".csv",
        simulated=True,
    ),
    Sample(
        "simulated-answers",
        "Language model answers, simulated",
        "Confidence of two simulated language models in their answers to 750 questions, and whether each is correct.",
        "Only nine values of confidence, and an accuracy that stays at 50\u00a0% where 70\u00a0% are stated.",
        1500,
        2,
        ending=".csv",
        simulated=True,
    ),
    Sample(
        "wine-forest",
        "Wines, random forest (spreadsheet)",
        "A spreadsheet of 178 wines with a random forest's probability of each of three cultivars.",
        "Underconfidence of shallow trees, in a file as it comes from a spreadsheet program.",
        178,
        3,
        ending=".xlsx",
    ),
    Sample(
        "digits-forest",
        "Digits, random forest",
        "Shares of the votes of 100 trees for the same 1547 digits, stored as probabilities.",
        "Underconfidence, and probabilities of exactly zero: see the floor they were raised to before the logarithm.",
        1547,
        10,
        features=DIGITS,
    ),
    Sample(
        "digits-mlp",
        "Digits, multilayer perceptron",
        "Probabilities of a scikit-learn network with one hidden layer, trained to the end on the same 250 digits.",
        "Overconfidence again, and what a file of float32 probabilities loses: many rows are rounded to exactly 1.",
        1547,
        10,
        features=DIGITS,
    ),
    Sample(
        "odd-digits-adaboost",
        "Odd or even digits, AdaBoost",
        "One column of probabilities that a digit is odd, from 100 boosted decision stumps.",
        "Strong underconfidence: nearly all probabilities lie between 0.3 and 0.7, in the S shape that Platt scaling "
        "was made for.",
        1547,
        2,
        features=DIGITS,
    ),
    Sample(
        "breast-cancer-bayes",
        "Breast cancer, naive Bayes",
        "Log-probabilities of Gaussian naive Bayes for 569 tumours, each left out of the fit that predicted it.",
        "Extreme overconfidence: thirty correlated measurements are counted as independent evidence, so most "
        "probabilities are within 1e-10 of 0 or 1.",
        569,
        2,
    ),
    Sample(
        "simulated-binary",
        "Binary scores, simulated",
        "The synthetic task of the Bayes-Iso paper: 4000 simulated scores of two balanced classes.",
        "The true calibration map is known: it is no logistic or beta curve, so isotonic methods come closest to it.",
        4000,
        2,
        simulated=True,
        true_map=bayes_iso_map,
    ),
    Sample(
        "simulated-100",
        "100 classes, simulated",
        "2500 simulated rows of calibrated logits whose excess above 4 was exaggerated.",
        "The true latent function is known: a straight line that bends at 4, which no single temperature can follow.",
        2500,
        100,
        simulated=True,
        true_latent=undo_exaggeration,
    ),
    Sample(
        "simulated-tokens",
        "Next tokens, simulated",
        "The 20 largest of 8000 logits for 1200 simulated next tokens, the log-sum of the others, the label's logit.",
        "How often the label is outside the 20: in 19\u00a0% of the rows, where the model says 6.5\u00a0%. Fits learn "
        "it.",
        1200,
        8000,
        simulated=True,
    ),
    Sample(
        "simulated-1000",
        "1000 classes, simulated",
        "2000 simulated rows like those with 100 classes, drawn from their seed at the moment they are loaded.",
        "How fast each method stays with 1000 classes, and how close it comes to the known latent function.",
        2000,
        1000,
        simulated=True,
        build=lambda: exaggerated_logits(2000, 1000, seed=0),
        true_latent=undo_exaggeration,
    ),
)

SAMPLES: dict[str, Sample] = {sample.name: sample for sample in _SAMPLES}


def load_sample(name: str) -> Predictions:
    """Load a sample as an upload is loaded, with the same checks and findings.

    Raises
    ------
    DataError
        For a name that does not exist, or where the folder of samples was not installed.
    """
    sample = _sample(name)
    if sample.build is None:
        predictions = load(_find(sample.file))
    else:
        logits, labels = sample.build()
        class_names = [f"class {k:03d}" for k in range(sample.n_classes)]
        packed = io.BytesIO()
        np.savez(packed, logits=logits, labels=labels, class_names=class_names)
        packed.seek(0)
        predictions = load((f"{name}.npz", packed))
    return replace(predictions, name=sample.title)


def true_latent(name: str) -> TrueFunction | None:
    """The latent function of a perfect calibrator of this sample's logits, up to a shift; None where unknown."""
    return _sample(name).true_latent


def true_map(name: str) -> TrueFunction | None:
    """The true probability of class 1 as a function of the given probability of class 1; None where unknown."""
    return _sample(name).true_map


def _sample(name: str) -> Sample:
    if name not in SAMPLES:
        message = f"There is no sample {name!r}."
        raise DataError([Finding("error", "unknown_sample", message, f"Choose from {', '.join(SAMPLES)}.")])
    return SAMPLES[name]


def _find(file: str) -> Path:
    path = studio() / FOLDER / file
    if path.is_file():
        return path
    message = f"The sample file {FOLDER}/{file} is not in {studio()}: this copy of calib is not whole."
    raise DataError([Finding("error", "sample_not_found", message, "Install it anew.")])
