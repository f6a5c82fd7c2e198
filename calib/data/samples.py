"""The data sets that come with the project, and the known calibration functions of the simulated ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calib.data.loading import load_quietly
from calib.data.predictions import Predictions
from calib.errors import DataError, Finding
from calib.numerics import Floats, Ints, softmax
from calib.settings import studio

BEND = 4.0
"""Logit above which the simulated model begins to exaggerate."""

CURVATURE = 0.06
"""Factor of the squared excess over :data:`BEND`."""


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


def bayes_iso_map(scores: Floats) -> Floats:
    """True probability of class 1 at each score of the synthetic task of Allikivi and Kull (2019), section 5.1.

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
    groups : column of its table whose values are the subgroups; empty where none has to be named.
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
    groups: str = ""
    build: Callable[[], tuple[Floats, np.ndarray]] | None = None
    true_latent: TrueFunction | None = None
    true_map: TrueFunction | None = None

    @property
    def file(self) -> str:
        """Name of its file in the folder of samples."""
        return self.name + self.ending


KNOWN: dict[str, dict[str, Any]] = {
    "simulated-answers": {"groups": "model"},
    "simulated-binary": {"true_map": bayes_iso_map},
    "simulated-100": {"true_latent": undo_exaggeration},
    "simulated-1000": {
        "build": lambda: exaggerated_logits(2000, 1000, seed=0),
        "true_latent": undo_exaggeration,
    },
}
"""Known functions of simulated samples, and the maker of one."""

_FACTS = json.loads(Path(__file__).with_name("samples.json").read_text(encoding="utf-8"))
SAMPLES = {name: Sample(name, **of, **KNOWN.get(name, {})) for name, of in _FACTS.items()}
"""Samples in the order of display; the first one shows every page at its best, since it carries features."""


def load_sample(name: str) -> Predictions:
    """Load a sample as an upload is loaded, with the same checks and findings.

    Parameters
    ----------
    name : str
        Such as "digits-cnn"; the error for another name lists all of them.

    Returns
    -------
    Predictions
        With labels.

    Raises
    ------
    DataError
        For a name that does not exist, or where the folder of samples was not installed.

    Examples
    --------
    >>> import calib
    >>> data = calib.load_sample("digits-cnn")
    >>> len(data), data.kind
    (1547, 'logits')
    """
    sample = sample_named(name)
    if sample.build is None:
        roles = {"group": sample.groups} if sample.groups else None
        predictions = load_quietly(_find(sample.file), roles=roles)
    else:
        logits, labels = sample.build()
        class_names = [f"class {k:03d}" for k in range(sample.n_classes)]
        packed = io.BytesIO()
        np.savez(packed, logits=logits, labels=labels, class_names=class_names)
        packed.seek(0)
        predictions = load_quietly((f"{name}.npz", packed))
    return replace(predictions, name=sample.title)


def sample_named(name: str) -> Sample:
    """The sample of a name; refused where there is none."""
    if name in tuple(SAMPLES):
        return SAMPLES[name]
    action = f"Choose from {', '.join(SAMPLES)}."
    raise DataError([Finding("error", "unknown_sample", f"There is no sample {name!r}.", action)])


def _find(file: str) -> Path:
    path = studio() / FOLDER / file
    if path.is_file():
        return path
    reason = f"The sample file {FOLDER}/{file} is not in {studio()}: this copy is not whole."
    raise DataError([Finding("error", "sample_not_found", reason, "Install it anew.")])
