"""Theorem 1 of Wenger et al. 2020: the weighted gap of over- and underconfidence is below every calibration error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.metrics.binning import bins_of
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.confidence import overconfidence, underconfidence
from calib.metrics.top_label import Bools
from calib.numerics import Floats

NUMBERS_OF_BINS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100)


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

    @property
    def chain(self) -> Floats:
        """(4,) gap, ECE_1, ECE_2 and ECE_inf: no number is below the one before it, rounding apart."""
        return np.array([self.gap, self.ece_1, self.ece_2, self.ece_inf])


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


def theorem_by_bins(confidence: Floats, correct: Bools, binning: str = "equal_width") -> dict[int, TheoremOne]:
    """Theorem 1 for one bin, where all its sides are equal, up to a hundred: by number of bins.

    Parameters
    ----------
    confidence, correct : (n,) arrays, as in ``Evaluation.pair``.
    binning : scheme of the bins.
    """
    return {n_bins: theorem_one(confidence, correct, n_bins, binning) for n_bins in NUMBERS_OF_BINS}
