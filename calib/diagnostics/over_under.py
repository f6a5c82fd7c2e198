"""Over- and underconfidence, their ratio against the odds of a correct prediction, and Theorem 1.

Wenger et al. 2020: the weighted gap of over- and underconfidence is below every calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calib.evaluation.evaluation import Evaluation, check_same_rows
from calib.evaluation.score_registry import EVENT_RATE, average_gap, smooth_scored_on
from calib.metrics.binning import bins_of
from calib.metrics.bootstrap import UNKNOWN, Interval, cut, share_interval
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.confidence import Bools, weighted_mean
from calib.metrics.estimate import Estimate
from calib.numerics import Floats

FEW = 10
"""Wrong, or right, predictions below which intervals are conservative; see :func:`over_under_confidence`."""


@dataclass(frozen=True)
class OverUnder:
    """Overconfidence o and underconfidence u of one method, and their ratio.

    A calibrated model's mean confidence is its accuracy, so that ``o P(wrong) = u P(right)``: its ratio ``o / u`` is
    the odds ``P(right) / P(wrong)`` of its accuracy (Wenger et al. 2020, after Theorem 1). A quantity is NaN where it
    does not exist: o and the odds where nothing is wrong, u where nothing is right, the ratio where one of the two is
    missing or u is 0.

    Attributes
    ----------
    n_wrong, n_right : counts of wrong and right predictions.
    over, under : o and u.
    ratio : ``o / u``.
    odds : ``P(right) / P(wrong)``, the odds of a correct prediction, which the ratio of a calibrated model equals.
    ratio_over_odds : ``ratio / odds``; above 1 is overconfident.
    gap : ``o P(wrong) - u P(right)``, mean confidence minus accuracy; above 0 is overconfident.
    """

    n_wrong: int
    n_right: int
    over: Interval
    under: Interval
    ratio: Interval
    odds: Interval
    ratio_over_odds: Interval
    gap: Interval

    @property
    def few(self) -> bool:
        """Return whether so few are wrong, or right, that intervals are conservative."""
        return min(self.n_wrong, self.n_right) < FEW


def over_under_confidence(evaluations: Sequence[Evaluation]) -> list[OverUnder]:
    """Over- and underconfidence of several methods on the same rows.

    Intervals are linearised, those of ratios on the scale of logarithms; the odds have Wilson's. With fewer than ten
    wrong or right predictions, conservative closed forms take their place: Wilson's for means of values in [0, 1],
    :func:`calib.diagnostics.gaps.gaps_by_group`, and quotients of ends for ratios. The intervals are those of
    :func:`calib.evaluation.score_intervals`.
    """
    first = evaluations[0]
    for evaluation in evaluations[1:]:
        check_same_rows(evaluation, first)
    return [_over_under(evaluation) for evaluation in evaluations]


def _quantities(evaluation: Evaluation) -> dict[str, Estimate]:
    """Quantities of one method by name, ratios as logarithms; NaN where a quantity does not exist."""
    scores = smooth_scored_on(evaluation).scores
    over = scores["overconfidence"]
    under = scores["underconfidence"]
    rate = scores[EVENT_RATE if EVENT_RATE in scores else "accuracy"]
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log(rate.value) - np.log1p(-rate.value)
        slope = np.divide(1.0, rate.value * (1.0 - rate.value))
        odds = Estimate(log_odds, rate.influence * slope, rate.degrees)
        ratio = _log(over) - _log(under)
    return {
        "over": over,
        "under": under,
        "gap": scores["signed gap"],
        "log ratio": ratio,
        "log ratio over odds": ratio - odds,
    }


def _log(estimate: Estimate) -> Estimate:
    return Estimate(np.log(estimate.value), estimate.influence / estimate.value, estimate.degrees)


def _over_under(evaluation: Evaluation) -> OverUnder:
    estimates = _quantities(evaluation)
    outcome = evaluation.pair[1]
    n = len(outcome)
    right = int(outcome.sum())
    wrong = n - right
    share = right / n
    worth = float(n)
    if evaluation.weights is not None:
        share = evaluation.means[1]
        worth = evaluation.rows.effective_rows(evaluation.rows.mean_of(outcome))
    odds = _odds(share * worth, worth)
    gap = average_gap(evaluation)
    if min(wrong, right) >= FEW:
        intervals = {name: estimate.interval() for name, estimate in estimates.items()}
        over, under = (cut(intervals[name], 0.0, 1.0) for name in ("over", "under"))
        ratio = _exp(intervals["log ratio"])
        times = _exp(intervals["log ratio over odds"])
    else:  # cautious: values in [0, 1] vary less than shares
        sums = (estimates["over"].value * wrong, wrong), (estimates["under"].value * right, right)
        over, under = (
            share_interval(min(max(float(total), 0.0), count), count) for total, count in sums
        )
        ratio = _quotient(over, under)
        times = _quotient(ratio, odds)
    return OverUnder(wrong, right, over, under, ratio, odds, times, gap)


def _odds(right: float, n: float) -> Interval:
    if right == n:
        return UNKNOWN
    return Interval(*(share / (1.0 - share) for share in share_interval(right, n)))


def _quotient(above: Interval, below: Interval) -> Interval:
    """Interval of a quotient that holds wherever both intervals do; NaN where the quotient does not exist."""
    if not (np.isfinite(above.value) and below.value > 0):
        return UNKNOWN
    high = above.high / below.low if below.low > 0 else float("inf")
    return Interval(above.value / below.value, above.low / below.high, high)


def _exp(logs: Interval) -> Interval:
    return Interval(*(float(np.exp(value)) for value in logs))


@dataclass(frozen=True, eq=False)
class TheoremOne:
    """``gap <= ECE_1 <= ECE_2 <= ECE_inf`` on the same bins (Wenger et al. 2020, Theorem 1).

    Attributes
    ----------
    signed_gap : ``o P(wrong) - u P(right)``, which is mean confidence minus accuracy.
    chain : (4,) its size, ECE_1, ECE_2 and ECE_inf: no number is below the one before it, rounding apart.
    """

    signed_gap: float
    chain: Floats


def theorem_one(
    confidence: Floats,
    correct: Bools,
    n_bins: int = 15,
    binning: str = "equal_width",
    weights: Floats | None = None,
) -> TheoremOne:
    """Both sides of Theorem 1 for one method.

    Parameters
    ----------
    confidence, correct : (n,) arrays, as in ``Evaluation.pair``.
    n_bins, binning : bins of the calibration errors.
    """
    bins = bins_of(confidence, correct, n_bins, binning, weights)
    errors = [norm_of_gaps(bins.gap, bins.weight, norm) for norm in (1, 2, np.inf)]
    signed_gap = weighted_mean(confidence - correct, weights)
    return TheoremOne(signed_gap, np.array([abs(signed_gap), *errors]))


def theorem_of_all(
    pairs: Sequence[tuple[Floats, Bools]], weights: Floats | None = None
) -> list[TheoremOne]:
    """:func:`theorem_one` for several methods on the same rows."""
    return [theorem_one(*pair, weights=weights) for pair in pairs]
