"""The few numerical functions that prediction needs, in NumPy alone, the blocks and the checked arrays they work on.

The functions exist so that an exported calibrator runs without SciPy; each is tested against SciPy's version.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

LARGEST = 1e100
"""Largest size of a logit and of a learned number, unless declared otherwise: a product of three is finite."""

_FEW_COLUMNS = 8

CACHED_ENTRIES = 65_536
"""Blocks of about this many numbers stay in the processor's cache from one operation to the next."""

PREDICTED_ENTRIES = 250_000
"""Prediction works on blocks of about this many numbers (2 MB)."""

MEMORY_ENTRIES = 2_000_000
"""Numbers in a block of rows (16 MB) when rows are read and judged: memory does not grow with n."""

PROBABILITY_FLOOR = 1e-15
"""Probabilities below it count as this much in the NLL, as in the papers' tables."""

SMALLEST_UNIT = 1e-90
"""Bounds of the unit of logits, so that a temperature stays a number."""

TIED = 2.0**-22
"""Log-odds this near to each other are equal; rounding probabilities to float32 moves them by up to half as much."""

UNIT_ENTRIES = 200_000
"""Logits of the evenly spaced rows by which their unit is found."""

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.integer]


def block_rows(row_entries: int, entries: int) -> int:
    """Rows of ``row_entries`` numbers in a block of about ``entries`` numbers; at least one."""
    return max(1, entries // max(row_entries, 1))


def blocks(n_rows: int, row_entries: int = 1, entries: int = CACHED_ENTRIES) -> Iterator[slice]:
    """Slices of consecutive rows that together are all rows; each holds about ``entries`` numbers, the last fewer.

    Parameters
    ----------
    n_rows : how many rows there are.
    row_entries : numbers in a row, of the widest array that a block needs.
    entries : numbers in a block.
    """
    step = block_rows(row_entries, entries)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def logsumexp(values: Floats, axis: int = -1) -> Floats:
    """Logarithm of the sum of exponentials along ``axis``; a slice that is all -inf gives -inf."""
    top = np.max(values, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.squeeze(
            top + np.log(np.sum(np.exp(values - top), axis=axis, keepdims=True)), axis=axis
        )


def log_softmax(logits: Floats) -> Floats:
    """Log-probabilities of each row, shape (n, n_classes)."""
    shifted = logits - row_maxima(logits)
    shifted -= np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return shifted


def softmax(logits: Floats) -> Floats:
    """Probabilities of each row, shape (n, n_classes); rows sum to one."""
    probs = logits - row_maxima(logits)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=1, keepdims=True)
    return probs


def row_maxima(logits: Floats) -> Floats:
    """Largest of each row, shape (n, 1); of few columns one after the other, as NumPy is slow on short rows."""
    if logits.shape[1] > _FEW_COLUMNS:
        return np.max(logits, axis=1, keepdims=True)
    return reduce(np.maximum, logits.T)[:, None]


def normalised(probs: npt.ArrayLike) -> Floats:
    """Probabilities (n, n_classes) in float64 whose rows sum to one; a row of zeros becomes uniform."""
    probs = np.asarray(probs, dtype=np.float64)
    total = probs.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1.0 / probs.shape[1], probs / np.where(total == 0, 1.0, total))


def sigmoid(values: Floats) -> Floats:
    """Logistic function without overflow at either end."""
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1.0, small) / (1.0 + small)


def log_odds_of(probs: Any, floor: float = 0.0) -> Floats:
    """Log-odds of probabilities, which count as at least the floor and at most one minus it; infinite at 0 and 1."""
    clipped = np.clip(probs, floor, 1.0 - floor, dtype=np.float64)
    with np.errstate(divide="ignore"):
        return np.log(clipped) - np.log1p(-clipped)


def softplus(values: Floats) -> Floats:
    """``log(1 + exp(values))`` without overflow."""
    return np.logaddexp(0.0, values)


def one_vs_rest_log_odds(logits: Floats) -> Floats:
    """Log-odds of each class against all others, ``z_k - logsumexp_{j != k} z_j``.

    Exact: computed from the logits, never through clipped probabilities (I-Max, Patel et al. 2020, section 4).
    The row maximum is the one entry whose "others" would cancel in ``logsumexp(all) - z_k``, so its sum
    is taken over the others directly.

    Parameters
    ----------
    logits : (n, n_classes) array
    """
    n, n_classes = logits.shape
    if n_classes == 2:
        difference = logits[:, 1] - logits[:, 0]
        return np.stack([-difference, difference], axis=1)
    log_odds = np.empty(logits.shape, dtype=np.result_type(logits.dtype, np.float32))
    for rows in blocks(n, n_classes):
        log_odds[rows] = _log_odds_of_rows(logits[rows].astype(log_odds.dtype, copy=False))
    return log_odds


