"""The data sets that come with the project, and the known calibration functions of the simulated ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calib.data.loading import load_quietly
from calib.data.predictions import Predictions
from calib.errors import DataError, Finding
from calib.numerics import Floats
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
    groups: str = ""
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
}
"""Known functions of simulated samples, and a role that has to be named."""

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
    roles = {"group": sample.groups} if sample.groups else None
    predictions = load_quietly(_find(sample.file), roles=roles)
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
