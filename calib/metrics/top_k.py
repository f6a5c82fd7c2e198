"""Accuracy, and whether the label is among the k most probable classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from calib.checked_arrays import check_labels
from calib.errors import CalibrationError
from calib.metrics.top_label import Bools, check_probs, top_label
from calib.numerics import Floats, Ints


def accuracy(probs: Any, labels: Any, ranking: Any = None) -> float:
    """Share of right predictions.

    Parameters
    ----------
    probs, labels : (n, n_classes) probabilities and (n,) labels, or the pair (confidence, correct).
    ranking : (n, n_classes) second key among equal probabilities (the raw logits), then the lower class.
    """
    return float(top_label(probs, labels, ranking)[1].mean())


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
    array = check_probs(probs)
    labels = check_labels(labels, array.shape)
    keys = array if ranking is None else np.asarray(ranking)
    return float(label_in_top_k(array, labels, k, keys).mean())


def label_in_top_k(probs: Floats, labels: Ints, k: int, ranking: Floats) -> Bools:
    """Whether fewer than k classes come before the label, shape (n,).

    Counting the classes ahead needs no sort; ties are looked at only in rows where they decide.
    """
    of_label = probs[np.arange(len(probs)), labels][:, None]
    ahead = np.count_nonzero(probs > of_label, axis=1)
    not_behind = np.count_nonzero(probs >= of_label, axis=1)
    inside = ahead < k
    for row in np.flatnonzero(inside & (not_behind > k)):
        label = labels[row]
        tied = np.flatnonzero(probs[row] == probs[row, label])
        key, own = ranking[row, tied], ranking[row, label]
        before = np.count_nonzero((key > own) | ((key == own) & (tied < label)))
        inside[row] = ahead[row] + before < k
    return inside
