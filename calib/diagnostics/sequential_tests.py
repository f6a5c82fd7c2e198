"""A test of O:E that may be looked at after every batch of new rows: an e-process.

An e-process is nonnegative and has a mean of at most 1 at every time while its null hypothesis holds, so that it ever
reaches ``1 / alpha`` with probability at most ``alpha`` (Ville 1939; Ramdas et al. 2023, arXiv:2210.01948). A test
repeated every week at 5 % raises a false alarm in 38 of 100 calibrated models within two years; this one does not.

It is a mixture of likelihood ratios over sizes of a change, and over the batch in which it begins, so that a change
after a quiet year is found. Rows are taken as independent given their probabilities, and nothing about the batches may
depend on the outcomes: rows enter in the order of their dates, late labels when they become known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.confidence import check_event
from calib.numerics import Floats, Ints, logsumexp

__all__ = ["tests_over_time"]

MAX_BATCHES = 2000
"""Batches that are told apart."""
FROM_THE_START = 0.5
"""Weight of a change that begins in the first batch; later ones share the rest, half of it within ``LATER`` batches."""
LATER = 25


def _effects() -> tuple[Floats, Floats]:
    """Sizes of a change on the log scale, (J,), and their weights: most on 20 to 45 %, some on every other size."""
    size = np.geomspace(0.005, 1.4, 20)
    near = np.exp(-0.5 * (np.log(size / 0.3) / 0.4) ** 2)
    weights = 0.9 * near / near.sum() + 0.1 / len(size)
    return np.concatenate([-size[::-1], size]), np.concatenate([weights[::-1], weights]) / 2.0


EFFECTS, WEIGHTS = _effects()


@dataclass(frozen=True, eq=False)
class SequentialTests:
    """Result of the test after each of T batches.

    Attributes
    ----------
    batches : tuple of str
        T names.
    rows : ndarray of int of shape (T,)
        Rows of each batch alone.
    observed : ndarray of shape (T,)
        How often the event happened in each batch alone.
    expected : ndarray of shape (T,)
        Sum of the probabilities of each batch alone.
    o_e : ndarray of shape (T,)
        Observed over expected of all rows so far.
    low : ndarray of shape (T,)
        Lower end of a confidence sequence: with ``high`` it holds the true ratio at all times together with probability
        ``1 - alpha``, also of rates that change.
    high : ndarray of shape (T,)
        Its upper end.
    log_e : ndarray of shape (T,)
        Natural logarithm of the e-process.
    alpha : float, default 0.05
        A false alarm is raised with at most this probability, however often one looks.
    """

    batches: tuple[str, ...]
    rows: Ints
    observed: Floats
    expected: Floats
    o_e: Floats
    low: Floats
    high: Floats
    log_e: Floats
    alpha: float = 0.05

    def __len__(self) -> int:
        return len(self.batches)

    @property
    def alarm(self) -> int | None:
        """The first batch, counted from 0, at which the e-value reached ``1 / alpha``; None where it did not."""
        over = np.flatnonzero(self.log_e >= -np.log(self.alpha))
        return int(over[0]) if len(over) else None

    @property
    def sentence(self) -> str:
        """O:E of all rows, the batch of an alarm, and the e-value, for people."""
        limit = 1.0 / self.alpha
        alarm = (
            f"**alarm in batch {self.alarm + 1:,} of {len(self):,}** ({self.batches[self.alarm]})"
            if self.alarm is not None
            else f"no alarm in {len(self):,} batches"
        )
        return (
            f"O:E {self.o_e[-1]:.2f} ({self.low[-1]:.2f} to {self.high[-1]:.2f}, valid at every look): {alarm}; "
            f"e-value {format_e_value(float(self.log_e[-1]))} at the end, alarm from {limit:g}."
        )


def sequential_tests(
    probs: Any, outcomes: Any, batch: Ints, names: Sequence[str], alpha: float = 0.05
) -> SequentialTests:
    """Test O:E after every batch; ``batch`` numbers each row's, in the order of time, as :func:`batches_of` does."""
    predicted, happens = check_event(probs, outcomes)
    n_batches = len(names)
    rows = np.bincount(batch, minlength=n_batches)
    observed = np.bincount(batch, weights=happens, minlength=n_batches).astype(np.float64)
    expected = np.bincount(batch, weights=predicted, minlength=n_batches).astype(np.float64)
    n = np.cumsum(rows)
    happened = np.cumsum(observed)
    total = np.cumsum(expected)
    low, high = confidence_sequence(n, happened, total, alpha)
    return SequentialTests(
        batches=tuple(names),
        rows=rows,
        observed=observed,
        expected=expected,
        o_e=happened / np.maximum(total, 1e-300),
        low=low,
        high=high,
        log_e=log_mixture(o_e_ratios(predicted, happens, batch, n_batches)),
        alpha=alpha,
    )


