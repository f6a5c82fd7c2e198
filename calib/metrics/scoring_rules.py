"""Scoring rules, accuracy, and how well an event is ranked: NLL, Brier score, top-k accuracy, AUROC."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.confidence import (
    Bools,
    check_columns,
    check_event,
    check_scored,
    check_weights,
    top_label,
    weighted_mean,
)
from calib.numerics import PROBABILITY_FLOOR, Floats, Ints


def nll(probs: Any, labels: Any, weights: Any = None) -> float:
    """Mean negative log-likelihood in nats, with probabilities below 1e-15 put at 1e-15.

    Parameters
    ----------
    probs : (n, n_classes) probabilities; or (n,) of an event.
    labels : (n,) integers in [0, n_classes); of an event 1 where it happened.
    weights : (n,) weight of each row; None counts all alike.
    """
    of_label, _ = _probability_of_label(probs, labels)
    return weighted_mean(-np.log(np.maximum(of_label, PROBABILITY_FLOOR)), weights)


def brier(probs: Any, labels: Any, weights: Any = None) -> float:
    """Mean Brier score: of two classes ``(p - y)^2``, from 0 to 1; of more the sum over classes, from 0 to 2.

    The second is Brier's own (1950). Of two classes it would be twice the first, which is what is meant there; this is
    also how scikit-learn's ``brier_score_loss`` scales.

    Parameters
    ----------
    probs : (n, n_classes) probabilities; or (n,) of an event.
    labels : (n,) integers in [0, n_classes); of an event 1 where it happened.
    weights : (n,) weight of each row; None counts all alike.
    """
    of_label, array = _probability_of_label(probs, labels)
    return weighted_mean(_row_brier(array, of_label), weights)


def row_scores(probs: Floats, labels: Ints) -> tuple[Floats, Floats, Floats]:
    """NLL, Brier score and probability of the label of each row, three (n,) arrays."""
    of_label = probs[np.arange(len(probs)), labels].astype(np.float64)
    return -np.log(np.maximum(of_label, PROBABILITY_FLOOR)), _row_brier(probs, of_label), of_label


def _probability_of_label(probs: Any, labels: Any) -> tuple[Floats, Floats]:
    array, known = check_scored(probs, labels)
    if array.ndim == 1:
        array = np.stack([1.0 - array, array], axis=1)
    return array[np.arange(len(array)), known.astype(np.int64)].astype(np.float64), array


def _row_brier(probs: Floats, of_label: Floats) -> Floats:
    # sum_k (p_k - [k = y])^2 without the one-hot matrix; rounding must not make it negative.
    squares = np.maximum(np.einsum("nk,nk->n", probs, probs, dtype=np.float64) - 2.0 * of_label + 1.0, 0.0)
    return squares / 2.0 if probs.shape[1] == 2 else squares


def accuracy(probs: Any, labels: Any, ranking: Any = None, weights: Any = None) -> float:
    """Share of right predictions.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    ranking : (n, n_classes) second key among equal probabilities (the raw logits), then the lower class.
    weights : (n,) weight of each row; None counts all alike.
    """
    return weighted_mean(top_label(probs, labels, ranking)[1], weights)


def top_k_accuracy(probs: Any, labels: Any, k: int = 5, ranking: Any = None) -> float:
    """Share of rows whose label is among the k most probable classes.

    Parameters
    ----------
    probs : (n, n_classes) probabilities.
    labels : (n,) integers in [0, n_classes).
    k : how many classes; with ``k >= n_classes`` the result is 1.
    ranking : (n, n_classes) second key among equal probabilities (the raw logits), then the lower class.
    """
    if int(k) != k or k < 1:
        raise CalibrationError(f"k={k!r} must be a whole number of at least 1.")
    array, labels = check_scored(check_columns(probs), labels)
    keys = array if ranking is None else np.asarray(ranking)
    return float(label_in_top_k(array, labels, k, keys).mean())


def auroc(probs: Any, labels: Any, weights: Any = None) -> float:
    """Area under the ROC curve of an event: ``P(p of an event > p of a non-event)``, equal ones counting half.

    Recalibration that keeps the order does not change it.

    Parameters
    ----------
    probs : (n,) probabilities of the event, or (n, 2) with the event in the second column.
    labels : (n,) 1 where it happened.
    weights : (n,) weight of each row; None counts all alike.

    Returns
    -------
    float
        NaN without an event, or without a row that has none.
    """
    return _ranking(probs, labels, weights)[0]


def average_precision(probs: Any, labels: Any, weights: Any = None) -> float:
    """Mean over the events of the share of events among the rows with as high a probability, or a higher one.

    It is the area under the steps of the precision-recall curve, as scikit-learn's ``average_precision_score``. Random
    ranks give the event rate, which is why it says more than the AUROC of a rare event.

    Parameters
    ----------
    probs, labels, weights : as for :func:`auroc`.

    Returns
    -------
    float
        NaN without an event.
    """
    return _ranking(probs, labels, weights)[1]


def _ranking(probs: Any, labels: Any, weights: Any) -> tuple[float, float]:
    """AUROC and average precision, from events and rows at each probability."""
    said, came = check_event(probs, labels)
    weight = check_weights(weights, len(said))
    cell = np.unique(said, return_inverse=True)[1]
    events, rows = np.bincount(cell, came if weight is None else weight * came), np.bincount(cell, weight)
    others = rows - events
    below = np.cumsum(others) - others / 2.0
    above, events_above = (np.cumsum(each[::-1])[::-1] for each in (rows, events))
    precision = events_above / np.where(above > 0, above, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ranked = events @ below / (events.sum() * others.sum()), events @ precision / events.sum()
    return float(ranked[0]), float(ranked[1])


def label_in_top_k(probs: Floats, labels: Ints, k: int, ranking: Floats) -> Bools:
    """Whether fewer than k classes come before the label, shape (n,).

    Counting the classes ahead needs no sort; ties are looked at only in rows where they decide.
    """
    of_label = probs[np.arange(len(probs)), labels][:, None]
    ahead = np.count_nonzero(probs > of_label, axis=1)
    not_behind = np.count_nonzero(probs >= of_label, axis=1)
    for row in np.flatnonzero((ahead < k) & (not_behind > k)):
        ahead[row] += _tied_ahead(probs[row], labels[row], ranking[row])
    return ahead < k


def _tied_ahead(probs: Floats, label: int, ranking: Floats) -> int:
    """How many classes of one row, as probable as its label, come before it by the second key or their number."""
    tied = np.flatnonzero(probs == probs[label])
    key, own = ranking[tied], ranking[label]
    return int(np.count_nonzero((key > own) | ((key == own) & (tied < label))))