def _log_odds_of_rows(logits: Floats) -> Floats:
    top = np.arange(len(logits)), np.argmax(logits, axis=1)
    below = logits - logits[top][:, None]
    below[top] = -np.inf
    others = np.exp(below)
    rest = others.sum(axis=1)
    with np.errstate(divide="ignore"):
        highest = -np.log(rest)
    lost = rest < np.finfo(rest.dtype).tiny ** 0.5  # terms so small lose their digits, or vanish
    if lost.any():
        highest[lost] = -logsumexp(below[lost], axis=1)
    # For k != top the sum over the others holds the maximum itself (1), so nothing cancels.
    log_odds = below - np.log1p(np.maximum(rest[:, None] - others, 0.0))
    # Tied or nearly tied maxima may come out in the other order by a rounding error; the maximum stays on top.
    log_odds[top] = np.maximum(highest, log_odds.max(axis=1))
    return log_odds


def are_distinct(log_odds: Floats) -> npt.NDArray[np.bool_]:
    """Mark the increasing (m,) log-odds that differ from the one before by more than :data:`TIED`.

    So 0.2 is one score beside 0.3 and 0.5 and beside 0.4 and 0.4, in float32 as in float64.
    """
    largest = float(np.abs(log_odds[[0, -1]]).max())  # below 1 where logits are in another unit
    return np.append(True, np.diff(log_odds) > TIED * min(1.0, largest))


def float32_error(log_odds: Floats) -> Floats:
    """Bound on the error of float32 in the log-odds of a probability, or in logits with this difference."""
    return TIED * (1 + np.abs(log_odds) + np.exp(np.minimum(log_odds, 10.0)))


def bin_index(values: Floats, edges: Floats) -> Ints:
    """Number of the bin of each value, in [0, len(edges) - 1)."""
    return np.searchsorted(edges[1:-1], values, side="right")


def logit_unit(logits: Floats) -> float:
    """The median gap between the two largest logits of a row, or the mean gap where most rows have none; 1 if all tie.

    Temperatures are searched around it, so that logits in another unit have the same probabilities. Of a calibrated
    model the gap is the log-odds between its two best classes, between 0.1 and 10 for nearly every model.

    Parameters
    ----------
    logits : (n, n_classes), of which evenly spaced rows are read.
    """
    logits = logits[:: max(1, logits.size // UNIT_ENTRIES)]
    best = np.partition(logits, -2, axis=1)[:, -2:]
    gaps = best[:, 1] - best[:, 0]
    for unit in (
        float(np.median(gaps)),
        float(gaps.mean()),
        float((best[:, 1] - logits.min(axis=1)).mean()),
    ):
        if unit > 0:
            return float(np.clip(unit, SMALLEST_UNIT, 1 / SMALLEST_UNIT))
    return 1.0


def midranks(values: Floats) -> Floats:
    """Rank of each of (n,) values from 1 upwards; equal values share the mean of theirs.

    As ``scipy.stats.rankdata``, whose import takes a second.
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2.0
    return middle[place]


def argmax_with_ties(probs: Floats, ranking: Floats) -> Ints:
    """Column of each row's maximum, with ``ranking`` as the second key among equal maxima."""
    top = probs.max(axis=1, keepdims=True)
    best = np.argmax(probs, axis=1)
    tied = np.flatnonzero((probs == top).sum(axis=1) > 1)
    if tied.size:
        best[tied] = np.argmax(np.where(probs[tied] == top[tied], ranking[tied], -np.inf), axis=1)
    return best


def less_row_maxima(logits: Floats, original: Any) -> Floats:
    """Logits less the largest of their row, so that what was added to a row changes nothing and costs no digits.

    Parameters
    ----------
    logits : (n, n_classes) what :func:`check_logits` made of ``original``; written to where that is a copy already.
    """
    copied = np.asarray(original).dtype != logits.dtype
    return np.subtract(logits, row_maxima(logits), out=logits if copied else None)
