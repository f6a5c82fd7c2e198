"""Over- and underconfidence, their ratio against the odds of a correct prediction, and Theorem 1.

Wenger et al. 2020: the weighted gap of over- and underconfidence is below every calibration error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.diagnostics.subgroups import gaps_by_group
from calib.evaluation.bootstrap import N_RESAMPLES
from calib.evaluation.evaluation import Evaluation, check_same_rows
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import brackets, number, points
from calib.metrics.binning import bins_of
from calib.metrics.bootstrap import UNKNOWN, Interval, Resamples, interval_of_draws, reflect, share_interval
from calib.metrics.calibration_error import norm_of_gaps
from calib.metrics.confidence import Bools, overconfidence, underconfidence
from calib.numerics import Floats

FEW = 10
"""Wrong, or right, predictions below which intervals are conservative; see :func:`over_under_confidence`."""


@dataclass(frozen=True)
class Change:
    """What a method changes against the baseline, with paired intervals.

    Attributes
    ----------
    over, under, gap : differences.
    ratio, ratio_over_odds : factors, 1 for no change.
    """

    over: Interval
    under: Interval
    gap: Interval
    ratio: Interval
    ratio_over_odds: Interval


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
    weighted_over, weighted_under : ``o P(wrong)`` and ``u P(right)``; 0 where nothing is wrong, or right.
    change : against the baseline; None for the baseline.
    """

    n_wrong: int
    n_right: int
    over: Interval
    under: Interval
    ratio: Interval
    odds: Interval
    ratio_over_odds: Interval
    gap: Interval
    weighted_over: float
    weighted_under: float
    change: Change | None = None

    @property
    def few(self) -> bool:
        """Whether so few are wrong, or right, that intervals are conservative and changes rough."""
        return min(self.n_wrong, self.n_right) < FEW


def over_under_confidence(
    evaluations: Sequence[Evaluation], level: float = 0.95, n_resamples: int = N_RESAMPLES, random_state: int = 0
) -> list[OverUnder]:
    """Over- and underconfidence of several methods on the same rows, the first of which is the baseline.

    Intervals are basic bootstrap intervals, for ratios on the scale of logarithms; the odds have Wilson's. With fewer
    than ten wrong or right predictions, conservative closed forms take their place: Wilson's for means of values in
    [0, 1], :func:`calib.diagnostics.subgroups.gap_interval`, and quotients of ends for ratios. The
    resamples are those of :func:`calib.evaluation.score_intervals` with the same seed.

    Raises
    ------
    CalibrationError
        If the evaluations are not about the same rows.
    """
    for evaluation in evaluations[1:]:
        check_same_rows(evaluation, evaluations[0])
    resamples = evaluations[0].resamples(n_resamples, random_state)
    drawn = [_Drawn(evaluation, resamples) for evaluation in evaluations]
    first = drawn[0]
    return [_over_under(one, None if one is first else _change(one, first, level), level) for one in drawn]


class _Drawn:
    """Quantities of one method by name, and draws of what they may be in truth; ratios as logarithms."""

    def __init__(self, evaluation: Evaluation, resamples: Resamples):
        confidence, correct = self.pair = evaluation.pair
        groups = resamples.groups
        sums = np.stack(
            [
                groups.sums(None),
                groups.sums(correct),
                groups.sums(np.where(correct, 0.0, confidence)),
                groups.sums(np.where(correct, 1.0 - confidence, 0.0)),
            ],
            axis=-1,
        )
        self.sums: Floats = sums.sum(axis=0)
        self.value = {name: float(value) for name, value in _quantities(self.sums).items()}
        again = _quantities(resamples.resample(sums))
        self.draws = {name: reflect(value, again[name]) for name, value in self.value.items()}

    def interval(self, name: str, level: float, low: float = 0.0, high: float = 1.0) -> Interval:
        return interval_of_draws(self.value[name], self.draws[name], level, low, high)

    def difference(self, baseline: _Drawn, name: str, level: float) -> Interval:
        difference = self.draws[name] - baseline.draws[name]
        return interval_of_draws(self.value[name] - baseline.value[name], difference, level)


def _quantities(sums: Floats) -> dict[str, Floats]:
    """From sums over rows of 1, right, confidence where wrong and 1 - confidence where right, on the last axis."""
    n, right, over, under = np.moveaxis(sums, -1, 0)
    wrong = n - right
    with np.errstate(divide="ignore", invalid="ignore"):
        quantities = {
            "over": over / wrong,
            "under": under / right,
            "log ratio": np.log(over / wrong) - np.log(under / right),
            "log ratio over odds": np.log(over) - np.log(under),
            "gap": (over - under) / n,
        }
    return {name: np.where(np.isfinite(values), values, np.nan) for name, values in quantities.items()}


