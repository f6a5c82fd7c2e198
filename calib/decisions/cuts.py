"""Cuts on a probability: from costs, a threshold, a capacity or a target, and what each does on held-out rows.

A row is acted on where its probability of the event is at least the cut. The cut that costs least for a calibrated
probability follows from the costs alone (Elkan 2001). One that a recall or a precision chose on some rows looks better
on these than on others: :mod:`calib.decisions.event_decision` judges it on others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.decisions.outcomes import Costs, Outcome, check_threshold, outcome_of
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Groups, Interval, Resamples, interval_of_draws
from calib.metrics.confidence import Bools, check_event, check_weights
from calib.metrics.estimate import check_clusters
from calib.numerics import Floats, Ints

MAX_CUTS = 2000
"""Different probabilities up to which each is a cut that a resample may choose; above, so many of their quantiles."""


@dataclass(frozen=True, eq=False)
class Decision:
    """A cut and what it does on the rows given.

    Attributes
    ----------
    cut : act where the probability is at least this. A cut that follows from costs or was given has no width.
    basis : "costs", "threshold", "capacity", "recall" or "precision".
    acts : (n,) whether each row is acted on.
    tied : rows whose probability equals the cut. By capacity, as many of them as there is room for are drawn at random.
    outcome : counts, shares and cost on these rows.
    """

    cut: Interval
    basis: str
    acts: Bools
    tied: int
    outcome: Outcome


def decide(
    probs: Any,
    labels: Any,
    *,
    costs: Costs | None = None,
    threshold: float | None = None,
    capacity: tuple[float, float] | None = None,
    recall: float | None = None,
    precision: float | None = None,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> Decision:
    """A cut and what it does on rows with labels.

    Give costs, or one of threshold, capacity, recall and precision; with one of these, costs only price the outcome.

    Parameters
    ----------
    probs : (n,) probabilities of the event, calibrated where the cut follows from costs.
    labels : (n,) 1 where the event happened, 0 elsewhere.
    costs : the cut is then :attr:`calib.decisions.outcomes.Costs.cut`.
    threshold : the cut itself.
    capacity : (cases, rows), so many cases that can be acted on of so many rows: the rows with the highest
        probabilities, rounded down to whole rows; equal probabilities are drawn from. With weights, the share is one of
        their sum.
    recall : the highest cut with at least this share of the events acted on.
    precision : the lowest cut with at least this share of events among the rows acted on.
    weights, clusters : (n,) as in :func:`calib.metrics.net_benefit`.
    level : coverage of the intervals. That of a cut from rows is percentiles of bootstrap resamples; those of the
        outcome hold for the cut as it is.
    n_resamples : of the bootstrap.
    random_state : seed of the bootstrap, and of the draw among equal probabilities.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, not exactly one way to a cut is given, or no cut reaches the target.

    Examples
    --------
    >>> found = decide([0.05, 0.2, 0.6, 0.9], [0, 0, 1, 1], costs=Costs(false_alarm=1, miss=4))
    >>> found.cut.value, found.outcome.true_positives.value, found.outcome.cost.value
    (0.2, 500.0, 0.25)
    """
    said, came = check_event(probs, labels)
    weight = check_weights(weights, len(said))
    if clusters is not None:
        check_clusters(clusters, len(said))
    goals = {"threshold": threshold, "capacity": capacity, "recall": recall, "precision": precision}
    given = [name for name, goal in goals.items() if goal is not None]
    if len(given) > 1 or (not given and costs is None):
        raise CalibrationError(
            "Give one way to a threshold: costs, its value, a capacity, a recall or a precision. Got "
            f"{', '.join(given) or 'none'}."
        )
    basis = given[0] if given else "costs"
    if basis in ("costs", "threshold"):
        value = check_threshold(threshold) if threshold is not None else costs.cut if costs is not None else np.nan
        cut, acts = Interval(value, value, value), said >= value
    else:
        share = _share(basis, goals[basis], came)
        counted = np.ones(len(said)) if weight is None else weight
        cut = _cut(basis, share, said, came, counted, Resamples(len(said), n_resamples, random_state, clusters), level)
        acts = said >= cut.value
        if basis == "capacity":
            acts = _highest_rows(said, counted, share, random_state)
            lowest = float(said[acts].min(initial=said.max()))
            cut = Interval(lowest, min(cut.low, lowest), max(cut.high, lowest))
    outcome = outcome_of(acts, came, costs, weight, clusters, level)
    return Decision(cut, basis, acts, int((said == cut.value).sum()), outcome)


def _share(basis: str, goal: Any, labels: Bools) -> float:
    """What is asked for, as a share."""
    if basis == "capacity":
        cases, rows = goal
        goal = cases / rows if rows else np.nan
    if not 0.0 < goal <= 1.0:
        raise CalibrationError(
            "A capacity is (cases, rows) with at least one case and no more cases than rows; a recall or a "
            f"precision is above 0 and at most 1. The {basis} given is {goal:g}."
        )
    if basis == "recall" and not labels.any():
        raise CalibrationError("No row has the event, so that no threshold has a recall; give rows with events.")
    return float(goal)


def _cut(
    basis: str, share: float, probs: Floats, labels: Bools, weights: Floats, resamples: Resamples, level: float
) -> Interval:
    """The cut among the probabilities of these rows, with percentiles of those that resamples choose."""
    every = np.unique(probs)[::-1]

    def sums(cuts: Floats, groups: Groups) -> tuple[Floats, Floats]:
        """Weights of rows with and without events from each falling cut to the one above it, (groups, cuts)."""
        cell = np.searchsorted(-cuts, -probs)
        return groups.sums_by(cell, len(cuts), weights * labels), groups.sums_by(cell, len(cuts), weights * ~labels)

    events, others = sums(every, Groups(np.zeros(len(probs), dtype=int), 1))
    chosen = int(_place(basis, share, events, others)[0])
    if chosen < 0:
        highest = float(np.max(np.cumsum(events) / np.cumsum(events + others)))
        raise CalibrationError(
            f"No threshold has a precision of {share:g} on these rows: the highest is {highest:.4g}. Ask for "
            "less, or choose a threshold from costs."
        )
    cuts = every
    if len(every) > MAX_CUTS:
        cuts = every[np.linspace(0, len(every) - 1, MAX_CUTS).round().astype(int)]

    def choose(events: Floats, others: Floats) -> Floats:
        places = _place(basis, share, events, others)
        return np.where(places < 0, np.nan, cuts[places])

    return interval_of_draws(float(every[chosen]), resamples.each(choose, *sums(cuts, resamples.groups)), level)


def _place(basis: str, share: float, events: Floats, others: Floats) -> Ints:
    """Place of the cut in each of m samples, -1 where none will do; from (m, cuts) weights at each cut."""
    hits, acted = np.cumsum(events, axis=1), np.cumsum(events + others, axis=1)
    if basis == "capacity":
        return np.argmax(acted >= share * acted[:, -1:] * (1.0 - 1e-12), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        reached = hits / (hits[:, -1:] if basis == "recall" else acted) >= share - 1e-12
    first, last = np.argmax(reached, axis=1), reached.shape[1] - 1 - np.argmax(reached[:, ::-1], axis=1)
    return np.where(reached.any(axis=1), first if basis == "recall" else last, -1)


def _highest_rows(probs: Floats, weights: Floats, share: float, random_state: int) -> Bools:
    """The rows that a capacity takes; the order of the rows could tell their labels, so that ties are drawn."""
    drawn = np.random.default_rng(random_state).permutation(len(probs))
    order = np.lexsort((drawn, -probs))
    taken = np.cumsum(weights[order]) <= share * weights.sum() * (1.0 + 1e-12)
    acts = np.zeros(len(order), dtype=bool)
    acts[order[taken]] = True
    return acts
