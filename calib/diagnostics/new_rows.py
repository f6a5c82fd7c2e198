"""A calibrator on new rows, with labels or without: all that is said and drawn of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.data.predictions import Predictions
from calib.diagnostics.histograms import ConfidenceHistogram, confidence_histogram
from calib.diagnostics.reliability import DiagramParts, evaluation_diagram
from calib.diagnostics.shift import CalibrationShift, calibration_shift, combined
from calib.diagnostics.shift_data import judge
from calib.evaluation import Evaluation, score_intervals
from calib.evaluation.view import TOP_LABEL, View
from calib.export.runtime import ExportedCalibrator
from calib.formatting import listed, percent, plural, points, points_between
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools
from calib.metrics.estimate import LOGIT, Estimate, Rows
from calib.metrics.recalibration import LogisticFit, fit_logistic
from calib.numerics import Floats, log_odds_of, sigmoid

__all__ = ["without_labels"]


@dataclass(frozen=True, eq=False)
class Distribution:
    """Distribution of a calibrator's predictions for some rows.

    Attributes
    ----------
    n : rows.
    histogram : of the confidence, or of the risk, on a logit scale.
    diagram : contents of the reliability diagram; None where the rows have no labels.
    """

    n: int
    histogram: ConfidenceHistogram
    diagram: DiagramParts | None = None

    @classmethod
    def from_evaluation(cls, evaluation: Evaluation, labelled: bool = True) -> Distribution:
        """Of the rows of an evaluation."""
        diagram = evaluation_diagram(evaluation) if labelled else None
        histogram = confidence_histogram(*evaluation.pair, scale="logit")
        return cls(len(evaluation), histogram, diagram)


@dataclass(frozen=True, eq=False)
class NewRowsCheck:
    """A calibrator's verdict on new rows.

    Attributes
    ----------
    evaluation : of the calibrator on these rows; where they have no labels, only what it says of them counts.
    change : of its scores; None where the rows have no labels.
    expected : what is to be expected of rows without labels; None where they have some.
    now, before : what it says of these rows, and of those it was judged on, as far as they are known.
    accuracy_before : on the rows it was judged on, where the new ones have no labels.
    """

    evaluation: Evaluation
    change: CalibrationShift | None
    expected: WithoutLabels | None
    now: Distribution
    before: Distribution | None = None
    accuracy_before: Interval | None = None


def check_new_rows(
    exported: ExportedCalibrator,
    before: Evaluation | Mapping[str, Interval] | None,
    n_before: int | None,
    labelled: bool,
    *,
    data: Mapping[str, Any],
) -> NewRowsCheck:
    """Judge a calibrator on new rows, as a worker does.

    Parameters
    ----------
    exported : the calibrator.
    before : its verdict on the rows it was judged on, or recorded scores with their intervals, or None.
    n_before : rows behind them.
    labelled : whether the new rows have labels.
    data : ``rows``, the new ones as :func:`calib.diagnostics.shift_data.read_new_rows` gives them.
    """
    rows: Predictions = data["rows"]
    raw, now = judge(exported, rows)
    earlier = before if isinstance(before, Evaluation) else None
    distribution = None if earlier is None else Distribution.from_evaluation(earlier)
    here = Distribution.from_evaluation(now, labelled)
    if labelled:
        return NewRowsCheck(
            now, calibration_shift(now, raw, before, n_before=n_before), None, here, distribution
        )
    accuracy = None if earlier is None else score_intervals(earlier)["accuracy"]
    return NewRowsCheck(now, None, without_labels(now, earlier), here, distribution, accuracy)


FEW_JUDGED = 30
"""Labelled rows, or rows of the rarer outcome times three, below which no recalibration is fitted to them."""
CLIP = 1e-6
"""Probabilities are kept so far from 0 and 1 where their log-odds are taken."""


@dataclass(frozen=True)
class WithoutLabels:
    """Expected performance on rows without labels.

    From calibrated confidence the expected accuracy follows (CBPE, as NannyML calls it). This holds while the
    confidence is calibrated on the new rows: the mix of inputs may change within what was seen. Where the outcomes of
    the same inputs change, the estimate does not, and is wrong.

    Attributes
    ----------
    n : int
        Rows.
    n_judged : int
        Labelled rows to which intercept and slope of the confidence were fitted, whose uncertainty is in the intervals;
        0 where there are none: the intervals then cover chance in the outcomes of these rows alone.
    accuracy : Interval
        Expected share of right predictions.
    rate : Interval or None, default None
        Expected share of the event; None in the top-label view.
    shift : Interval or None, default None
        Mean confidence or risk now minus that of the labelled rows; None where they are not known.
    view : View
        What a probability is about.
    """

    n: int
    n_judged: int
    accuracy: Interval
    rate: Interval | None = None
    shift: Interval | None = None
    view: View = TOP_LABEL


def without_labels(now: Evaluation, before: Evaluation | None = None) -> WithoutLabels:
    """The performance to be expected on new rows from their calibrated confidence, with 95 % intervals.

    Where labelled rows are known, intercept and slope of the calibrated log-odds are fitted to them first (Cox 1958);
    their covariance (of whole clusters where there are any) enters the intervals by the delta method, beside the
    variance of the outcomes of the new rows. Intervals are taken on the log-odds scale.

    Parameters
    ----------
    now : Evaluation
        The calibrator on the new rows; its labels are not looked at.
    before : Evaluation or None, default None
        The same calibrator on labelled rows that it was not fitted on.

    Returns
    -------
    WithoutLabels
        Each number with its interval.

    Examples
    --------
    >>> import calib
    >>> from calib.evaluation import evaluate
    >>> calibration, new = calib.load_sample("digits-cnn").split(0.5, random_state=0)
    >>> calibrator = calib.calibrator("temperature").fit(calibration)
    >>> expected = without_labels(evaluate(calibrator.predict_proba(new), new.labels)).accuracy
    >>> f"{expected.value:.1%} ({expected.low:.1%} to {expected.high:.1%})"
    '92.2% (90.4% to 93.7%)'
    """
    predicted = _event_pair(now)[0]
    fit = None if before is None else _recalibrated(before)
    line = _line(predicted)
    chances = predicted if fit is None else sigmoid(line @ fit.coef)
    variance = chances * (1.0 - chances)

    def mean(sign: Floats) -> Interval:
        """Mean chance, or of one minus it where the sign is negative."""
        of_outcomes = float(variance.sum()) / len(predicted) ** 2
        of_fit = (
            np.zeros(1)
            if fit is None
            else fit.estimate.influence @ ((sign * variance) @ line / len(predicted))
        )
        value = float(np.where(sign > 0, chances, 1.0 - chances).mean())
        inside = LOGIT if 0.0 < value < 1.0 else None
        return Estimate(value, np.append(of_fit, np.sqrt(of_outcomes))).interval(scale=inside)

    ones = np.ones(len(predicted))
    of_two = now.n_classes == 2 and now.view.name != "pairs"
    accuracy = mean(np.where(predicted >= 0.5, 1.0, -1.0) if of_two else ones)
    rate = mean(ones) if now.view.is_event else None
    shift = None
    if before is not None:
        there, here = (
            Rows.of(len(evaluation), evaluation.clusters).mean_of(evaluation.pair[0]).interval()
            for evaluation in (before, now)
        )
        shift = combined(here, there)
    return WithoutLabels(
        len(now),
        0 if before is None or fit is None else len(before),
        accuracy,
        rate,
        shift,
        now.view,
    )


def _event_pair(evaluation: Evaluation) -> tuple[Floats, Bools]:
    """Predictions and outcomes to draw: of two classes of the event, else of the predicted class."""
    if evaluation.n_classes != 2 or evaluation.rest is None:
        return evaluation.confidence, evaluation.correct
    column = 1 if evaluation.view.column is None else evaluation.view.column
    predicted = np.where(evaluation.predicted == column, evaluation.confidence, evaluation.rest)
    return predicted, evaluation.labels == column


def _line(predicted: Floats) -> Floats:
    return np.column_stack([np.ones(len(predicted)), log_odds_of(predicted, CLIP)])


def _recalibrated(before: Evaluation) -> LogisticFit | None:
    """Intercept and slope of the log-odds on labelled rows; None where too few rows tell them."""
    predicted, observed = _event_pair(before)
    if 3 * min(observed.sum(), (~observed).sum()) < FEW_JUDGED or np.ptp(predicted) < 1e-9:
        return None
    fit = fit_logistic(
        _line(predicted), observed, Rows.with_outcome(observed, clusters=before.clusters)
    )
    return fit if np.isfinite(fit.coef).all() else None


ASSUMES = (
    "This assumes that it is calibrated on these rows. The mix of inputs may have changed, the outcomes of equal "
    "inputs not: such a change shows only in labels."
)


def sentences(expected: WithoutLabels, title: str, before: Interval | None = None) -> list[str]:
    """Sentences about the expectation, the shift, the assumption and what the intervals cover.

    Parameters
    ----------
    title : of the calibrator.
    before : accuracy on the labelled rows, where it is known.
    """
    parts = [f"an accuracy of **{_percent(expected.accuracy)}**"]
    if expected.rate is not None:
        parts.insert(0, f"an observed rate of **{_percent(expected.rate)}**")
    earlier = (
        "" if before is None else f"; the accuracy on the labelled rows was {_percent(before)}"
    )
    lines = [
        f"{plural(expected.n, 'row')} without labels. If {title} is still calibrated, expect {listed(parts)}{earlier}."
    ]
    if expected.shift is not None:
        value, low, high = expected.shift
        way = (
            "**higher**" if low > 0 else "**lower**" if high < 0 else "not significantly different"
        )
        size = f"{points(value)} points, {points_between(low, high)}"
        lines.append(expected.view.wording.describe_drift(way, size))
    lines.append(ASSUMES)
    lines.append(
        "The intervals (95\u00a0%) cover chance in these outcomes and the uncertainty of the calibration, whose "
        f"intercept and slope come from {expected.n_judged:,} labelled rows."
        if expected.n_judged
        else "The intervals (95\u00a0%) cover chance in these outcomes alone. The calibrator's own uncertainty is not "
        "in them: too few labelled rows, or none, judge it."
    )
    return lines


def _percent(interval: Interval) -> str:
    value, low, high = interval
    return f"{percent(value)} ({100 * low:.1f} to {100 * high:.1f})"