def log_mixture(
    log_ratios: Floats, weights: Floats = WEIGHTS, starts: Floats | None = None
) -> Floats:
    """Logarithm of an e-process that mixes likelihood ratios over sizes and starting batches of a change.

    Parameters
    ----------
    log_ratios : (..., T, J) of each batch alone, for J sizes.
    weights : (J,) of the sizes, with sum 1.
    starts : (T,) weight of a change that begins with each batch, with sum at most 1: what is not given yet stays
        aside. By default those of :func:`start_weights`; 1 and zeros test from the first batch alone.

    Returns
    -------
    (..., T)
    """
    n_batches = log_ratios.shape[-2]
    starts = start_weights(n_batches) if starts is None else starts
    with np.errstate(divide="ignore"):
        log_starts = np.log(starts)
        aside = np.log(np.maximum(1.0 - np.cumsum(starts), 0.0))
        log_weights = np.log(weights)
    begun = np.full(log_ratios.shape[:-2] + log_ratios.shape[-1:], -np.inf)
    log_e = np.empty(log_ratios.shape[:-1])
    for t in range(n_batches):
        begun = np.logaddexp(begun, log_starts[t]) + log_ratios[..., t, :]
        log_e[..., t] = np.logaddexp(logsumexp(begun + log_weights), aside[t])
    return log_e


def start_weights(n_batches: int) -> Floats:
    """Weights of the batch in which a change begins, (T,): half on the first, the rest on all that may ever follow."""
    later = np.arange(max(n_batches - 1, 0))
    return np.r_[
        FROM_THE_START, (1.0 - FROM_THE_START) * LATER / ((later + LATER) * (later + LATER + 1.0))
    ][:n_batches]


def o_e_ratios(
    probs: Floats, outcomes: Any, batch: Ints, n_batches: int, effects: Floats = EFFECTS
) -> Floats:
    """Logarithms of likelihood ratios against "probabilities are true", for a shift of all log-odds by ``effects``.

    ``a O - sum_i ln(1 + p_i (e^a - 1))``: outcomes with log-odds of ``logit p_i + a`` against those with ``logit p_i``.

    Returns
    -------
    (T, J) for each batch.
    """
    observed = np.bincount(batch, weights=outcomes, minlength=n_batches)
    log_factors = np.multiply.outer(observed, effects)
    for j, tilt in enumerate(np.expm1(effects)):
        log_factors[:, j] -= np.bincount(batch, weights=np.log1p(probs * tilt), minlength=n_batches)
    return log_factors


def confidence_sequence(
    rows: Ints, observed: Floats, expected: Floats, alpha: float = 0.05
) -> tuple[Floats, Floats]:
    """Ends (T,) of intervals for O:E that hold at all times together with probability ``1 - alpha``.

    ``exp(a O - n ln(1 + m (e^a - 1)))``, with m the mean of the n true probabilities so far, is at most the same with
    each row's own, which is a martingale: the logarithm is concave (Jensen). The interval holds all m at which the
    mixture over a stays below ``1 / alpha``, also where the true rates change from row to row.

    Parameters
    ----------
    rows, observed, expected : (T,) sums so far.
    """
    n = rows[:, None]
    happened = observed[:, None]
    tilt = np.expm1(EFFECTS)
    log_weights = np.log(WEIGHTS)

    def is_inside(mean: Floats) -> Any:
        values = logsumexp(log_weights + EFFECTS * happened - n * np.log1p(mean[:, None] * tilt))
        return values < -np.log(alpha)

    middle = observed / np.maximum(rows, 1)
    ends = []
    for outer in (np.zeros(len(middle)), np.ones(len(middle))):
        inside = middle.copy()
        outside = outer
        for _ in range(50):
            between = (inside + outside) / 2.0
            good = is_inside(between)
            inside = np.where(good, between, inside)
            outside = np.where(good, outside, between)
        ends.append(inside * rows / np.maximum(expected, 1e-300))
    return ends[0], ends[1]


