"""The data sets that come with the project, each one call away, and the truth behind the simulated ones."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calib.data.load import load
from calib.data.predictions import DataError, Finding, Predictions
from calib.data.simulated import bayes_iso_map, exaggerated_logits, undo_exaggeration
from calib.numerics import Floats

TrueFunction = Callable[[Floats], Floats]
"""Maps an array of any shape elementwise; increasing."""

FOLDER = "sample_data"


@dataclass(frozen=True)
class Sample:
    """One data set that comes with the project.

    Attributes
    ----------
    name : what :func:`load_sample` is given; the stem of its file.
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
    simulated: bool = False
    features: str = ""
    build: Callable[[], tuple[Floats, np.ndarray]] | None = None
    true_latent: TrueFunction | None = None
    true_map: TrueFunction | None = None


DIGITS = "8 x 8 images of the digits predicted and of the 250 trained on"

# The order is the order of display; the first one shows every page at its best, since it carries features.
_SAMPLES = (
    Sample(
        "digits-cnn",
        "Digits, convolutional network",
        "Logits of a small Keras network trained far too long on 250 handwritten digits, for 1547 others.",
        "Overconfidence: its average confidence lies well above its accuracy, and one temperature mends most of it.",
        1547,
        10,
        features=DIGITS,
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
    """Read a sample through the same door as an upload, so that its findings are what an upload's would be.

    Raises
    ------
    DataError
        For a name that does not exist, or where the folder of samples was not installed.
    """
    sample = _sample(name)
    if sample.build is None:
        predictions = load(_find(f"{name}.npz"))
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
    # Beside the package in a checkout; under the working directory where only the package was installed.
    for root in (Path(__file__).resolve().parents[2], Path.cwd()):
        path = root / FOLDER / file
        if path.is_file():
            return path
    message = (
        f"The sample file {FOLDER}/{file} was not found: the samples are part of the repository, not of the package."
    )
    raise DataError([Finding("error", "sample_not_found", message, "Run from the repository's root.")])