def _change(one: _Drawn, baseline: _Drawn, level: float) -> Change:
    over, under, gap = (one.difference(baseline, name, level) for name in ("over", "under", "gap"))
    factors = (_exp(one.difference(baseline, name, level)) for name in ("log ratio", "log ratio over odds"))
    return Change(over, under, gap, *factors)


def _over_under(one: _Drawn, change: Change | None, level: float) -> OverUnder:
    n, right, over, under = (float(total) for total in one.sums)
    wrong = n - right
    odds = _odds(right, n, level)
    same: dict[str, Any] = {
        "n_wrong": round(wrong), "n_right": round(right), "odds": odds, "change": change,
        "weighted_over": over / n, "weighted_under": under / n,
    }  # fmt: skip
    if min(wrong, right) >= FEW:
        return OverUnder(
            over=one.interval("over", level),
            under=one.interval("under", level),
            ratio=_exp(one.interval("log ratio", level, -np.inf, np.inf)),
            ratio_over_odds=_exp(one.interval("log ratio over odds", level, -np.inf, np.inf)),
            gap=one.interval("gap", level, -1.0),
            **same,
        )
    cautious_over, cautious_under = (  # of values in [0, 1], which vary less than shares
        share_interval(min(max(total, 0.0), count), count, level) for total, count in ((over, wrong), (under, right))
    )
    ratio = _quotient(cautious_over, cautious_under)
    whole = gaps_by_group(*one.pair, np.zeros(round(n), dtype=np.int64), 1, level)
    return OverUnder(
        over=cautious_over,
        under=cautious_under,
        ratio=ratio,
        ratio_over_odds=_quotient(ratio, odds),
        gap=Interval(one.value["gap"], float(whole.gap_low[0]), float(whole.gap_high[0])),
        **same,
    )


def _odds(right: float, n: float, level: float) -> Interval:
    if right == n:
        return UNKNOWN
    return Interval(*(share / (1.0 - share) for share in share_interval(right, n, level)))


def _quotient(above: Interval, below: Interval) -> Interval:
    """Interval of a quotient that holds wherever both intervals do; NaN where the quotient does not exist."""
    if not (np.isfinite(above.value) and below.value > 0):
        return UNKNOWN
    high = above.high / below.low if below.low > 0 else float("inf")
    return Interval(above.value / below.value, above.low / below.high, high)


def _exp(logs: Interval) -> Interval:
    return Interval(*(float(np.exp(value)) for value in logs))


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


def theorem_of_all(
    pairs: Sequence[tuple[Floats, Bools]], n_bins: int = 15, binning: str = "equal_width"
) -> list[TheoremOne]:
    """:func:`theorem_one` for several methods."""
    return [theorem_one(*pair, n_bins, binning) for pair in pairs]


def theorem_by_bins(confidence: Floats, correct: Bools, binning: str = "equal_width") -> dict[int, TheoremOne]:
    """Theorem 1 for one bin, where all its sides are equal, up to a hundred: by number of bins.

    Parameters
    ----------
    confidence, correct : (n,) arrays, as in ``Evaluation.pair``.
    binning : scheme of the bins.
    """
    return {n_bins: theorem_one(confidence, correct, n_bins, binning) for n_bins in NUMBERS_OF_BINS}


def table_cells(result: OverUnder, view: View = TOP_LABEL) -> dict[str, tuple[str, str]]:
    """The quantities of one method as value and interval in words, by column; a dash for what does not exist."""
    change = result.change
    return {
        "o": _words(result.over),
        "change of o": _words(change.over if change else None, "+"),
        "u": _words(result.under),
        "change of u": _words(change.under if change else None, "+"),
        "o / u": _words(result.ratio),
        "change of o / u": _words(change.ratio if change else None, "×"),
        view.odds.replace("its", "the"): _words(result.odds),
        "o / u over odds": _words(result.ratio_over_odds),
        "gap, points": _words(result.gap, write=points),
        "change of the gap": _words(change.gap if change else None, write=points),
    }


def _words(interval: Interval | None, mark: str = "", write: Callable[[float], str] = number) -> tuple[str, str]:
    """A value and its interval; ``mark`` stands before a positive difference, or before a factor."""
    if interval is None or math.isnan(interval.value):
        return "–", ""
    value = write(interval.value)
    return value if mark == "+" and interval.value <= 0 else mark + value, brackets(interval.low, interval.high, write)