def batches_of(n: int, times: Any = None, size: int | None = None) -> tuple[Ints, tuple[str, ...]]:
    """Return the batch of each of n rows, and the batches' names.

    Parameters
    ----------
    n : rows.
    times : (n,) dates, of which each week is a batch (each day where they span less than eight weeks), or numbers, of
        which each is one. None takes the rows in their order.
    size : rows of a batch where there are no times.
    """
    if times is None:
        size = size or default_size(n)
        batch: Ints = np.arange(n) // size
        names = tuple(
            f"{k * size + 1:,} to {min((k + 1) * size, n):,}" for k in range(-(-n // size))
        )
    else:
        batch, names = _batches_in_time(np.asarray(times))
    if len(names) > MAX_BATCHES:
        raise CalibrationError(
            f"There are {len(names):,} batches, more than the {MAX_BATCHES:,} that are followed; give a column of "
            "dates or of week numbers, or larger batches."
        )
    return batch, names


def tests_over_time(
    probs: Any,
    labels: Any,
    times: Any = None,
    size: int | None = None,
    alpha: float = 0.05,
) -> SequentialTests:
    """Test O:E after every batch of rows.

    Parameters
    ----------
    probs : array_like of shape (n,)
        Probabilities of the event, or confidences.
    labels : array_like of shape (n,)
        Whether the event happened, or the prediction was right.
    times : array_like of shape (n,) or None, default None
        Text from :attr:`calib.data.Predictions.times`: dates, of which each week is a batch (each day where they span
        less than eight weeks), or numbers, of which each is one. None takes the rows in their order.
    size : int or None, default None
        Rows of a batch where there are no times; by default about fifty batches of at least 20 rows.
    alpha : float, default 0.05
        Probability of a false alarm.

    Returns
    -------
    SequentialTests
        What the test says after each batch.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together or are no probabilities and outcomes, or there are more than 2,000 batches.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 9, 4000)
    >>> y = rng.random(4000) < 1.5 * p
    >>> tests_over_time(p, y, size=100).alarm is not None
    True
    """
    return sequential_tests(probs, labels, *batches_of(len(probs), times, size), alpha)


def default_size(n: int) -> int:
    """Rows of a batch in file order: about fifty batches, of 20 rows at least, in round numbers."""
    least = max(20.0, n / 50)
    unit = 10.0 ** np.floor(np.log10(least))
    return int(next(step * unit for step in (1, 2, 5, 10) if step * unit >= least))


def _batches_in_time(times: Any) -> tuple[Ints, tuple[str, ...]]:
    distinct, place = np.unique(times, return_inverse=True)
    try:
        numbers = distinct.astype(np.float64)
    except ValueError:
        days = distinct.astype("datetime64[D]").astype(np.int64)
        step = 7 if np.ptp(days) >= 56 else 1
        begin = days - (days + 3) % step  # 1 January 1970 was a Thursday: weeks begin on Mondays
        periods, period = np.unique(begin, return_inverse=True)
        return period[place], tuple(str(day) for day in periods.astype("datetime64[D]"))
    order = np.argsort(numbers)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[place], tuple(str(distinct[k]) for k in order)


def format_e_value(log_e: float) -> str:
    """An e-value from its natural logarithm: 0.31, 24 or 10^12."""
    return f"{np.exp(log_e):.2g}" if log_e < np.log(1e4) else f"10^{log_e / np.log(10):.0f}"
