"""Proper scores: negative log-likelihood and Brier score."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.checked_arrays import check_labels
from calib.metrics.top_label import check_probs
from calib.numerics import Floats, Ints

PROBABILITY_FLOOR = 1e-15
"""Probabilities below it count as this much in the NLL, as in the papers' tables."""


def nll(probs: Any, labels: Any) -> float:
    """Mean negative log-likelihood in nats, with probabilities below 1e-15 put at 1e-15.

    Parameters
    ----------
    probs : (n, n_classes) probabilities.
    labels : (n,) integers in [0, n_classes).
    """
    of_label, _ = _probability_of_label(probs, labels)
    return float(-np.log(np.maximum(of_label, PROBABILITY_FLOOR)).mean())


def count_clipped(probs: Any, labels: Any) -> int:
    """Number of rows in which the label's probability is below 1e-15 and so was clipped in :func:`nll`."""
    of_label, _ = _probability_of_label(probs, labels)
    return int((of_label < PROBABILITY_FLOOR).sum())


def brier(probs: Any, labels: Any) -> float:
    """Mean Brier score, the squared distance from the one-hot label summed over classes (Brier 1950).

    It lies between 0 and 2; papers on binary calibration print half of it.

    Parameters
    ----------
    probs : (n, n_classes) probabilities.
    labels : (n,) integers in [0, n_classes).
    """
    of_label, array = _probability_of_label(probs, labels)
    return float(_row_brier(array, of_label).mean())


def row_scores(probs: Floats, labels: Ints) -> tuple[Floats, Floats, Floats]:
    """NLL, Brier score and probability of the label of each row, three (n,) arrays."""
    of_label = probs[np.arange(len(probs)), labels].astype(np.float64)
    return -np.log(np.maximum(of_label, PROBABILITY_FLOOR)), _row_brier(probs, of_label), of_label


def _probability_of_label(probs: Any, labels: Any) -> tuple[Floats, Floats]:
    array = check_probs(probs)
    labels = check_labels(labels, array.shape)
    return array[np.arange(len(array)), labels].astype(np.float64), array


def _row_brier(probs: Floats, of_label: Floats) -> Floats:
    # sum_k (p_k - [k = y])^2 without the one-hot matrix; rounding must not make it negative.
    return np.maximum(np.einsum("nk,nk->n", probs, probs, dtype=np.float64) - 2.0 * of_label + 1.0, 0.0)
