"""The scores that pages, tables and reports share, and their values for one evaluation.

Every score as a function of a few sums over rows, so that resampling is one matrix product.

The CORP decomposition of an evaluation, and of its resamples.

Smooth ECE of resamples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from calib.evaluation.classwise import CLASSWISE, CLASSWISE_ABOVE, classwise_values
from calib.evaluation.evaluation import Evaluation
from calib.metrics.binning import bin_edges
from calib.metrics.bootstrap import Groups, Resamples
from calib.metrics.calibration_error import debiased_error
from calib.metrics.confidence import Bools
from calib.metrics.corp import RULES, calibrated_outcomes, corp, entropy, isotonic_of_samples, ordered_cells, row_scores
from calib.metrics.smooth import cell_of, smooth_ece, smooth_errors
from calib.numerics import Floats, Ints, bin_index

ERRORS = {
    "ECE": ("equal_width", 15),
    "ECE equal mass": ("equal_mass", 15),
    "ECE 100": ("equal_width", 100),
    "ECE equal mass 100": ("equal_mass", 100),
}
"""The bins of the errors: those of the field's convention, and the finer ones of the papers' tables."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Sums over rows; the leading axes run over groups of rows, or over resamples.

    Attributes
    ----------
    plain : name -> (...,) sum of one quantity.
    binned : (scheme, n_bins) -> (..., n_bins, 3) sums of 1, confidence and correctness in each bin.
    """

    plain: dict[str, Floats]
    binned: dict[tuple[str, int], Floats]

    @property
    def total(self) -> Statistics:
        """Sums over the first axis."""
        return Statistics(
            {name: values.sum(axis=0) for name, values in self.plain.items()},
            {name: values.sum(axis=0) for name, values in self.binned.items()},
        )


def statistics_of(
    evaluation: Evaluation, groups: Groups | None = None, errors: Iterable[str] = tuple(ERRORS)
) -> Statistics:
    """Sums over each group of rows, one group of all rows by default, in the bins of the ``errors`` named.

    The bins are those of the whole sample in every group: a resample moves the counts, not the edges.
    """
    groups = groups or Groups(np.zeros(len(evaluation), dtype=np.int64), 1)
    confidence, correct = evaluation.confidence, evaluation.correct.astype(np.float64)
    plain = {
        "rows": groups.sums(None),
        "right": groups.sums(correct),
        "confidence": groups.sums(confidence),
        "confidence squared": groups.sums(confidence**2),
        "confidence of right": groups.sums(confidence * correct),
    }
    for key, of_rows in MEANS.items():
        if (values := of_rows(evaluation)) is not None:
            plain[key] = groups.sums(values)
    binned = {}
    for scheme, n_bins in (ERRORS[key] for key in errors):
        index = bin_index(confidence, bin_edges(confidence, n_bins, scheme))
        sums = [groups.sums_by(index, n_bins, values) for values in (None, confidence, correct)]
        binned[scheme, n_bins] = np.stack(sums, axis=-1)
    return Statistics(plain, binned)


def score_values(statistics: Statistics) -> dict[str, Floats]:
    """Scores by key from sums, over any leading axes; NaN where a mean is over nothing.

    Errors are there where their bins are.
    """
    plain = statistics.plain
    n, right, confidence = plain["rows"], plain["right"], plain["confidence"]
    values: dict[str, Floats] = {key: plain[key] / n for key in MEANS if key in plain}
    values["accuracy"] = right / n
    values["signed gap"] = (confidence - right) / n
    values["gap"] = np.abs(values["signed gap"])
    values["overconfidence"] = _ratio(confidence - plain["confidence of right"], n - right)
    values["underconfidence"] = _ratio(right - plain["confidence of right"], right)
    values["sharpness"] = np.maximum(plain["confidence squared"] / n - (confidence / n) ** 2, 0.0)

    bins = {key: _Bins(statistics.binned[which], n) for key, which in ERRORS.items() if which in statistics.binned}
    values |= {key: each.error for key, each in bins.items()}
    if "ECE" in bins:
        values["MCE"] = np.max(np.abs(bins["ECE"].gap), axis=-1)
    if "ECE equal mass" in bins:
        mass = bins["ECE equal mass"]
        values["debiased ECE"] = debiased_error(mass.gap, mass.accuracy, mass.count, mass.weight)
    return values


class _Bins:
    """Statistics per bin on the last axis; an empty bin has weight and gap 0."""

    def __init__(self, sums: Floats, n: Floats):
        self.count, confidence, right = np.moveaxis(sums, -1, 0)
        rows = np.maximum(self.count, 1.0)
        self.accuracy = right / rows
        self.gap = (confidence - right) / rows
        self.weight = self.count / np.asarray(n)[..., None]

    @property
    def error(self) -> Floats:
        """Expected calibration error."""
        return np.sum(self.weight * np.abs(self.gap), axis=-1)


def _ratio(total: Floats, count: Floats) -> Floats:
    total, count = np.asarray(total, dtype=float), np.asarray(count, dtype=float)
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


TERMS = ("miscalibration", "discrimination", "uncertainty")
CORP = tuple(f"{rule} {term}" for rule in RULES for term in TERMS)
"""Keys of the scores, such as "Brier miscalibration"."""

MAX_CELLS = 500
N_CALIBRATED = 100


def corp_values(evaluation: Evaluation) -> dict[str, float]:
    """The terms of both rules, by key."""
    parts = {rule: corp(*evaluation.pair, rule=rule) for rule in RULES}
    return {f"{rule} {term}": getattr(parts[rule], term) for rule in RULES for term in TERMS}


def resampled_corp_values(evaluation: Evaluation, resamples: Resamples) -> dict[str, Floats]:
    """The terms of both rules in every resample, by key, each of shape (n_resamples,).

    Every resample has an isotonic regression of its own, on at most 500 groups of neighbouring confidences: of 50,000
    rows it costs 0.1 ms in place of 1.5, and the terms scatter as they do with rows.

    Their mean is put right. Isotonic regression fits noise, so that miscalibration and discrimination come out too
    large; a resample does not show by how much, because what it is drawn from has steps, which are easier to fit than
    a slope. Labels drawn at the confidences show it: their miscalibration is noise alone.
    """
    confidence, correct = evaluation.pair
    cell = ordered_cells(confidence, MAX_CELLS)
    n_cells = int(cell.max()) + 1
    groups = resamples.groups
    drawn = resamples.each(
        _terms,
        groups.sums_by(cell, n_cells, correct),
        groups.sums_by(cell, n_cells, None),
        np.stack([groups.sums(row_scores(confidence, correct, rule)) for rule in RULES], axis=-1),
    )
    noise = fitted_noise(confidence, cell, resamples.random_state)
    values: dict[str, Floats] = {}
    for i, rule in enumerate(RULES):
        exact = corp(confidence, correct, rule)
        miscalibration, discrimination, uncertainty = drawn[:, i].T
        values[f"{rule} miscalibration"] = _centred(miscalibration, exact.miscalibration + noise[rule])
        values[f"{rule} discrimination"] = _centred(discrimination, exact.discrimination + noise[rule])
        values[f"{rule} uncertainty"] = uncertainty
    return values


def _terms(right: Floats, count: Floats, score: Floats) -> Floats:
    """The terms of m samples, shape (m, rules, terms).

    Parameters
    ----------
    right, count : (m, n_cells) right predictions and rows in cells of neighbouring confidences.
    score : (m, rules) sums of each rule's scores.
    """
    rows = count.sum(axis=1)
    frequency = isotonic_of_samples(right, count)
    accuracy = right.sum(axis=1) / rows
    found = np.empty((len(rows), len(RULES), len(TERMS)))
    for i, rule in enumerate(RULES):
        recalibrated = (count * entropy(frequency, rule)).sum(axis=1) / rows
        uncertainty = entropy(accuracy, rule)
        found[:, i] = np.stack([score[:, i] / rows - recalibrated, uncertainty - recalibrated, uncertainty], axis=1)
    return found


def _centred(values: Floats, mean: float) -> Floats:
    return values - values.mean() + mean


def fitted_noise(confidence: Floats, cell: Ints, random_state: int) -> dict[str, float]:
    """Mean miscalibration, by rule, of labels that are drawn at the confidences.

    Parameters
    ----------
    confidence : (n,) floats.
    cell : (n,) from :func:`ordered_cells`.
    random_state : seed.
    """
    count, mean, right = calibrated_outcomes(confidence, cell, N_CALIBRATED, random_state)
    rows = np.broadcast_to(count, right.shape)
    frequency = isotonic_of_samples(right, rows)
    saved = {}
    for rule in RULES:
        said = right * row_scores(mean, np.ones(len(mean), bool), rule)
        said = said + (count - right) * row_scores(mean, np.zeros(len(mean), bool), rule)
        saved[rule] = float((said - rows * entropy(frequency, rule)).sum(axis=1).mean() / len(cell))
    return saved


SMOOTH = "smooth ECE"

N_CELLS = 512
"""Fewer than for the score itself: of 500 to a million rows, they move it by less than 0.00003."""


def resampled_smooth_ece(confidence: Floats, correct: Bools, resamples: Resamples) -> Floats:
    """Smooth ECE of every resample, shape (n_resamples,), each with a width of its own.

    Parameters
    ----------
    confidence, correct : (n,) floats and booleans.
    resamples : of the n rows.
    """
    cell = cell_of(confidence, N_CELLS)
    groups = resamples.groups
    return resamples.each(
        lambda residual, rows: smooth_errors(residual / rows[:, None]),
        groups.sums_by(cell, N_CELLS, correct - confidence),
        groups.sums(None),
    )


Better = Literal["lower", "higher", "neither"]


@dataclass(frozen=True)
class Score:
    """One score.

    Attributes
    ----------
    key : name in tables and code.
    title : how pages call it.
    better : "lower", "higher", or "neither" where less is not better in itself.
    meaning : one line on what it says.
    low, high : the range of possible values.
    of_rows : for a score that is a mean over rows, the (n,) values; they are None where an evaluation has none.
    """

    key: str
    title: str
    better: Better
    meaning: str
    low: float = 0.0
    high: float = 1.0
    of_rows: Callable[[Evaluation], Floats | Bools | None] | None = None


_SCORES = (
    Score("NLL", "NLL", "lower", "Mean surprise at the true label, in nats; punishes sure mistakes hardest.",
          high=np.inf, of_rows=attrgetter("row_nll")),
    Score("Brier", "Brier score", "lower", "Squared distance of the probabilities from the truth, summed over classes.",
          high=2.0, of_rows=attrgetter("row_brier")),
    Score("accuracy", "Accuracy", "higher", "Share of right predictions."),
    Score("top-5 accuracy", "Top-5 accuracy", "higher", "Share of labels among the five most probable classes.",
          of_rows=attrgetter("top5")),
    Score("ECE", "ECE", "lower", "Mean distance of confidence from accuracy in 15 bins of equal width."),
    Score("ECE equal mass", "ECE, equal mass", "lower",
          "Mean distance of confidence from accuracy in 15 bins of equal counts."),
    Score("ECE 100", "ECE, 100 bins", "lower", "Mean distance of confidence from accuracy in 100 bins of equal width."),
    Score("ECE equal mass 100", "ECE, 100 bins of equal mass", "lower",
          "Mean distance of confidence from accuracy in 100 bins of equal counts; more noise than in 15."),
    Score("debiased ECE", "ECE, debiased", "lower", "ECE in bins of equal counts, less what noise alone would give."),
    Score(SMOOTH, "ECE, smooth", "lower",
          "Mean distance of confidence from accuracy under a kernel that sets its own width; no bins to choose."),
    Score(CLASSWISE, "Class-wise ECE", "lower",
          "ECE of each class's probability in 15 bins of equal width, averaged over classes."),
    Score(CLASSWISE_ABOVE, "Class-wise ECE above 1/K", "lower",
          "Class-wise ECE of the probabilities above 1/K, which the many near 0 would swamp."),
    Score("MCE", "MCE", "lower", "Distance of confidence from accuracy in the worst of 15 bins; noisy."),
    Score("gap", "Confidence gap", "lower", "Distance of mean confidence from accuracy; no ECE is below it."),
    Score("signed gap", "Confidence minus accuracy", "neither",
          "Mean confidence minus accuracy; above 0 is overconfident.", low=-1.0),
    *(
        score
        for rule, name, high in (("Brier", "squared error", 0.25), ("log", "log score", math.log(2.0)))
        for score in (
            Score(f"{rule} miscalibration", f"Miscalibration, {name}", "lower",
                  f"How much of the {name} of \"this prediction is right\" the best monotone recalibration would save.",
                  high=np.inf),
            Score(f"{rule} discrimination", f"Discrimination, {name}", "higher",
                  f"How much the {name} gains from telling right from wrong predictions, once recalibrated.",
                  high=high),
            Score(f"{rule} uncertainty", f"Uncertainty, {name}", "neither",
                  f"The {name} of saying the accuracy to every row; plus miscalibration less discrimination it is the "
                  f"{name} of the confidence.", high=high),
        )
    ),
    Score("overconfidence", "Overconfidence", "neither", "Mean confidence of the wrong predictions."),
    Score("underconfidence", "Underconfidence", "neither", "Mean doubt (1 - confidence) of the right predictions."),
    Score("sharpness", "Sharpness", "neither", "Variance of the confidence; good only where it is calibrated.",
          high=0.25),
)  # fmt: skip

SCORES: dict[str, Score] = {score.key: score for score in _SCORES}
"""The scores by key, in order of display."""
MEANS = {score.key: score.of_rows for score in _SCORES if score.of_rows is not None}
"""Those of them that are means over rows."""


def scores(evaluation: Evaluation) -> dict[str, float]:
    """Values of the scores in ``SCORES`` that the evaluation allows, by key.

    NLL, Brier score, top-5 accuracy and the class-wise errors are absent where the method gives a confidence only,
    top-5 accuracy also up to 5 classes, class-wise errors above 10,000. Overconfidence is NaN where nothing is wrong,
    underconfidence where nothing is right.
    """
    values: dict[str, Any] = score_values(statistics_of(evaluation).total) | classwise_values(evaluation.classwise)
    values |= corp_values(evaluation) | {SMOOTH: smooth_ece(*evaluation.pair)}
    return {key: float(values[key]) for key in SCORES if key in values}
