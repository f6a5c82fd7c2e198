"""Every score as a function of a few sums over rows, so that resampling is one matrix product."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from calib.evaluation.evaluation import Evaluation
from calib.metrics.binning import bin_edges, bin_index
from calib.metrics.bootstrap import Groups
from calib.metrics.calibration_error import debiased_error
from calib.numerics import Floats

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
    if evaluation.row_nll is not None and evaluation.row_brier is not None:
        plain["NLL"] = groups.sums(evaluation.row_nll)
        plain["Brier"] = groups.sums(evaluation.row_brier)
    if evaluation.top5 is not None:
        plain["top-5 accuracy"] = groups.sums(evaluation.top5)
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
    values: dict[str, Floats] = {key: plain[key] / n for key in ("NLL", "Brier", "top-5 accuracy") if key in plain}
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
