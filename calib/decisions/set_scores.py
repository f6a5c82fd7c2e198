"""Prediction sets of a calibrator: fitted on some rows, judged on others, and compared before and after calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from calib.base import groups_for, is_pairs
from calib.decisions.conformal import PredictionSets, conformal_sets, quantile_rank
from calib.decisions.judgement import (
    Judged,
    fit_and_judge,
    independent_rows,
    mean_of,
    share_of,
)
from calib.errors import CalibrationError
from calib.evaluation.evaluation import gives_probabilities
from calib.metrics.bootstrap import Interval, drawn_units, wilson_interval
from calib.metrics.confidence import Bools
from calib.numerics import MEMORY_ENTRIES, Floats, Ints, blocks

if TYPE_CHECKING:
    from calib.data.predictions import Predictions


@dataclass(frozen=True, eq=False)
class SetScores:
    """Coverage and size of prediction sets on labelled rows.

    Attributes
    ----------
    covered : ndarray of bool of shape (n,)
        Whether the set holds the label.
    size : ndarray of int of shape (n,)
        Classes in the set.
    coverage, mean_size, single : Interval
        Share of rows whose set holds the label, classes in a set on average, and share of sets of one class.
    expected : tuple of float or None
        Range within which the coverage on so many rows lies in 95 % of cases where rows are exchangeable: the central
        one of a beta-binomial distribution. None per class, where rows come in clusters or have weights, and where the
        most probable class alone has the coverage asked for.
    class_rows : ndarray of int of shape (n_classes,)
        Rows of each class.
    class_coverage : ndarray of shape (n_classes,)
        Share of their sets that hold it; NaN of none.
    class_low, class_high : ndarray of shape (n_classes,)
        Wilson interval of each class's coverage.
    sizes : ndarray of shape (n_classes + 1,)
        Rows by the size of their set.
    clusters : ndarray or None
        Cluster of each row, where there are any.
    weights : ndarray or None
        Confirmed weight of each row; shares, means and ``sizes`` count rows by it.
    """

    covered: Bools
    size: Ints
    coverage: Interval
    mean_size: Interval
    single: Interval
    expected: tuple[float, float] | None
    class_rows: Ints
    class_coverage: Floats
    class_low: Floats
    class_high: Floats
    sizes: Floats
    clusters: Any = None
    weights: Any = None


def fit_sets(
    calibrator: Any,
    data: Predictions,
    alpha: float = 0.1,
    *,
    per_class: bool = False,
) -> PredictionSets:
    """Prediction sets of a calibrator from rows that it has not seen; one row of each cluster where there are clusters.

    Rows count by their confirmed weights.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    data : Predictions
        Labelled rows that it has not seen.
    alpha : float, default 0.1
        Sets hold the label with a probability of at least 1 - alpha.
    per_class : bool, default False
        One quantile for each class, as in :func:`conformal_sets`.

    Returns
    -------
    PredictionSets
        ``predict`` gives the sets of new rows.

    Raises
    ------
    CalibrationError
        If the calibrator gives no probabilities of all classes, or alpha is not between 0 and 1.

    Examples
    --------
    >>> import calib
    >>> calibration, chosen, judged = calib.load_sample("digits-cnn").three_parts()
    >>> fitted = calib.calibrator("temperature").fit(calibration)
    >>> sets = calib.decisions.fit_sets(fitted, chosen, alpha=0.1)
    >>> sets.predict(fitted.predict_proba(judged)).shape == (len(judged), 10)
    True
    """
    _check_has_sets(calibrator, data)
    rows = independent_rows(data)
    return conformal_sets(
        calibrator.probs_from_logits(rows.logits, groups_for(calibrator, rows)),
        rows.labels,
        alpha,
        per_class=per_class,
        weights=rows.confirmed_weights,
        new_weight=1.0 if rows.weight_kind == "frequency" else None,
    )


def judge_sets(calibrator: Any, sets: PredictionSets, data: Predictions) -> SetScores:
    """Coverage and size of sets on rows that neither they nor the calibrator were fitted on, with 95 % intervals.

    Shares have Wilson intervals, of as many independent rows as clusters and weights are worth; the mean size has
    that of a mean, of whole clusters.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    sets : PredictionSets
        Fitted with this calibrator.
    data : Predictions
        Labelled rows that neither has seen.

    Returns
    -------
    SetScores
        Coverage and size, of all rows and of each class.

    Examples
    --------
    >>> import calib
    >>> calibration, chosen, judged = calib.load_sample("digits-cnn").three_parts()
    >>> fitted = calib.calibrator("temperature").fit(calibration)
    >>> sets = calib.decisions.fit_sets(fitted, chosen, alpha=0.1)
    >>> round(calib.decisions.judge_sets(fitted, sets, judged).coverage.value, 2)
    0.93
    """
    _check_has_sets(calibrator, data)
    n = len(data)
    n_classes = data.n_classes
    covered = np.empty(n, dtype=bool)
    size = np.empty(n, dtype=np.int64)
    groups = groups_for(calibrator, data)
    for rows in blocks(n, n_classes, MEMORY_ENTRIES):
        group = None if groups is None else groups[rows]
        inside = sets.predict(calibrator.probs_from_logits(data.logits[rows], group))
        covered[rows] = inside[np.arange(len(inside)), data.labels[rows]]
        size[rows] = inside.sum(axis=1)
    weights = data.confirmed_weights
    weight = np.ones(n) if weights is None else weights
    of_class, squared, of_covered = (
        np.bincount(data.labels, values, n_classes).astype(float)
        for values in (weight, weight**2, weight * covered)
    )
    class_coverage = np.divide(
        of_covered, of_class, out=np.full(n_classes, np.nan), where=of_class > 0
    )
    worth = np.divide(of_class**2, squared, out=np.zeros(n_classes), where=squared > 0)
    simple = weights is None and not drawn_units(n, data.clusters)[2]
    expected = None
    if simple and not sets.per_class and not sets.top_alone:
        expected = coverage_range(sets.n_rows, n, sets.alpha)
    return SetScores(
        covered,
        size,
        share_of(covered, data.clusters, weights=weights),
        mean_of(size, data.clusters, weights=weights),
        share_of(size == 1, data.clusters, weights=weights),
        expected,
        np.bincount(data.labels, minlength=n_classes),
        class_coverage,
        *wilson_interval(np.nan_to_num(class_coverage) * worth, worth),
        np.bincount(size, weight, n_classes + 1).astype(float),
        data.clusters,
        weights,
    )


def fit_and_judge_sets(
    calibrator: Any, test: Predictions, alpha: float = 0.1, per_class: bool = False
) -> Judged[PredictionSets, SetScores]:
    """Return the sets of one half of the test rows, judged on the other; the halves are those of any calibrator."""
    return fit_and_judge(
        test,
        lambda rows: fit_sets(calibrator, rows, alpha, per_class=per_class),
        lambda sets, rows: judge_sets(calibrator, sets, rows),
    )


def sets_change(before: SetScores, after: SetScores) -> dict[str, Interval]:
    """Return the "mean size" and "coverage" after less before, on the same rows, paired."""
    size = after.size - before.size
    covered = after.covered.astype(int) - before.covered
    return {
        "mean size": mean_of(size, after.clusters, weights=after.weights),
        "coverage": mean_of(covered, after.clusters, weights=after.weights),
    }


def coverage_range(n: int, m: int, alpha: float) -> tuple[float, float]:
    """Central 95 % range of the coverage among m rows of sets that were fitted on n, all exchangeable.

    The number of covered rows is BetaBinomial(m, k, n + 1 - k), with the rank k of the quantile (Vovk 2012;
    Angelopoulos and Bates 2023, section 3.2). Without ties among scores; with ties coverage is higher.

    Examples
    --------
    >>> [round(end, 3) for end in coverage_range(1000, 9000, 0.1)]
    [0.88, 0.919]
    """
    from scipy.stats import betabinom

    rank = quantile_rank(n, alpha)
    if rank > n:
        return 1.0, 1.0
    low, high = betabinom.ppf([0.025, 0.975], m, rank, n + 1 - rank) / m
    return float(low), float(high)


def _check_has_sets(calibrator: Any, data: Predictions) -> None:
    if is_pairs(data):
        raise CalibrationError(
            "Prediction sets are sets of classes, and these data hold one confidence for each answer; choose a "
            "threshold of the confidence instead."
        )
    if not gives_probabilities(calibrator):
        raise CalibrationError(
            f"Prediction sets need probabilities of all classes, and {type(calibrator).__name__} gives a confidence "
            "only; choose another method, or a threshold of the confidence."
        )
