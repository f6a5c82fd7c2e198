"""Over- and underconfidence beside calibration error: Theorem 1 of Wenger et al. 2020, overall and by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.evaluation.evaluation import Evaluation
from calib.metrics.binning import bins_of
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.confidence import overconfidence, underconfidence
from calib.metrics.intervals import wilson_interval
from calib.metrics.top_label import Bools
from calib.numerics import Floats, Ints


@dataclass(frozen=True)
class TheoremOne:
    """``gap <= ECE_1 <= ECE_2 <= ECE_inf`` on the same bins (Wenger et al. 2020, Theorem 1).

    Attributes
    ----------
    over, under : mean confidence of the wrong predictions, mean of 1 - confidence of the right ones; NaN where there
        are none.
    p_wrong, p_right : shares of wrong and right predictions.
    signed_gap : ``over * p_wrong - under * p_right``, which is mean confidence minus accuracy.
    ece_1, ece_2, ece_inf : calibration errors.
    """

    over: float
    under: float
    p_wrong: float
    p_right: float
    signed_gap: float
    ece_1: float
    ece_2: float
    ece_inf: float

    @property
    def gap(self) -> float:
        """``|over * p_wrong - under * p_right|``, which no calibration error can be below."""
        return abs(self.signed_gap)


def theorem_one(confidence: Floats, correct: Bools, n_bins: int = 15, binning: str = "equal_width") -> TheoremOne:
    """Both sides of Theorem 1 for one method.

    Parameters
    ----------
    confidence, correct : (n,) arrays, as in ``Evaluation.pair``.
    n_bins, binning : bins of the calibration errors.
    """
    bins = bins_of(confidence, correct, n_bins, binning)
    errors = [norm_of_gaps(bins.gap, bins.weight, norm) for norm in (1, 2, np.inf)]
    p_right = float(correct.mean())
    return TheoremOne(
        overconfidence(confidence, correct),
        underconfidence(confidence, correct),
        1.0 - p_right,
        p_right,
        float(confidence.mean() - p_right),
        *errors,
    )


@dataclass(frozen=True, eq=False)
class ClassConfidence:
    """Over- and underconfidence by predicted class; every array has shape (n_classes,).

    Attributes
    ----------
    wrong, right : counts of wrong and right predictions of each class.
    over, over_low, over_high : mean confidence of the wrong ones with its interval; NaN without any.
    under, under_low, under_high : mean of 1 - confidence of the right ones with its interval; NaN without any.
    """

    wrong: Ints
    right: Ints
    over: Floats
    over_low: Floats
    over_high: Floats
    under: Floats
    under_low: Floats
    under_high: Floats

    @property
    def signed_gap(self) -> Floats:
        """Mean confidence minus accuracy among the predictions of each class; NaN where it is never predicted."""
        count = self.wrong + self.right
        total = np.where(self.wrong, self.over, 0.0) * self.wrong - np.where(self.right, self.under, 0.0) * self.right
        return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)


def class_confidence(evaluation: Evaluation, level: float = 0.95) -> ClassConfidence:
    """Over- and underconfidence by predicted class, with conservative Wilson intervals of the means."""
    k = evaluation.n_classes
    doubt = 1.0 - evaluation.confidence
    wrong = ~evaluation.correct
    over = _means_by_class(evaluation.predicted[wrong], evaluation.confidence[wrong], k, level)
    under = _means_by_class(evaluation.predicted[~wrong], doubt[~wrong], k, level)
    return ClassConfidence(over[0], under[0], *over[1:], *under[1:])


def _means_by_class(classes: Ints, values: Floats, n_classes: int, level: float) -> tuple[Ints, Floats, Floats, Floats]:
    count = np.bincount(classes, minlength=n_classes)
    total = np.bincount(classes, weights=values, minlength=n_classes)
    some = count > 0
    mean = np.divide(total, count, out=np.full(n_classes, np.nan), where=some)
    low, high = wilson_interval(np.clip(total, 0.0, count), count, level)
    return count, mean, np.where(some, low, np.nan), np.where(some, high, np.nan)
