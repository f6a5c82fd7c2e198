"""One division of a network's outputs into calibration and test rows, with every fit and score paid once."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calib import metrics
from calib.base import Calibrator
from calib.calibrators.imax import IMaxBinning
from calib.diagnostics.log_odds_density import (
    information_of_log_odds,
    joint_of_bins,
    label_entropy,
    log_odds_density,
    mutual_information,
)
from calib.evaluation.evaluation import evaluate
from calib.numerics import Floats, Ints, one_vs_rest_log_odds
from calib.registry import calibrator

NATS_PER_BIT = float(np.log(2.0))
N_TEST = 5000
EVALUATION_BINS = 15
OWN_BINS = 2000
"""So many equal bins that each number that shared bins say has one of its own."""


@dataclass(frozen=True)
class Method:
    """One row of a table.

    Attributes
    ----------
    title : how the row is called; the same fit may have several.
    name, params : registry name and hyper-parameters.
    n : calibration rows.
    source : the method whose probabilities the bins take over.
    """

    title: str = field(compare=False)
    name: str
    n: int
    params: tuple[tuple[str, Any], ...] = ()
    source: Method | None = None

    @property
    def binned(self) -> bool:
        """Whether it says a few numbers alone."""
        return self.name == "imax"


class Split:
    """Random rows to calibrate with and the last ``N_TEST`` of the same permutation to be judged on.

    Parameters
    ----------
    logits, labels : a network's outputs on rows it was not trained on.
    seed : of the permutation.
    """

    def __init__(self, logits: Floats, labels: Ints, seed: int):
        order = np.random.RandomState(seed).permutation(len(labels))
        self._logits, self._labels = logits[order], labels[order]
        self.labels = self._labels[-N_TEST:]
        self._test = self._logits[-N_TEST:]
        self.n_classes = logits.shape[1]
        self._fits: dict[Method, Calibrator] = {}
        self._scores: dict[Method, dict[str, float]] = {}
        positives = np.zeros(self._test.shape, dtype=bool)
        positives[np.arange(len(self._test)), self.labels] = True
        log_odds = one_vs_rest_log_odds(self._test)
        self._density = log_odds_density(log_odds.ravel(), np.sort(log_odds[positives]))

    @property
    def most_information(self) -> tuple[float, float]:
        """What the log-odds say about the label and what there is to say, in bits, by kernel densities."""
        return information_of_log_odds(self._density) / NATS_PER_BIT, label_entropy(self._density) / NATS_PER_BIT

    def probs(self, method: Method) -> Floats:
        """Probabilities of the test rows."""
        return self._fitted(method).predict_proba(self._test)

    def scores(self, method: Method) -> dict[str, float]:
        """All scores of one method, by the columns of the tables.

        The errors of bins are in the bins themselves, those of all else and the top-1 ECE of class-wise bins in 15 of
        equal width. ``raw`` says that ties are broken by the raw logits, else the first class wins.
        """
        if method not in self._scores:
            probs, labels = self.probs(method), self.labels
            scored, ranked = evaluate(probs, labels), evaluate(probs, labels, self._test)  # rows need not sum to one
            fitted = self._fitted(method)
            shared = method.binned and getattr(fitted, "share_classes", False)
            top_bins = OWN_BINS if shared else EVALUATION_BINS
            class_bins = OWN_BINS if method.binned else EVALUATION_BINS
            self._scores[method] = {
                "top1": 100 * scored.correct.mean(),
                "top1 raw": 100 * ranked.correct.mean(),
                "top5": 100.0 if scored.top5 is None else 100 * scored.top5.mean(),
                "top5 raw": 100.0 if ranked.top5 is None else 100 * ranked.top5.mean(),
                "classwise": metrics.classwise_ece(probs, labels, class_bins, threshold="1/K"),
                "ece": metrics.ece(*scored.pair, n_bins=top_bins),
                "ece raw": metrics.ece(*ranked.pair, n_bins=top_bins),
                "nll": float(np.mean(scored.row_nll)),
                "information": self._information(fitted),
            }
        return self._scores[method]

    def _information(self, fitted: Calibrator) -> float:
        """Bits about the label that bins keep; of class-wise bins the mean over classes, of all else the log-odds'."""
        if not isinstance(fitted, IMaxBinning):
            return self.most_information[0]
        maps = [bins for bins in fitted.maps_ if bins is not None]
        kept = [mutual_information(joint_of_bins(self._density, bins.edges)) for bins in maps]
        return float(np.mean(kept)) / NATS_PER_BIT

    def _fitted(self, method: Method) -> Calibrator:
        if method not in self._fits:
            logits, labels = self._logits[: method.n], self._labels[: method.n]
            if method.source is None:
                made = calibrator(method.name, **dict(method.params)).fit(logits, labels)
            else:
                # The same as with representatives=..., but neither bins nor the other method are fitted again.
                made = deepcopy(self._fitted(replace(method, source=None)))
                assert isinstance(made, IMaxBinning)
                made._take_over(self._fitted(method.source).predict_proba(logits), logits, labels)
            self._fits[method] = made
        return self._fits[method]
