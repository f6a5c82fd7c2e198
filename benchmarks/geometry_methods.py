"""What says how sure a prediction is: the separation, or a calibrator of the classifier's own confidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.geometry_splits import Split
from calib.metrics import ece
from calib.metrics.binning import BINNINGS, equal_width_edges
from calib.metrics.corp import calibrated_outcomes
from calib.numerics import Floats, bin_index
from calib.registry import calibrator

N_BINS = 15
N_DRAWS = 200
"""Outcomes drawn for the error that is chance."""

ON_CPU = {"device": "cpu"}


@dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes
    ----------
    title : what it is called in tables.
    name, params : of the calibrator in the registry, or of bins.
    learns_from : "inputs" and the training set; the "outputs" for all classes; or the "confidence" in the predicted
        class and whether it was right (top-label calibration, Gupta and Ramdas 2021), also in "bins".
    """

    title: str
    name: str
    params: dict[str, Any] = field(default_factory=dict)
    learns_from: str = "confidence"

    def confidence(self, split: Split) -> Floats:
        """Confidence in the predicted class of each row to be scored, (n,)."""
        if self.learns_from == "bins":
            return binned_rates(*split.confidence, split.right[0], self.params["n_bins"], self.name)
        made = calibrator(self.name, **self.params)
        if self.learns_from == "confidence":
            told, asked = split.top_label_logits
            return made.fit(told, split.right[0].astype(int)).predict_proba(asked)[:, 1]
        logits, asked = split.logits
        if self.learns_from == "outputs":
            return made.fit(logits, split.labels[0]).predict_proba(asked).max(axis=1)
        features, asked_features = split.features
        training = {"train_features": split.train_features, "train_labels": split.train_labels}
        made.fit(logits, split.labels[0], features=features, **training)
        return made.predict_confidence(asked, features=asked_features)


def binned_rates(told: Floats, asked: Floats, right: Any, n_bins: int, scheme: str) -> Floats:
    """Histogram binning as the paper has it: the share of right rows in the bin of a confidence.

    Parameters
    ----------
    told, right : (m,) confidences and whether the predictions were right; the bins are those of ``told``.
    asked : (n,) confidences, which become (n,) shares; a bin that held none has the value of its middle.
    scheme : a name in :data:`calib.metrics.binning.BINNINGS`.
    """
    edges = BINNINGS[scheme](told, n_bins)
    index = bin_index(told, edges)
    counts, hits = np.bincount(index, minlength=n_bins), np.bincount(index, weights=right, minlength=n_bins)
    rates = np.divide(hits, counts, out=(np.arange(n_bins) + 0.5) / n_bins, where=counts > 0)
    return rates[bin_index(asked, edges)]


def separation(title: str, **params: Any) -> Method:
    """A way to calibrate by geometric separation."""
    return Method(title, "geometric", params, "inputs")


FAST, EXACT = separation("fast"), separation("exact", exact=True)

SEPARATIONS = [FAST, EXACT, separation("fast + sigmoid", map="sigmoid"), separation("combined", signal="combined")]

NORMS = [separation("L1", distance="l1"), separation("Linf", distance="linf")]
"""The other distances of the paper's table 1."""

BASELINES = [
    Method("isotonic", "isotonic"),
    Method("Platt", "platt"),
    Method("Platt on the score", "platt", {"input": "score"}),
    Method("scaling-binning", "scaling_binning"),
    Method("histogram, 50 wide", "equal_width", {"n_bins": 50}, "bins"),
    Method("histogram, 50 full", "equal_mass", {"n_bins": 50}, "bins"),
    Method("histogram, 7 full", "equal_mass", {"n_bins": 7}, "bins"),
    Method("BBQ", "bbq", {}),
    Method("beta", "beta"),
    Method("temperature", "temperature", ON_CPU, "outputs"),
    Method("ensemble temperature", "ensemble_temperature", {}, "outputs"),
]
"""Those of the paper's table 2; with the score Platt's curve is over the probability, as scikit-learn has it for trees.
Histograms have bins of equal width or of equal mass: seven of the 359 rows of digits hold about 50 each."""

UNCALIBRATED, CONSTANT = "uncalibrated", "constant"
"""The classifier's own confidence, and the share of right calibration rows whatever the row."""


def all_confidences(split: Split, methods: list[Method]) -> dict[str, Floats]:
    """Confidence by title, with the two that learn nothing about single rows."""
    return {
        UNCALIBRATED: split.confidence[1],
        CONSTANT: np.full(len(split.labels[1]), split.right[0].mean()),
        **{method.title: method.confidence(split) for method in methods},
    }


def scores(confidence: Floats, right: Any) -> dict[str, float]:
    """Calibration error and Brier score of (n,) confidences, in percent.

    ``chance`` is the error to be expected from as many rows if every confidence were exactly right.
    """
    bins = bin_index(confidence, equal_width_edges(confidence, N_BINS))
    count, mean, drawn = calibrated_outcomes(confidence, np.unique(bins, return_inverse=True)[1], N_DRAWS)
    return {
        "ece": 100 * ece(confidence, right, N_BINS),
        "chance": 100 * float(np.abs(drawn - count * mean).sum(axis=1).mean()) / len(right),
        "brier": 100 * float(np.mean((confidence - right) ** 2)),
    }
