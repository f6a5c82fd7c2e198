"""The numbers of a risk model's panel that have a closed form, with their intervals.

AUROC, Brier score, scaled Brier score, log loss, O:E, calibration in the large and slope, Spiegelhalter's z. Every
interval is linearised (delta method), on a scale where that is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calib.formatting import number, percent, with_interval
from calib.metrics.bootstrap import UNKNOWN, Interval, cut
from calib.metrics.confidence import Bools
from calib.metrics.estimate import LOG, LOGIT, NORMAL_FROM, Rows
from calib.metrics.recalibration import Recalibration, recalibrate_logistic
from calib.metrics.scoring_rules import auroc_interval
from calib.numerics import PROBABILITY_FLOOR, Floats, log_odds_of


@dataclass(frozen=True)
class RiskMeasure:
    """One number of the panel.

    Attributes
    ----------
    key : str
        Its name in code: auroc, brier, scaled_brier, log_loss, oe, citl, slope, ici, e50, e90, emax.
    title : str
        Its name on a page.
    value, low, high : float
        The estimate and its 95 % interval; NaN where it does not exist.
    meaning : str
        What the number says of these data; empty where it does not exist.
    convention : str
        Which of the definitions that share the name it is, and how the interval is made.
    calibrated : tuple of float or None
        Median and 95 % point of what a calibrated model of these risks would have, for measures that cannot be 0; None
        for all others, and without resamples.
    """

    key: str
    title: str
    value: float
    low: float
    high: float
    meaning: str
    convention: str
    calibrated: tuple[float, float] | None = None

    @property
    def interval(self) -> Interval:
        """The estimate with its ends."""
        return Interval(self.value, self.low, self.high)

    @property
    def sentence(self) -> str:
        """Sentence about these data, with its numbers."""
        if not self.meaning:
            return f"{self.title} does not exist for these rows."
        numbers = with_interval(self.interval) if self.low == self.low else number(self.value)
        return f"{self.title} is {numbers}: {self.meaning}."


def closed_form(
    risk: Floats, event: Bools, sample: Rows, floor: float, level: float = 0.95
) -> tuple[dict[str, Interval], Recalibration]:
    """Every measure that has a closed form by its key, and the recalibration behind two of them.

    Calibration in the large has a sandwich interval: that of the model would hold only with a slope of 1. The slope has
    a Wald interval where rows are independent and of equal weight, which covers better with few events, and a sandwich
    interval elsewhere.

    Neither exists where no risk lies between 0 and 1: what a floor makes of 0 and 1 would say the floor's own number.

    Parameters
    ----------
    risk, event : (n,) risks and outcomes.
    sample : how these rows count.
    floor : of the risks, where log-odds are needed.
    level : coverage of each interval.
    """
    squares = (risk - event) ** 2
    losses = -np.log(np.maximum(np.where(event, risk, 1.0 - risk), PROBABILITY_FLOOR))
    brier = sample.mean(squares)
    # Sums over clusters are skewed where events are few; on the logit scale intervals of the Brier score cover.
    on_logit = not sample.is_simple and 0.0 < brier < 1.0
    of_brier = sample.mean_of(squares).interval(level, LOGIT if on_logit else None)
    again = recalibrate_logistic(log_odds_of(risk, floor), event, sample)
    large, joint = again.in_the_large, again.joint
    slope = joint.estimate[1]
    error = float(np.sqrt(joint.model_cov[1, 1])) if sample.is_simple else slope.error
    intervals = {
        "auroc": auroc_interval(risk, event, sample, level),
        "brier": cut(of_brier, 0.0, 1.0),
        "scaled_brier": scaled_brier(squares, event, sample, level),
        "log_loss": cut(sample.mean_of(losses).interval(level), 0.0, np.inf),
        "oe": observed_to_expected(risk, event, sample, level),
        "citl": large.estimate[0].interval(level) if has_log_odds(risk) else UNKNOWN,
        "slope": slope.interval(level, error=error) if has_log_odds(risk) else UNKNOWN,
    }
    return intervals, again


def has_log_odds(risk: Floats) -> bool:
    """Test that some risk lies between 0 and 1, ends excluded."""
    return bool(((risk > 0.0) & (risk < 1.0)).any())


def scaled_brier(squares: Floats, event: Bools, sample: Rows, level: float = 0.95) -> Interval:
    """``1 - Brier / (rate (1 - rate))`` with its interval (Steyerberg et al. 2010), for (n,) squared errors."""
    rate = sample.mean(event)
    total = sample.total
    brier = sample.mean(squares)
    null = rate * (1.0 - rate)
    if null == 0.0:
        return UNKNOWN
    by_rate = (1.0 - 2.0 * rate) * (event - rate)  # what a row adds to the null score
    per_row = (brier / null**2 * by_rate - (squares - brier) / null) / total
    value, low, high = sample.estimate(1.0 - brier / null, per_row).interval(level)
    return Interval(value, low, min(high, 1.0))


def observed_to_expected(risk: Floats, event: Bools, sample: Rows, level: float = 0.95) -> Interval:
    """Events over expected events; the interval is that of a ratio of means on the log scale (survey's ``svyratio``).

    Without any event the upper end is that of a Poisson count, ``-log(tail) / expected`` (Garwood 1936).
    """
    expected = sample.mean(risk)
    rate = sample.mean(event)
    if expected == 0.0:
        return UNKNOWN
    ratio = rate / expected
    if ratio == 0.0:
        rows = sample.effective_rows(sample.mean_of(event))
        return Interval(0.0, 0.0, float(-np.log((1.0 - level) / 2.0) / (expected * rows)))
    return sample.estimate(ratio, (event - ratio * risk) / (expected * sample.total)).interval(
        level, LOG
    )


def spiegelhalter(risk: Floats, event: Bools, sample: Rows) -> tuple[float, float]:
    """Spiegelhalter's z of a calibrated model's Brier score and its two-sided p (Spiegelhalter 1986, Stat. in Med. 5).

    ``sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p))``. With clusters, whose rows are not independent, the
    denominator is the root of the sum of squares over clusters; weights that are no frequencies are squared in it.
    NaN where every risk is 0, 0.5 or 1.
    """
    from scipy.special import ndtr, stdtr

    w = sample.weights
    lean = 1.0 - 2.0 * risk
    variance = risk * (1.0 - risk) * lean**2
    squared = w if sample.kind == "frequency" else w**2
    error = float(np.sqrt(squared @ variance))
    if sample.clustered:
        error = float(sample.estimate(0.0, (event - risk) * lean).error)
    if not error > 0:
        return float("nan"), float("nan")
    z = float(w @ ((event - risk) * lean)) / error
    few = sample.clustered and sample.n_telling < NORMAL_FROM
    return z, 2.0 * float(stdtr(max(sample.n_telling - 1, 1), -abs(z)) if few else ndtr(-abs(z)))


def described(intervals: dict[str, Interval], rate: float, sample: Rows) -> list[RiskMeasure]:
    """The measures of closed form in words."""
    from scipy.special import entr

    area, ratio, citl, slope = (intervals[key] for key in ("auroc", "oe", "citl", "slope"))
    worse = ", below 0 worse" if intervals["scaled_brier"].value < 0 else ""
    of_slope = "Wald" if sample.is_simple else "Sandwich"
    described = {
        "auroc": (
            "AUROC",
            f"rows with the event have the higher risk in {percent(area.value)} of pairs",
            f"Ties count half. Interval: {'DeLong' if sample.is_simple else 'DeLong by units (Obuchowski 1997)'}, on "
            "the logit scale.",
        ),
        "brier": (
            "Brier score",
            f"the event rate as every risk would have {number(rate * (1.0 - rate))}",
            "Mean of (p - y)²; half the sum over both classes.",
        ),
        "scaled_brier": (
            "Scaled Brier score",
            f"1 is perfect, 0 as good as the event rate{worse}",
            "1 - Brier / (rate (1 - rate)), with the event rate of the same rows; also called IPA or Brier skill.",
        ),
        "log_loss": (
            "Log loss",
            f"the event rate as every risk would have {number(float(entr([rate, 1.0 - rate]).sum()))}",
            f"Mean negative log-likelihood in nats; a probability below {PROBABILITY_FLOOR:g} counts as this.",
        ),
        "oe": (
            "O:E",
            _judged(
                ratio,
                1.0,
                f"{percent(abs(ratio.value - 1.0), 0)} {'more' if ratio.value > 1 else 'fewer'} events "
                "than the risks add up to",
            ),
            "Events over the sum of the risks. Interval: linearised on the log scale; the sum of the risks varies too.",
        ),
        "citl": (
            "Calibration in the large",
            _judged(citl, 0.0, f"risks are too {'low' if citl.value > 0 else 'high'}"),
            "Intercept of the recalibrated log-odds with the slope fixed at 1 (not that of the joint fit). Sandwich "
            "interval.",
        ),
        "slope": (
            "Calibration slope",
            "risks fall where the event rate rises"
            if slope.high < 0
            else _judged(
                slope,
                1.0,
                f"risks are too {'extreme' if slope.value < 1 else 'close to each other'}",
            ),
            f"Slope of the recalibrated log-odds, fitted with its intercept. {of_slope} interval.",
        ),
    }
    return [_measure(key, intervals[key], *texts) for key, texts in described.items()]


def _measure(
    key: str, interval: Interval, title: str, meaning: str, convention: str
) -> RiskMeasure:
    exists = interval.value == interval.value
    return RiskMeasure(key, title, *interval, meaning if exists else "", convention)


def _judged(interval: Interval, ideal: float, otherwise: str) -> str:
    if interval.low <= ideal <= interval.high:
        return f"no significant difference from {ideal:g}"
    return otherwise
