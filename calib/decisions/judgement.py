"""Decisions fitted on some test rows and judged on the others, so that no row is used twice.

A calibrator, the numbers of a decision (a quantile, a threshold, a cut), and the judgement of both have rows of their
own: :meth:`calib.data.Predictions.three_parts`, or the two parts into which :func:`fit_and_judge` splits a test set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from calib.decisions.rules import AnswerAbove
from calib.decisions.selective import Guarantee, certified_threshold, exact_interval
from calib.evaluation.evaluation import Evaluation
from calib.metrics.bootstrap import Interval, drawn_units
from calib.metrics.confidence import Bools
from calib.metrics.estimate import Rows, share_of_rows
from calib.numerics import Ints

if TYPE_CHECKING:
    from calib.data.predictions import Predictions

Made = TypeVar("Made")
Found = TypeVar("Found")
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Judged(Generic[Made, Found]):
    """A decision and what it does on rows that it was not fitted on.

    Attributes
    ----------
    made : object
        The decision.
    found : object
        Its judgement.
    n_decision, n_judgement : int
        Rows of both.
    clustered : bool
        Whether the parts are of whole clusters.
    """

    made: Made
    found: Found
    n_decision: int
    n_judgement: int
    clustered: bool

    def said(self) -> str:
        """Describe in a sentence which rows were used for what.

        Returns
        -------
        str
            Plain text.
        """
        whole = ", in whole clusters" if self.clustered else ""
        return f"Chosen on {self.n_decision:,} test rows, judged on the {self.n_judgement:,} others{whole}."


def fit_and_judge(
    test: Predictions,
    fit: Callable[[Predictions], Made],
    judge: Callable[[Made, Predictions], Found],
) -> Judged[Made, Found]:
    """Fit a decision on one half of the test rows, and judge it on the other.

    The halves are drawn with a fixed seed, stratified by label, and of whole clusters.

    Parameters
    ----------
    test : Predictions
        Rows that the calibrator has not seen.
    fit : callable
        Called with the rows of one half; returns the decision.
    judge : callable
        Called with the decision and the rows of the other half.

    Returns
    -------
    Judged
        The decision under ``made``, its judgement under ``found``.

    Raises
    ------
    DataError
        If a half would be empty, or there are fewer than four clusters.

    Examples
    --------
    Prediction sets, fitted on half of the test rows and judged on the other half:

    >>> import calib
    >>> from calib import decisions
    >>> calibration, test = calib.load_sample("digits-cnn").split(0.5, random_state=0)
    >>> calibrator = calib.calibrator("temperature").fit(calibration)
    >>> judged = decisions.fit_and_judge(
    ...     test,
    ...     fit=lambda rows: decisions.fit_sets(calibrator, rows, alpha=0.1),
    ...     judge=lambda sets, rows: decisions.judge_sets(calibrator, sets, rows),
    ... )
    >>> round(judged.found.coverage.value, 2)
    0.93
    """
    decision, judgement = test.split(0.5)
    made = fit(decision)
    clustered = drawn_units(len(test), test.clusters)[2]
    return Judged(made, judge(made, judgement), len(decision), len(judgement), clustered)


def independent_rows(data: Predictions) -> Predictions:
    """One random row of each cluster; all rows where there are no clusters.

    Guarantees are of exchangeable rows, and rows of one cluster are not (Dunn, Wasserman and Ramdas 2023, section 3).
    What is promised then holds for a random row of a new cluster.
    """
    unit, n_units, clustered = drawn_units(len(data), data.clusters)
    if not clustered:
        return data
    order = np.random.default_rng(0).permutation(len(data))
    first = np.full(n_units, -1)
    first[unit[order[::-1]]] = order[::-1]  # the last that is written is the first of the order
    return data.take(np.sort(first))


# -- answers -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AnswerScores:
    """Coverage, error and cost of a threshold of the confidence on labelled rows.

    Attributes
    ----------
    n, n_answered, n_wrong : int
        Rows, those that are answered, and the wrong among these.
    coverage : Interval
        Share of rows answered.
    error : Interval
        Error rate among the answers; exact interval (Clopper and Pearson) of independent rows of equal weight, Wilson's
        of as many as clusters and weights are worth; NaN without answers.
    cost, cost_answering, saved : Interval or None
        Mean cost of a row with the threshold, without it, and their difference, where costs were given: positive where
        abstaining saves.
    """

    n: int
    n_answered: int
    n_wrong: int
    coverage: Interval
    error: Interval
    cost: Interval | None = None
    cost_answering: Interval | None = None
    saved: Interval | None = None


def certify(
    calibrator: Any,
    decision: Predictions,
    calibration: Predictions,
    risk: float = 0.05,
    delta: float = 0.05,
) -> Guarantee:
    """Certify a threshold of the confidence: error among answers at most ``risk``, with confidence 1 - ``delta``.

    Thresholds are tested from the strictest to the loosest until the first fails (Angelopoulos et al. 2021, Learn then
    Test), on one row of each cluster where there are clusters.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    decision : Predictions
        Labelled rows that it has not seen.
    calibration : Predictions
        Other rows, such as its own, whose confidences give the thresholds; their labels are not used.
    risk, delta : float, default 0.05
        Error among answers at most ``risk``, with confidence 1 - ``delta``.

    Returns
    -------
    Guarantee
        Its ``threshold`` is None where nothing is certified.

    Examples
    --------
    >>> import calib
    >>> calibration, chosen, judged = calib.load_sample("digits-cnn").three_parts()
    >>> fitted = calib.calibrator("temperature").fit(calibration)
    >>> found = calib.decisions.certify(fitted, chosen, calibration, risk=0.05)
    >>> round(found.rule.threshold, 2)
    0.68
    """
    tested = Evaluation.from_predictions(calibrator, independent_rows(decision))
    others = Evaluation.from_predictions(calibrator, calibration).confidence
    found = certified_threshold(tested.confidence, tested.correct, others, risk, delta)
    return replace(found, clustered=drawn_units(len(decision), decision.clusters)[2])


def judge_answers(
    calibrator: Any,
    rule: AnswerAbove,
    data: Predictions,
    costs: tuple[float, float] | None = None,
    level: float = LEVEL,
) -> AnswerScores:
    """Coverage, error and cost of a threshold on rows that neither it nor the calibrator was fitted on.

    Rows count by their confirmed weights.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    rule : AnswerAbove
        The threshold.
    data : Predictions
        Labelled rows that neither has seen.
    costs : tuple of float or None, default None
        Cost of an error, and of handing a row over.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    AnswerScores
        Costs are None where none were given.

    Examples
    --------
    >>> import calib
    >>> calibration, chosen, judged = calib.load_sample("digits-cnn").three_parts()
    >>> fitted = calib.calibrator("temperature").fit(calibration)
    >>> rule = calib.decisions.AnswerAbove(threshold=0.9)
    >>> round(calib.decisions.judge_answers(fitted, rule, judged).coverage.value, 2)
    0.8
    """
    evaluation = Evaluation.from_predictions(calibrator, data)
    answered = evaluation.confidence >= rule.threshold
    wrong = ~evaluation.correct
    unit, _, clustered = drawn_units(len(data), data.clusters)
    weights = data.confirmed_weights
    n_answered = int(answered.sum())
    n_wrong = int((answered & wrong).sum())
    error = exact_interval(n_wrong, n_answered, level)
    if n_answered and (clustered or weights is not None):
        of_answers = None if weights is None else weights[answered]
        clusters_answered = unit[answered] if clustered else None
        error = share_of(wrong[answered], clusters_answered, level, of_answers)
    means = []
    if costs is not None:
        answering = wrong * costs[0]
        each = np.where(answered, answering, costs[1])
        means = [
            mean_of(values, data.clusters, level, weights)
            for values in (each, answering, answering - each)
        ]
    coverage = share_of(answered, data.clusters, level, weights)
    return AnswerScores(len(data), n_answered, n_wrong, coverage, error, *means)


def certify_and_judge(
    calibrator: Any,
    test: Predictions,
    calibration: Predictions,
    risk: float = 0.05,
    delta: float = 0.05,
) -> Judged[Guarantee, AnswerScores | None]:
    """Return a certified threshold of one half of the test rows, judged on the other; no scores without a threshold."""

    def judge(made: Guarantee, rows: Predictions) -> AnswerScores | None:
        return None if made.rule is None else judge_answers(calibrator, made.rule, rows)

    def fit(rows: Predictions) -> Guarantee:
        return certify(calibrator, rows, calibration, risk, delta)

    return fit_and_judge(test, fit, judge)


# -- intervals -----------------------------------------------------------------------------------------


def share_of(hit: Bools, clusters: Any, level: float = LEVEL, weights: Any = None) -> Interval:
    """A share with its Wilson interval, of as many independent rows as the clusters are worth."""
    return share_of_rows(hit, weights, clusters).of_share(0, level)


def mean_of(values: Any, clusters: Any, level: float = LEVEL, weights: Any = None) -> Interval:
    """A mean over rows with its interval, in which whole clusters count where there are any, and weights."""
    counted, rows = Rows.checked(np.full(len(values), True), weights, "sampling", clusters)
    return rows.mean_of(np.asarray(values, dtype=np.float64)[counted]).interval(level)


def resampled(n: int, clusters: Any, n_resamples: int, random_state: int) -> Iterator[Ints]:
    """Draw resamples of n rows as counts of each row, whole clusters together."""
    unit, n_units, clustered = drawn_units(n, clusters)
    generator = np.random.default_rng(random_state)
    for _ in range(n_resamples):
        drawn = generator.integers(n_units, size=n_units - clustered)
        yield np.bincount(drawn, minlength=n_units)[unit]
