"""Net benefit of acting on a probability, and decision curves (Vickers and Elkin 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools, check_event, scikit_names
from calib.metrics.estimate import shares_of_rows
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class Band:
    """A quantity at each of m thresholds with its interval, three (m,) arrays."""

    value: Floats
    low: Floats
    high: Floats

    def at(self, place: int) -> Interval:
        """The value and the interval at one threshold, by its place."""
        return Interval(float(self.value[place]), float(self.low[place]), float(self.high[place]))


@dataclass(frozen=True, eq=False)
class NetBenefit:
    """Net benefit per row of acting where the probability reaches a threshold.

    A row with an event that is acted on counts 1, one without an event costs the odds of the threshold.

    Attributes
    ----------
    thresholds : ndarray of shape (m,)
        Rising.
    model : Band
        Acting where ``p >= t``.
    treat_all : Band
        Acting on every row. Acting on none has a net benefit of 0.
    avoided : Band
        Net interventions avoided per row against acting on all: ``(model - treat_all) / odds(t)``.
    event_rate : Interval
        Share of rows with the event.
    """

    thresholds: Floats
    model: Band
    treat_all: Band
    avoided: Band
    event_rate: Interval

    @property
    def useful_range(self) -> tuple[float, float] | None:
        """Ends of the longest run of thresholds at which the model is of use, or None.

        There the 95 % intervals of its net benefit and of what it gains over acting on all rows lie above 0.
        """
        useful = (self.model.low > 0.0) & (self.avoided.low > 0.0)
        runs = np.split(np.arange(len(useful)), np.flatnonzero(np.diff(useful)) + 1)
        longest = max((run for run in runs if useful[run[0]]), key=len, default=None)
        if longest is None:
            return None
        return float(self.thresholds[longest[0]]), float(self.thresholds[longest[-1]])


@scikit_names
def net_benefit(
    probs: Any,
    labels: Any,
    thresholds: Any,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> NetBenefit:
    """Net benefit at thresholds, ``TP/n - FP/n * t / (1 - t)`` (Vickers and Elkin 2006), with intervals.

    Intervals are those of :class:`calib.metrics.estimate.Shares`, at each threshold by itself.

    Parameters
    ----------
    probs : array_like of shape (n,) or (n, 2)
        Probabilities of the event; of two columns the second counts.
    labels : array_like of shape (n,)
        1 where the event happened, 0 elsewhere.
    thresholds : float or array_like of shape (m,)
        One or more numbers between 0 and 1; a row is acted on where its probability is at least the threshold.
    weights : array_like of shape (n,) or None, default None
        Sampling or exposure weights; they count in the values and in the intervals.
    clusters : array_like of shape (n,) or None, default None
        What rows that belong together share.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    NetBenefit
        At each threshold.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together or a threshold is not between 0 and 1.

    Examples
    --------
    >>> found = net_benefit([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1], [0.2, 0.5])
    >>> found.model.value  # 2/4 - 1/4 * 0.2/0.8 at 0.2, and 2/4 at 0.5
    array([0.4375, 0.5   ])
    """
    predicted, observed = check_event(probs, labels)
    cuts = check_thresholds(thresholds)
    acted = _acted(len(cuts))
    step = np.searchsorted(cuts, predicted, side="right")
    kinds = np.repeat([False, True], len(cuts) + 1)[:, None]
    act = np.vstack([acted, acted])
    # Properties: true and false positives, false negatives and true negatives at each threshold, events, the rest.
    table = np.hstack([act & kinds, act & ~kinds, ~act & kinds, ~act & ~kinds, kinds, ~kinds])
    shares = shares_of_rows(observed * (len(cuts) + 1) + step, table, weights, clusters)
    odds = cuts / (1.0 - cuts)
    eye = np.eye(len(cuts))
    zero = np.zeros((len(cuts), len(cuts)))
    none = np.zeros((len(cuts), 1))
    ones = np.ones((len(cuts), 1))
    critical = shares.critical(level)
    model = Band(*shares.combined(np.hstack([eye, -eye * odds, zero, zero, none, none]), critical))
    treat_all = Band(
        *shares.combined(np.hstack([zero, zero, zero, zero, ones, -odds[:, None]]), critical)
    )
    avoided = Band(
        *shares.combined(np.hstack([zero, zero, -eye / odds, eye, none, none]), critical)
    )
    return NetBenefit(cuts, model, treat_all, avoided, shares.of_share(4 * len(cuts), level))


def net_benefit_difference(
    probs: Any,
    other: Any,
    labels: Any,
    thresholds: Any,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> Band:
    """Net benefit of one model minus that of another, paired by row.

    Parameters
    ----------
    probs, other : array_like of shape (n,) or (n, 2)
        Probabilities of the event by the two models, on the same rows.
    labels : array_like of shape (n,)
        1 where the event happened, 0 elsewhere.
    thresholds : float or array_like of shape (m,)
        As in :func:`net_benefit`.
    weights, clusters : array_like of shape (n,) or None, default None
        As in :func:`net_benefit`.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    Band
        First minus second at each threshold, in rising order; above 0 the first model is better.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together or a threshold is not between 0 and 1.

    Examples
    --------
    >>> found = net_benefit_difference([0.1, 0.6, 0.9], [0.1, 0.3, 0.9], [0, 1, 1], [0.5])
    >>> found.at(0).value  # one more of three events is acted on
    0.3333333333333333
    """
    predicted, observed = check_event(probs, labels)
    against, _ = check_event(other, labels)
    cuts = check_thresholds(thresholds)
    acted = _acted(len(cuts))
    size = len(cuts) + 1
    first, second = (np.searchsorted(cuts, p, side="right") for p in (predicted, against))
    codes, cell = np.unique((observed * size + first) * size + second, return_inverse=True)
    event = codes // size**2 == 1
    by_first = acted[codes // size % size]
    by_second = acted[codes % size]
    gained = by_first & ~by_second
    lost = by_second & ~by_first
    event = event[:, None]
    differ = gained | lost
    table = np.hstack([gained & event, lost & event, gained & ~event, lost & ~event])
    changes, events = (shares_of_rows(cell, kinds, weights, clusters) for kinds in (differ, event))
    shares = shares_of_rows(cell, table, weights, clusters, (changes, events))
    odds = cuts / (1.0 - cuts)
    eye = np.eye(len(cuts))
    factors = np.hstack([eye, -eye, -eye * odds, eye * odds])
    return Band(*shares.combined(factors, shares.critical(level)))


def check_thresholds(thresholds: Any) -> Floats:
    """Thresholds as a rising (m,) array without repetitions."""
    cuts: npt.NDArray[Any] = np.unique(np.atleast_1d(np.asarray(thresholds, dtype=float)))
    if not cuts.size or not np.all((cuts > 0.0) & (cuts < 1.0)):
        raise CalibrationError(
            f"Thresholds must lie between 0 and 1, ends excluded; got {np.array2string(cuts, threshold=6)}. At a "
            "threshold of 0 every row is acted on, at 1 a false alarm costs infinitely much."
        )
    return cuts


def _acted(n_cuts: int) -> Bools:
    """Action at each threshold for a row that reaches exactly the first ``step`` of them, (n_cuts + 1, n_cuts)."""
    reached: Ints = np.arange(n_cuts + 1)
    return reached[:, None] > np.arange(n_cuts)
