"""Cuts on a probability: from costs, a threshold, a capacity or a target, and what each does on held-out rows.

A row is acted on where its probability of the event is at least the cut. The cut that costs least for a calibrated
probability follows from the costs alone (Elkan 2001); one that was searched on rows looks better on these rows than on
others, which :attr:`Decision.optimism` estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.decisions.outcomes import Costs, Outcome, check_threshold, outcome_of
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Groups, Interval, Resamples, interval_of_draws
from calib.metrics.confidence import Bools, check_event, check_weights
from calib.metrics.proportions import check_clusters
from calib.numerics import Floats, Ints

MAX_CUTS = 2000
"""Different probabilities up to which each is a cut that a resample may choose; above, so many of their quantiles."""
_MISSING = float("nan")


@dataclass(frozen=True, eq=False)
class Decision:
    """A cut and what it does on the rows given.

    Attributes
    ----------
    cut : act where the probability is at least this. A cut that follows from costs or was given has no width.
    basis : "costs", "threshold", "capacity", "recall", "precision" or "least cost".
    searched : whether labels of these rows chose the cut.
    optimism : what a searched cut looks better by here than on new rows, in the unit of what was searched (recall,
        precision, or cost of a row), by the bootstrap (Efron and Tibshirani 1993, section 17.6); None otherwise.
    acts : (n,) whether each row is acted on.
    tied : rows whose probability equals the cut. By capacity, as many of them as there is room for are drawn at random.
    outcome : counts, shares and cost on these rows.
    """

    cut: Interval
    basis: str
    searched: bool
    optimism: float | None
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
    search: bool = False,
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
    search : with costs alone, take the cut that costs least on these rows, which is unstable: prefer
        :func:`calib.decisions.recalibration.recalibrated_cut`.
    weights, clusters : (n,) as in :func:`calib.metrics.net_benefit`.
    level : coverage of the intervals. Those of a searched cut and of a capacity are percentiles of bootstrap resamples;
        those of the outcome hold for the cut as it is, so that of a searched one is optimistic.
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
    if len(given) > 1 or (not given and costs is None) or (given and search):
        raise CalibrationError(
            "Give one way to a threshold: costs, its value, a capacity, a recall or a precision; `search` goes with "
            f"costs alone. Got {', '.join(given) or 'none'}."
        )
    basis = given[0] if given else "least cost" if search else "costs"
    if basis in ("costs", "threshold"):
        value = check_threshold(threshold) if threshold is not None else costs.cut if costs is not None else _MISSING
        acts = said >= value
        cut, optimism = Interval(value, value, value), None
    else:
        goal = costs.of_kinds if costs is not None and basis == "least cost" else goals[basis]
        search_on = _Search(basis, goal, said, came, weight)
        cut, optimism = search_on.with_interval(Resamples(len(said), n_resamples, random_state, clusters), level)
        acts = said >= cut.value
        if basis == "capacity":
            acts = search_on.highest_rows(random_state)
            lowest = float(said[acts].min(initial=said.max()))
            cut = Interval(lowest, min(cut.low, lowest), max(cut.high, lowest))
    outcome = outcome_of(acts, came, costs, weight, clusters, level)
    searched = basis in ("recall", "precision", "least cost")
    return Decision(cut, basis, searched, optimism, acts, int((said == cut.value).sum()), outcome)


class _Search:
    """The choice of a cut among the probabilities of some rows, on these rows and on resamples of them."""

    def __init__(self, basis: str, goal: Any, probs: Floats, labels: Bools, weights: Floats | None):
        self._probs, self._labels, self._basis = probs, labels, basis
        self._weights = np.ones(len(probs)) if weights is None else weights
        self._all = Groups(np.zeros(len(probs), dtype=int), 1)
        if basis == "capacity":
            cases, rows = goal
            goal = cases / rows if rows else _MISSING
        if basis != "least cost" and not 0.0 < goal <= 1.0:
            raise CalibrationError(
                "A capacity is (cases, rows) with at least one case and no more cases than rows; a recall or a "
                f"precision is above 0 and at most 1. The {basis} given is {goal:g}."
            )
        if basis == "recall" and not labels.any():
            raise CalibrationError("No row has the event, so that no threshold has a recall; give rows with events.")
        self._goal = goal

    def with_interval(self, resamples: Resamples, level: float) -> tuple[Interval, float | None]:
        """The cut with percentiles of those that resamples choose, and the optimism of what was searched."""
        cuts = np.unique(self._probs)[::-1]
        chosen = int(self._chosen(*self._sums(cuts, self._all))[0])
        if chosen < 0:
            highest = float(np.nanmax(self._criterion(*self._sums(cuts, self._all))))
            raise CalibrationError(
                f"No threshold has a precision of {self._goal:g} on these rows: the highest is {highest:.4g}. Ask for "
                "less, or choose a threshold from costs."
            )
        value = float(cuts[chosen])
        if len(cuts) > MAX_CUTS:
            cuts = cuts[np.linspace(0, len(cuts) - 1, MAX_CUTS).round().astype(int)]
        here = self._criterion(*self._sums(cuts, self._all))[0]

        def choose(events: Floats, others: Floats) -> Floats:
            places = self._chosen(events, others)
            there = self._criterion(events, others)[np.arange(len(places)), places]
            found = np.column_stack([cuts[places], there - here[places]])
            found[places < 0] = _MISSING
            return found

        draws = resamples.each(choose, *self._sums(cuts, resamples.groups))
        interval = interval_of_draws(value, draws[:, 0], level)
        if self._basis == "capacity":
            return interval, None
        return interval, float(np.nanmean(draws[:, 1])) * (-1.0 if self._basis == "least cost" else 1.0)

    def highest_rows(self, random_state: int) -> Bools:
        """The rows that a capacity takes; the order of the rows could tell their labels, so that ties are drawn."""
        drawn = np.random.default_rng(random_state).permutation(len(self._probs))
        order = np.lexsort((drawn, -self._probs))
        taken = np.cumsum(self._weights[order]) <= self._goal * self._weights.sum() * (1.0 + 1e-12)
        acts = np.zeros(len(order), dtype=bool)
        acts[order[taken]] = True
        return acts

    def _sums(self, cuts: Floats, groups: Groups) -> tuple[Floats, Floats]:
        """Weights of rows with and without events from each falling cut to the one above it, (groups, cuts)."""
        cell = np.searchsorted(-cuts, -self._probs)
        events, others = self._weights * self._labels, self._weights * ~self._labels
        return groups.sums_by(cell, len(cuts), events), groups.sums_by(cell, len(cuts), others)

    def _chosen(self, events: Floats, others: Floats) -> Ints:
        """Place of the cut in each of m samples, -1 where none will do; from (m, cuts) weights at each cut."""
        if self._basis == "least cost":
            return np.argmin(self._criterion(events, others), axis=1)
        if self._basis == "capacity":
            acted = np.cumsum(events + others, axis=1)
            return np.argmax(acted >= self._goal * acted[:, -1:] * (1.0 - 1e-12), axis=1)
        reached = self._criterion(events, others) >= self._goal - 1e-12
        last = reached.shape[1] - 1 - np.argmax(reached[:, ::-1], axis=1)
        place = np.argmax(reached, axis=1) if self._basis == "recall" else last
        return np.where(reached.any(axis=1), place, -1)

    def _criterion(self, events: Floats, others: Floats) -> Floats:
        """What is searched, at each cut: recall, mean cost or else precision."""
        hits, alarms = np.cumsum(events, axis=1), np.cumsum(others, axis=1)
        n_events, n_others = hits[:, -1:], alarms[:, -1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self._basis == "recall":
                return hits / n_events
            if self._basis == "least cost":
                negative, miss, alarm, positive = self._goal
                cost = negative * (n_others - alarms) + miss * (n_events - hits) + alarm * alarms + positive * hits
                return cost / (n_events + n_others)
            return hits / (hits + alarms)
