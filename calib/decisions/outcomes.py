"""Outcomes and costs of an action on each row, and of the change from one rule to another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.arrays import check_number
from calib.errors import CalibrationError
from calib.metrics.bootstrap import UNKNOWN, Interval
from calib.metrics.confidence import Bools, check_event
from calib.metrics.estimate import rows_by_correlation, share_of_rows, shares_of_rows


@dataclass(frozen=True)
class Costs:
    """Cost of each error more than of the right action for the same row, in any unit.

    Attributes
    ----------
    false_alarm, miss : float
        Acting without an event, and not acting on one.

    Raises
    ------
    CalibrationError
        Unless both are above 0: an error that costs nothing needs no threshold.

    Examples
    --------
    >>> Costs(false_alarm=1, miss=9).cut
    0.1
    """

    false_alarm: float
    miss: float

    def __post_init__(self) -> None:
        for name, cost in vars(self).items():
            check_number(name, cost, 0, ends=False)

    @property
    def cut(self) -> float:
        """``false_alarm / (false_alarm + miss)`` (Elkan 2001, equation 2); for calibrated probabilities."""
        return self.false_alarm / (self.false_alarm + self.miss)


@dataclass(frozen=True)
class Outcome:
    """Counts, shares and cost of acting on some of the rows, with intervals.

    Attributes
    ----------
    true_positives, false_positives, misses : Interval
        Rows of each kind, of 1,000 rows.
    acted : Interval
        Rows acted on, of 1,000 rows.
    recall : Interval
        Share of the events that are acted on.
    precision : Interval
        Share of the rows acted on that have the event.
    cost : Interval
        Mean cost of a row.
    """

    true_positives: Interval
    false_positives: Interval
    misses: Interval
    acted: Interval
    recall: Interval
    precision: Interval
    cost: Interval


@dataclass(frozen=True)
class Change:
    """Differences between two rules on the same rows, with paired intervals.

    Attributes
    ----------
    changed : Interval
        Share of rows whose action changes.
    saved : Interval
        Mean cost of a row by the old rule minus that by the new one; above 0 the new rule is cheaper.
    """

    changed: Interval
    saved: Interval


def outcome_of(
    acts: Any,
    labels: Any,
    costs: Costs,
    weights: Any = None,
    clusters: Any = None,
) -> Outcome:
    """Evaluate acting on these rows, in counts of 1,000, shares and cost.

    95 % intervals are those of :class:`calib.metrics.estimate.Shares`; recall and precision have Wilson's among the
    events and among the rows acted on.

    Parameters
    ----------
    acts : array_like of shape (n,)
        Whether each row is acted on.
    labels : array_like of shape (n,)
        1 where the event happened, 0 elsewhere.
    costs : Costs
        Cost of each error.
    weights, clusters : array_like of shape (n,) or None, default None
        As in :func:`calib.metrics.net_benefit`.

    Returns
    -------
    Outcome
        Each number with its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.decisions import Costs, outcome_of
    >>> risk, happened = np.tile([0.9, 0.8, 0.3, 0.1], 50), np.tile([1, 0, 1, 0], 50)
    >>> found = outcome_of(risk >= 0.5, happened, Costs(false_alarm=1, miss=1))
    >>> round(found.recall.value, 3), round(found.precision.value, 3)
    (0.5, 0.5)
    """
    acted, observed = _check_acts(acts, labels)
    table = np.column_stack([np.eye(4)[:, 1:], [0, 0, 1, 1]])
    shares = shares_of_rows(2 * acted + observed, table, weights, clusters)
    misses, alarms, positives, acting = (_of_thousand(shares.of_share(k)) for k in range(4))
    return Outcome(
        positives,
        alarms,
        misses,
        acting,
        recall=_share_among(observed, acted, weights, clusters),
        precision=_share_among(acted, observed, weights, clusters),
        cost=shares.of_combination([costs.miss, costs.false_alarm, 0, 0]),
    )


def change(
    acts: Any,
    before: Any,
    labels: Any,
    costs: Costs,
    weights: Any = None,
    clusters: Any = None,
) -> Change:
    """Compare a new rule with an old one: today's cut, or the raw probability at the same cut.

    Only rows whose action changes cost differently, so that the interval comes from these, paired. Where none of n rows
    changes the interval still reaches as far as about 4 changed rows of n would: others may. With clusters it reaches
    as far as if all rows of about 4 of them changed: no change shows how alike the rows of a cluster are. Where rows
    change, a kind of change that does not occur, such as an event that is newly acted on, counts as absent from as many
    independent rows as the clusters are worth for the share of changes or for the event rate, whichever is fewer.

    Shares of changes count no more independent rows than the correlation within clusters allows (Fleiss and Cuzick
    1979). In simulations with 60 clusters of log-normal size, half of whose rows change with their cluster, the
    interval of ``changed`` held a share of 5 % in 90 of 100 samples and one of 20 % in 94. Where changes are so few
    that hardly a whole cluster changes, it is too short.

    Parameters
    ----------
    acts, before : array_like of shape (n,)
        Whether each row is acted on by the new and by the old rule.
    labels : array_like of shape (n,)
        1 where the event happened, 0 elsewhere.
    costs : Costs
        Cost of each error.
    weights, clusters : array_like of shape (n,) or None, default None
        As in :func:`calib.metrics.net_benefit`.

    Returns
    -------
    Change
        With paired 95 % intervals.

    Examples
    --------
    >>> raw, calibrated = np.array([0.3, 0.6, 0.9]), np.array([0.2, 0.4, 0.8])
    >>> found = change(calibrated >= 0.5, raw >= 0.5, [0, 0, 1], Costs(false_alarm=1, miss=1))
    >>> found.changed.value, found.saved.value  # one false alarm of three rows less
    (0.3333333333333333, 0.3333333333333333)
    """
    acted, observed = _check_acts(acts, labels)
    old, _ = _check_acts(before, labels)
    new = acted & ~old
    gone = old & ~acted
    cell = 2 * np.where(new, 1, np.where(gone, 2, 0)) + observed
    changes, events = (share_of_rows(hit, weights, clusters) for hit in (new | gone, observed))
    patterns = np.column_stack([np.eye(6)[:, 2:], [0, 0, 1, 1, 1, 1]])
    shares = shares_of_rows(cell, patterns, weights, clusters, (changes, events))
    saved = shares.of_combination(
        [-costs.false_alarm, costs.miss, costs.false_alarm, -costs.miss, 0]
    )
    most = rows_by_correlation(new | gone, weights, clusters)
    return Change(replace(shares, most=most).of_share(4), saved)


def _check_acts(acts: Any, labels: Any) -> tuple[Bools, Bools]:
    acted = np.asarray(acts)
    if acted.dtype.kind != "b":
        raise CalibrationError(
            "Say for each row whether it is acted on, True or False: (probs >= cut)."
        )
    _, observed = check_event(acted, labels)
    return acted, observed


def _of_thousand(share: Interval) -> Interval:
    return Interval(*(1000.0 * part for part in share))


def _share_among(rows: Bools, right: Bools, weights: Any, clusters: Any) -> Interval:
    """Share of some rows that have a property, with its interval; NaN among no rows."""
    weight, cluster = (None if of is None else np.asarray(of)[rows] for of in (weights, clusters))
    if not rows.any() or (weight is not None and not weight.any()):
        return UNKNOWN
    return share_of_rows(right[rows], weight, cluster).of_share(0)
