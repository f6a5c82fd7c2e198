"""Scoring rules, accuracy, and how well an event is ranked: NLL, Brier score, top-k accuracy, AUROC."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.confidence import (
    Bools,
    check_event,
    check_scored,
    check_scored_classes,
    check_weights,
    top_label,
    weighted_mean,
)
from calib.metrics.estimate import Rows
from calib.numerics import PROBABILITY_FLOOR, Floats, Ints


def nll(probs: Any, labels: Any, weights: Any = None) -> float:
    """Mean negative log-likelihood in nats, with probabilities below 1e-15 put at 1e-15.

    How zeros and sums count in all scores is said in docs/files.md.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or those of an event.
    labels : array_like of shape (n,)
        Integers in [0, n_classes); of an event 1 where it happened.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    float
        In nats, from 0 upwards.
    """
    _, of_label = _checked_row_scores(probs, labels)
    return weighted_mean(-np.log(np.maximum(of_label, PROBABILITY_FLOOR)), weights)


def brier(probs: Any, labels: Any, weights: Any = None) -> float:
    """Mean Brier score: of two classes ``(p - y)^2``, from 0 to 1; of more the sum over classes, from 0 to 2.

    The second is Brier's own (1950). Of two classes it would be twice the first, which is what is meant there; this is
    also how scikit-learn's ``brier_score_loss`` scales.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes) or (n,)
        Probabilities of all classes, or those of an event.
    labels : array_like of shape (n,)
        Integers in [0, n_classes); of an event 1 where it happened.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    float
        0 for a model that is always right and sure.
    """
    return weighted_mean(_checked_row_scores(probs, labels)[0], weights)


def row_scores(probs: Floats, labels: Ints) -> tuple[Floats, Floats]:
    """Brier score and probability of the label of each row, two (n,) arrays."""
    of_label = probs[np.arange(len(probs)), labels].astype(np.float64)
    # sum_k (p_k - [k = y])^2 without the one-hot matrix; rounding must not make it negative.
    squares = np.maximum(
        np.einsum("nk,nk->n", probs, probs, dtype=np.float64) - 2.0 * of_label + 1.0, 0.0
    )
    return squares / 2.0 if probs.shape[1] == 2 else squares, of_label


def _checked_row_scores(probs: Any, labels: Any) -> tuple[Floats, Floats]:
    array, known = check_scored(probs, labels)
    if array.ndim == 1:
        array = np.stack([1.0 - array, array], axis=1)
    return row_scores(array, known.astype(np.int64))


def accuracy(probs: Any, labels: Any, ranking: Any = None, weights: Any = None) -> float:
    """Share of right predictions.

    Parameters
    ----------
    probs, labels : array_like
        (n, n_classes) probabilities, or the (n,) of an event, which is predicted where they are above one half; and
        (n,) labels.
    ranking : array_like of shape (n, n_classes) or None, default None
        Second key among equal probabilities (the raw logits), then the lower class.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    float
        From 0 to 1.
    """
    array, known = check_scored(probs, labels)
    if array.ndim == 1:
        return weighted_mean((array > 0.5) == known, weights)
    return weighted_mean(top_label(array, known, ranking)[1], weights)


def top_k_accuracy(probs: Any, labels: Any, k: int = 5, ranking: Any = None) -> float:
    """Share of rows whose label is among the k most probable classes.

    Parameters
    ----------
    probs : array_like of shape (n, n_classes)
        Probabilities.
    labels : array_like of shape (n,)
        Integers in [0, n_classes).
    k : int, default 5
        How many classes; with ``k >= n_classes`` the result is 1.
    ranking : array_like of shape (n, n_classes) or None, default None
        Second key among equal probabilities (the raw logits), then the lower class.

    Returns
    -------
    float
        From 0 to 1.
    """
    if int(k) != k or k < 1:
        raise CalibrationError(f"k={k!r} must be a whole number of at least 1.")
    array, labels = check_scored_classes(probs, labels)
    keys = array if ranking is None else np.asarray(ranking)
    return float(label_in_top_k(array, labels, k, keys).mean())


def auroc(probs: Any, labels: Any, weights: Any = None) -> float:
    """Area under the ROC curve of an event: ``P(p of an event > p of a non-event)``, equal ones counting half.

    Recalibration that keeps the order does not change it.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, 2)
        Probabilities of the event; of two columns the second counts.
    labels : array_like of shape (n,)
        1 where it happened.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    float
        From 0 to 1; NaN without an event, or without a row that has none.
    """
    said, came = check_event(probs, labels)
    weight = check_weights(weights, len(said))
    return placements(said, came, Rows.with_outcome(came, weight))[0]


def average_precision(probs: Any, labels: Any, weights: Any = None) -> float:
    """Mean over the events of the share of events among the rows with as high a probability, or a higher one.

    It is the area under the steps of the precision-recall curve, as scikit-learn's ``average_precision_score``. Random
    ranks give the event rate, which is why it says more than the AUROC of a rare event.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, 2)
        Probabilities of the event, as for :func:`auroc`.
    labels : array_like of shape (n,)
        1 where it happened.
    weights : array_like of shape (n,) or None, default None
        Weight of each row; None counts all alike.

    Returns
    -------
    float
        From 0 to 1; NaN without an event.
    """
    said, came = check_event(probs, labels)
    weight = check_weights(weights, len(said))
    return precisions(said, came, weight)[0]


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
    own = np.sqrt(units / np.maximum(units - 1, 1) * (sample.n_units - 1) / sample.n_units)
    return area, (placement - area) * np.where(event, own[0] / events, own[1] / others)


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
    own = event if weights is None else weights * event
    events = np.bincount(cell, own)
    rows = np.bincount(cell, weights)
    if not events.any():
        return math.nan, np.full(len(risk), math.nan)
    rows_above, events_above = (np.cumsum(each[::-1])[::-1] for each in (rows, events))
    rows_above = np.where(rows_above > 0, rows_above, 1.0)
    precision = events_above / rows_above
    value = float(events @ precision / events.sum())
    upto = np.cumsum(events / rows_above)[cell]
    upto_precision = np.cumsum(events * precision / rows_above)[cell]
    return value, (event * (precision[cell] - value + upto) - upto_precision) / events.sum()


def label_in_top_k(probs: Floats, labels: Ints, k: int, ranking: Floats) -> Bools:
    """Whether fewer than k classes come before the label, shape (n,): by probability, second key and number."""
    at = np.arange(len(probs))
    own = labels[:, None]
    of_label = probs[at, labels][:, None]
    its_key = ranking[at, labels][:, None]
    ahead = (ranking > its_key) | ((ranking == its_key) & (np.arange(probs.shape[1]) < own))
    ahead = (probs > of_label) | ((probs == of_label) & ahead)
    return np.asarray(np.count_nonzero(ahead, axis=1) < k)
