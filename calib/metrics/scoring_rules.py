"""Scoring rules, accuracy, and how well an event is ranked: NLL, Brier score, top-k accuracy, AUROC."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.arrays import check_number
from calib.metrics.bootstrap import UNKNOWN, Interval, cut, folded
from calib.metrics.confidence import (
    Bools,
    check_event,
    check_scored,
    check_scored_classes,
    check_weights,
    score,
    scored_pair,
    top_label,
    weighted_mean,
)
from calib.metrics.estimate import LOGIT, Rows, share_of_rows
from calib.numerics import PROBABILITY_FLOOR, Floats, Ints


@score
def nll(
    probs: Any, labels: Any, weights: Any = None, *, clusters: Any = None, ci: bool = False
) -> float | Interval:
    """Mean negative log-likelihood in nats, with probabilities below 1e-15 put at 1e-15.

    How zeros and sums count in all scores is said in docs/guide/scales.md.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or those of an event.
    labels : array_like of shape (n,)
        Classes; of an event 1 where it happened, or the second of two.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        In nats, from 0 upwards.

    Examples
    --------
    >>> from calib.metrics import nll
    >>> round(nll([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 3)
    0.472
    """
    _, of_label = _checked_row_scores(probs, labels)
    nats = -np.log(np.maximum(of_label, PROBABILITY_FLOOR))
    return mean_score(nats, weights, clusters, ci)


@score
def brier(
    probs: Any, labels: Any, weights: Any = None, *, clusters: Any = None, ci: bool = False
) -> float | Interval:
    """Mean Brier score: of two classes ``(p - y)^2``, from 0 to 1; of more the sum over classes, from 0 to 2.

    The second is Brier's own (1950). Of two classes it would be twice the first, which is what is meant there; this is
    also how scikit-learn's ``brier_score_loss`` scales.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or those of an event.
    labels : array_like of shape (n,)
        Classes; of an event 1 where it happened, or the second of two.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        0 for a model that is always right and sure.

    Examples
    --------
    >>> from calib.metrics import brier
    >>> round(brier([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 3)
    0.158
    """
    return mean_score(_checked_row_scores(probs, labels)[0], weights, clusters, ci)


def row_scores(probs: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Brier score and probability of the label of each row, two (n,) arrays."""
    of_label = probs[np.arange(len(probs)), labels].astype(np.float64)
    # sum_k (p_k - [k = y])^2 without the one-hot matrix; rounding must not make it negative.
    squares = np.maximum(
        np.einsum("nk,nk->n", probs, probs, dtype=np.float64) - 2.0 * of_label + 1.0, 0.0
    )
    return squares / 2.0 if probs.shape[1] == 2 else squares, of_label


def _checked_row_scores(probs: Any, labels: Any) -> tuple[Floats, Floats]:
    array, codes = check_scored(probs, labels)
    if array.ndim == 1:
        array = np.stack([1.0 - array, array], axis=1)
    return row_scores(array, codes.astype(np.int64))


@score
def accuracy(
    probs: Any,
    labels: Any,
    weights: Any = None,
    *,
    clusters: Any = None,
    ranking: Any = None,
    ci: bool = False,
) -> float | Interval:
    """Share of right predictions.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities, or the (n,) of an event, which is predicted where they are above one half; and
        (n,) labels.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    ranking : array_like of shape (n, n_classes) or None, default None
        Second key among equal probabilities (the raw logits), then the lower class.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        From 0 to 1.

    Examples
    --------
    >>> from calib.metrics import accuracy
    >>> accuracy([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3], [0.2, 0.8]], [0, 1, 1, 1])
    0.75
    """
    array, codes = check_scored(probs, labels)
    if array.ndim == 1:
        return mean_score((array > 0.5) == codes, weights, clusters, ci)
    return mean_score(top_label(array, codes, ranking)[1], weights, clusters, ci)


@score
def top_k_accuracy(
    probs: Any,
    labels: Any,
    weights: Any = None,
    *,
    clusters: Any = None,
    k: int = 5,
    ranking: Any = None,
    ci: bool = False,
) -> float | Interval:
    """Share of rows whose label is among the k most probable classes.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes)
        Probabilities.
    labels : array_like of shape (n,)
        Classes.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    k : int, default 5
        How many classes; with ``k >= n_classes`` the result is 1.
    ranking : array_like of shape (n, n_classes) or None, default None
        Second key among equal probabilities (the raw logits), then the lower class.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        From 0 to 1.

    Examples
    --------
    >>> from calib.metrics import top_k_accuracy
    >>> top_k_accuracy([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1]], [1, 2, 2, 1], k=2)
    0.75
    """
    check_number("k", k, 1, whole=True)
    array, labels = check_scored_classes(probs, labels)
    keys = array if ranking is None else np.asarray(ranking)
    return mean_score(label_in_top_k(array, labels, k, keys), weights, clusters, ci)


@score
def auroc(
    probs: Any, labels: Any, weights: Any = None, *, clusters: Any = None, ci: bool = False
) -> float | Interval:
    """Area under the ROC curve of an event: ``P(p of an event > p of a non-event)``, equal ones counting half.

    Recalibration that keeps the order does not change it.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, 2)
        Probabilities of the event; of two columns the second counts.
    labels : array_like of shape (n,)
        1 where it happened.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        From 0 to 1; NaN without an event, or without a row that has none.

    Examples
    --------
    >>> from calib.metrics import auroc
    >>> auroc([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1])
    0.75
    """
    risk, event = check_event(probs, labels)
    positive, rows = Rows.checked(event, weights, "sampling", clusters)
    interval = auroc_interval(risk[positive], event[positive], rows)
    return interval if ci else interval.value


@score
def average_precision(
    probs: Any, labels: Any, weights: Any = None, *, clusters: Any = None, ci: bool = False
) -> float | Interval:
    """Mean over the events of the share of events among the rows with as high a probability, or a higher one.

    It is the area under the steps of the precision-recall curve, as scikit-learn's ``average_precision_score``. Random
    ranks give the event rate, which is why it says more than the AUROC of a rare event.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, 2)
        Probabilities of the event, as for :func:`auroc`.
    labels : array_like of shape (n,)
        1 where it happened.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        From 0 to 1; NaN without an event.

    Examples
    --------
    >>> from calib.metrics import average_precision
    >>> round(average_precision([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1]), 3)
    0.833
    """
    risk, event = check_event(probs, labels)
    if not ci:
        return precisions(risk, event, check_weights(weights, len(risk)))[0]
    positive, rows = Rows.checked(event, weights, "sampling", clusters)
    value, per_row = precisions(risk[positive], event[positive], rows.weights)
    if value == 1.0:
        return UNKNOWN._replace(value=value)
    return rows.estimate(value, per_row).interval(scale=LOGIT)


def auroc_interval(risk: Floats, event: Bools, sample: Rows, level: float = 0.95) -> Interval:
    """Area under the ROC curve with its interval, symmetric on the logit scale (Pepe 2003, section 5.2.3).

    Where all pairs are ranked right, or all wrong, it is :func:`interval_of_separated`. NaN without events or
    non-events.
    """
    area, per_row = placements(risk, event, sample)
    if area in (0.0, 1.0):
        return interval_of_separated(area, sample.rarer_units(event), level)
    return sample.estimate(area, per_row).interval(level, LOGIT)


def interval_of_separated(area: float, units: int, level: float = 0.95) -> Interval:
    """Interval of an AUROC of 1 or 0, whose variance is 0: its other end is that of independent pairs.

    Of m of them, the smaller number of units of both kinds, all are in one order with probability ``area^m``.
    """
    tail = ((1.0 - level) / 2.0) ** (1.0 / units)
    return Interval(area, tail, 1.0) if area else Interval(area, 0.0, 1.0 - tail)


def placements(risk: Floats, event: Bools, sample: Rows) -> tuple[float, Floats]:
    """Area under the ROC curve, P(risk of an event > risk of a non-event) + P(equal) / 2, and what each row adds.

    NaN without events, or without non-events.

    What a row adds is its placement value less the area. Units that have events, and units that have rows without, each
    bring their own ``m / (m - 1)`` (Obuchowski 1997, Biometrics 53); of independent rows of equal weight the variance
    is that of DeLong, DeLong and Clarke-Pearson (1988).

    Parameters
    ----------
    risk, event : (n,) risks and outcomes.
    sample : how these rows count.
    """
    w = sample.weights
    events = float(w @ event)
    others = float(w @ ~event)
    if not events or not others:
        return math.nan, np.full(len(risk), math.nan)
    cell = np.unique(risk, return_inverse=True)[1]
    with_event, without = (np.bincount(cell, weights=w * part) for part in (event, ~event))
    below = np.cumsum(without) - without / 2.0
    above = events - np.cumsum(with_event) + with_event / 2.0
    placement = np.where(event, below[cell] / others, above[cell] / events)
    area = float((w * event) @ placement) / events
    units = np.array([sample.units_with(part) for part in (event, ~event)])
    factors = np.sqrt(units / np.maximum(units - 1, 1) * (sample.n_units - 1) / sample.n_units)
    return area, (placement - area) * np.where(event, factors[0] / events, factors[1] / others)


def precisions(risk: Floats, event: Bools, weights: Floats | None = None) -> tuple[float, Floats]:
    """Average precision, and what each row adds to it; NaN without events.

    It is the mean over the events of the precision at their risk. A row changes it by being an event itself, and by
    entering the precision at every risk that is not above its own.

    Parameters
    ----------
    risk, event : (n,) risks and outcomes.
    weights : (n,) weight of each row; None counts all alike.
    """
    cell = np.unique(risk, return_inverse=True)[1]
    hits = event if weights is None else weights * event
    events = np.bincount(cell, hits)
    rows = np.bincount(cell, weights)
    if not events.any():
        return math.nan, np.full(len(risk), math.nan)
    rows_above, events_above = (np.cumsum(counts[::-1])[::-1] for counts in (rows, events))
    rows_above = np.where(rows_above > 0, rows_above, 1.0)
    precision = events_above / rows_above
    value = float(events @ precision / events.sum())
    upto = np.cumsum(events / rows_above)[cell]
    upto_precision = np.cumsum(events * precision / rows_above)[cell]
    return value, (event * (precision[cell] - value + upto) - upto_precision) / events.sum()


def label_in_top_k(probs: Floats, labels: Ints, k: int, ranking: Floats) -> Bools:
    """Return an (n,) mask of labels with fewer than k classes before them, by probability, second key and number."""
    at = np.arange(len(probs))
    label = labels[:, None]
    of_label = probs[at, labels][:, None]
    its_key = ranking[at, labels][:, None]
    ahead = (ranking > its_key) | ((ranking == its_key) & (np.arange(probs.shape[1]) < label))
    ahead = (probs > of_label) | ((probs == of_label) & ahead)
    return np.asarray(np.count_nonzero(ahead, axis=1) < k)


def mean_score(
    values: npt.NDArray[Any], weights: Any, clusters: Any, ci: bool, signed: bool = False
) -> float | Interval:
    """Weighted mean of (n,) values; with ``ci`` its interval, Wilson's of shares, which whole clusters enter."""
    if not ci:
        return weighted_mean(values, weights)
    if values.dtype == bool:
        return share_of_rows(values, weights, clusters).of_share(0)
    positive, rows = Rows.checked(np.full(len(values), True), weights, "sampling", clusters)
    return cut(rows.mean_of(values[positive]).interval(), -np.inf if signed else 0.0, np.inf)


@score
def overconfidence(
    probs: Any = None,
    labels: Any = None,
    weights: Any = None,
    *,
    clusters: Any = None,
    confidence: Any = None,
    correct: Any = None,
    ci: bool = False,
) -> float | Interval:
    """Mean confidence of the wrong predictions (Wenger et al. 2020, section 2.2).

    Parameters
    ----------
    probs, labels : array_like
        Probabilities and labels as for :func:`calib.ece`: of two classes the event's count.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``probs`` and ``labels``.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        From 0 to 1; NaN if no prediction is wrong: the mean does not exist, and the gap has no share of it.

    Examples
    --------
    >>> from calib.metrics import overconfidence
    >>> round(overconfidence(confidence=[0.9, 0.8, 0.9, 0.6], correct=[True, False, True, False]), 3)
    0.7
    """
    confidence, correct = scored_pair(probs, labels, confidence, correct)
    return _mean_among(confidence, ~correct, weights, clusters, ci)


@score
def underconfidence(
    probs: Any = None,
    labels: Any = None,
    weights: Any = None,
    *,
    clusters: Any = None,
    confidence: Any = None,
    correct: Any = None,
    ci: bool = False,
) -> float | Interval:
    """Mean of 1 - confidence of the right predictions (Wenger et al. 2020, section 2.2).

    Parameters
    ----------
    probs, labels : array_like
        Probabilities and labels as for :func:`calib.ece`: of two classes the event's count.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``probs`` and ``labels``.
    ci : bool, default False
        Whether to return the 95 % interval too.

    Returns
    -------
    float or Interval
        From 0 to 1; NaN if no prediction is right.

    Examples
    --------
    >>> from calib.metrics import underconfidence
    >>> round(underconfidence(confidence=[0.9, 0.8, 0.9, 0.6], correct=[True, False, True, False]), 3)
    0.1
    """
    confidence, correct = scored_pair(probs, labels, confidence, correct)
    return _mean_among(1.0 - confidence, correct, weights, clusters, ci)


@score
def confidence_gap(
    probs: Any = None,
    labels: Any = None,
    weights: Any = None,
    *,
    clusters: Any = None,
    confidence: Any = None,
    correct: Any = None,
    ci: bool = False,
    signed: bool = False,
) -> float | Interval:
    """``|o P(wrong) - u P(right)|``, the left side of Theorem 1 (Wenger et al. 2020): at most the ECE of any bins.

    Without the bars it is mean confidence minus accuracy, positive where a model is overconfident.

    Parameters
    ----------
    probs, labels : array_like
        Probabilities and labels as for :func:`calib.ece`: of two classes the event's count.
    weights, clusters : array_like of shape (n,) or None, default None
        Weight of each row, and what rows that belong together share.
    confidence, correct : array_like of shape (n,) or None, default None
        Confidences in predictions and whether these were right, in place of ``probs`` and ``labels``.
    ci : bool, default False
        Whether to return the 95 % interval too.
    signed : bool, default False
        Whether to keep the sign.

    Returns
    -------
    float or Interval
        From 0 to 1; signed from -1.

    Examples
    --------
    >>> from calib.metrics import confidence_gap
    >>> round(confidence_gap(confidence=[0.9, 0.8, 0.9, 0.8], correct=[True, False, True, False], signed=True), 3)
    0.35
    """
    confidence, correct = scored_pair(probs, labels, confidence, correct)
    gap = mean_score(confidence - correct, weights, clusters, ci, signed=True)
    if isinstance(gap, Interval):
        return gap if signed else folded(abs(gap.value), gap)
    return gap if signed else abs(gap)


def sharpness(
    probs: Any = None,
    labels: Any = None,
    weights: Any = None,
    *,
    confidence: Any = None,
    correct: Any = None,
) -> float:
    """Variance of the confidence, from 0 to 1/4: how far apart a method sets sure from unsure rows."""
    confidence, _ = scored_pair(probs, labels, confidence, correct)
    return weighted_mean((confidence - weighted_mean(confidence, weights)) ** 2, weights)


def mean_among(
    values: npt.NDArray[Any], rows: Rows, chosen: Bools | None = None
) -> tuple[float, Floats]:
    """Mean over the chosen rows, a ratio of two sums, and what each row adds to it."""
    among = np.ones(len(values)) if chosen is None else chosen
    total = float(rows.weights @ among)
    if not total:
        return math.nan, np.full(len(values), math.nan)
    mean = float((rows.weights * among) @ values) / total
    return mean, among * (values - mean) / total


def _mean_among(
    values: Floats, chosen: Bools, weights: Any, clusters: Any, ci: bool
) -> float | Interval:
    """Weighted mean of (n,) values among some rows; with ``ci`` its interval, that of a ratio of two means."""
    positive, rows = Rows.checked(chosen, weights, "sampling", clusters)
    value, per_row = mean_among(values[positive], rows, chosen[positive])
    return cut(rows.estimate(value, per_row).interval(), 0.0, 1.0) if ci else value
