"""A cut on a calibrated probability judged beside today's cut and beside what the raw model does for the same goal.

A row is acted on where its probability of the event is at least the cut. The cut that costs least for a calibrated
probability follows from the costs alone (Elkan 2001). One that a recall or a precision chose on some rows looks better
on these than on others, so that others judge it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from calib.arrays import check_number
from calib.data.split import split_rows
from calib.decisions.judgement import resampled
from calib.decisions.outcomes import Change, Costs, Outcome, change, outcome_of
from calib.decisions.recalibration import recalibrated_cut
from calib.decisions.rules import reaches
from calib.errors import CalibrationError
from calib.formatting import plural
from calib.metrics.bootstrap import Interval, drawn_units, interval_of_draws
from calib.metrics.confidence import Bools, check_event, check_weights, weighted_mean
from calib.numerics import Floats, Ints

Basis = Literal["costs", "threshold", "capacity", "recall", "precision"]
SEARCHED = ("recall", "precision")
"""Ways to a cut that need labels; it is then chosen on one half of the rows and judged on the other."""
N_RESAMPLES = 400
FEW_EVENTS = 20
"""Fewer rows with the event than this, or without it, say too little of a cut."""


@dataclass(frozen=True)
class Goal:
    """Basis on which the cut is chosen.

    Attributes
    ----------
    basis : {"costs", "threshold", "capacity", "recall", "precision"}
        "costs" for the cut of least expected cost, or what is asked for.
    value : float
        Threshold, share of rows that can be acted on, recall or precision; not read for costs.
    costs : Costs
        Cost of each outcome; they price every cut.
    today : float or None
        Cut on the uncalibrated probability that is in use.

    Raises
    ------
    CalibrationError
        For another basis, or a value that is no share.

    Examples
    --------
    >>> from calib.decisions import Goal
    >>> Goal("recall", 0.8).basis
    'recall'
    """

    basis: Basis = "costs"
    value: float = 0.5
    costs: Costs = field(default_factory=lambda: Costs(1.0, 1.0))
    today: float | None = None

    def __post_init__(self) -> None:
        if self.basis not in get_args(Basis):
            raise CalibrationError(
                f"A threshold comes from one of {', '.join(get_args(Basis))}; got {self.basis!r}."
            )
        if self.basis != "costs":
            check_number("value", self.value, 0, 1, ends=False)
        if self.today is not None:
            check_number("today", self.today, 0, 1, ends=False)


@dataclass(frozen=True, eq=False)
class EventDecision:
    """A cut and what it does on rows whose labels did not choose it.

    Attributes
    ----------
    goal : Goal
        What was asked for.
    cut : Interval
        Act where the calibrated probability is at least this.
    cut_of_raw : Interval or None
        The same of the uncalibrated probability: the same number for costs and a threshold, and its own for a capacity,
        a recall or a precision; None where none reaches the precision, so that it acts on no row.
    n_decision, n_judgement : int
        Rows whose labels the cut was chosen on, 0 where it needs none, and rows judged on.
    n_events : int
        Rows with the event among those judged on.
    tied, drawn : int
        By capacity, rows with exactly the probability of the cut, and how many of them are acted on.
    outcome, raw : Outcome
        Of the cut, and of the cut of the uncalibrated probability.
    today : Outcome or None
        Of today's cut on the uncalibrated probability; None where there is none.
    from_raw : Change
        What the cut changes against that of the uncalibrated probability, paired by row.
    from_today : Change or None
        What it changes against today's cut, paired by row; None where there is none.
    acting_on_all : bool
        Whether acting on all rows costs less here than acting on none.
    from_same : Change
        What the cut changes against the better of these two, for which no model is needed.
    recalibrated : Interval or None
        Where the uncalibrated probability reaches a cut that costs or the visitor gave; None elsewhere.
    """

    goal: Goal
    cut: Interval
    cut_of_raw: Interval | None
    n_decision: int
    n_judgement: int
    n_events: int
    tied: int
    drawn: int
    outcome: Outcome
    raw: Outcome
    today: Outcome | None
    from_raw: Change
    from_today: Change | None
    acting_on_all: bool
    from_same: Change
    recalibrated: Interval | None

    @property
    def too_few(self) -> str:
        """Reason why these rows are too few, in a sentence; "" where they are enough."""
        kinds = (("with", self.n_events), ("without", self.n_judgement - self.n_events))
        for with_or_without, count in kinds:
            if count < FEW_EVENTS:
                return (
                    f"Too few events: only {plural(count, 'row')} {with_or_without} the event. At least {FEW_EVENTS} "
                    "of each kind are needed before the intervals mean much."
                )
        return ""


def event_decision(
    probs: Any,
    raw: Any,
    labels: Any,
    goal: Goal,
    weights: Any = None,
    clusters: Any = None,
) -> EventDecision:
    """Choose a cut and judge it on held-out rows.

    A cut of least expected cost (Elkan 2001) and a given threshold are the same number for both probabilities. For a
    capacity, a recall or a precision each probability has the cut that reaches it, so that the raw model is judged by
    what it is used for. A capacity takes that part of the rows with the highest probabilities, and draws among equal
    ones. A recall and a precision need labels: the cuts are taken from one half of the rows and judged on the other,
    whole clusters each, since a cut that was searched on rows looks better on these.

    Parameters
    ----------
    probs, raw : array_like of shape (n,)
        Calibrated and uncalibrated probabilities of the event, on rows that no calibrator has seen.
    labels : array_like of shape (n,)
        1 where the event happened, 0 elsewhere.
    goal : Goal
        What decides about the cut.
    weights, clusters : array_like of shape (n,) or None, default None
        As in :func:`calib.metrics.net_benefit`.

    Returns
    -------
    EventDecision
        The cut, and what it does.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, or no cut reaches the goal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0, 1, 2000)
    >>> y = rng.random(2000) < p
    >>> found = event_decision(p, p**2, y, Goal(costs=Costs(false_alarm=1, miss=4)))
    >>> found.cut.value, found.from_raw.saved.low > 0  # the squares are too low, and miss events
    (0.2, True)
    """
    predicted, observed = check_event(probs, labels)
    before, _ = check_event(raw, labels)
    unit, _, clustered = drawn_units(len(predicted), clusters)
    judged: Ints = np.arange(len(predicted))
    chosen = judged[:0]
    if goal.basis in SEARCHED:
        chosen, judged = split_rows(observed.astype(np.int64), 0.5, None, 0, clusters)
    weight = check_weights(weights, len(predicted))
    cluster = unit if clustered else None

    def part(of: Any, at: Any) -> Any:
        return None if of is None else of[at]

    about = part(weight, judged), part(cluster, judged)
    tied = drawn = 0
    cut_of_raw: Interval | None = None
    recalibrated: Interval | None = None
    if goal.basis == "capacity":
        cut, cut_of_raw = (
            cut_for(goal, each, observed, weight, cluster) for each in (predicted, before)
        )
        acts, acts_of_raw = (highest_rows(each, weight, goal.value) for each in (predicted, before))
        lowest = float(
            predicted[acts].min(initial=predicted.max())
        )  # rows are taken whole, so that the last may not fit
        cut = Interval(lowest, min(cut.low, lowest), max(cut.high, lowest))
        at_cut = predicted == cut.value
        tied = int(at_cut.sum())
        drawn = int((at_cut & acts).sum())
    else:
        rows = observed[chosen], part(weight, chosen), part(cluster, chosen)
        cut = cut_for(goal, predicted[chosen], *rows)
        with suppress(CalibrationError):  # it may reach the precision nowhere
            cut_of_raw = cut_for(goal, before[chosen], *rows)
        acts = reaches(predicted[judged], cut.value)
        acts_of_raw = reaches(before[judged], np.inf if cut_of_raw is None else cut_of_raw.value)
    judged_rows = observed[judged], goal.costs, *about
    now = None if goal.today is None else reaches(before[judged], goal.today)
    outcome = outcome_of(acts, *judged_rows)
    of_raw = outcome_of(acts_of_raw, *judged_rows)
    if goal.basis == "capacity":  # how many are acted on was given
        outcome, of_raw = (
            replace(one, acted=Interval(*[one.acted.value] * 3)) for one in (outcome, of_raw)
        )
    if goal.basis in ("costs", "threshold") and 0.0 < cut.value < 1.0:
        with suppress(
            CalibrationError
        ):  # the outcome may not rise with the probability, or have one value alone
            recalibrated = recalibrated_cut(before, observed, cut.value, *about)
    same, acting_on_all = _same_for_all(*judged_rows[:3])
    return EventDecision(
        goal,
        cut,
        cut_of_raw,
        len(chosen),
        len(judged),
        int(observed[judged].sum()),
        tied,
        drawn,
        outcome,
        of_raw,
        None if now is None else outcome_of(now, *judged_rows),
        change(acts, acts_of_raw, *judged_rows),
        None if now is None else change(acts, now, *judged_rows),
        acting_on_all,
        change(acts, same, *judged_rows),
        recalibrated,
    )


def cut_for(
    goal: Goal,
    probs: Floats,
    labels: Bools,
    weights: Any = None,
    clusters: Any = None,
) -> Interval:
    """The cut of a goal on some rows; one that rows choose has percentiles of the cuts of resamples."""
    if goal.basis in ("costs", "threshold"):
        return Interval(*[goal.costs.cut if goal.basis == "costs" else goal.value] * 3)
    if goal.basis == "recall" and not labels.any():
        raise CalibrationError(
            "No row has the event, so that no threshold has a recall; give rows with events."
        )
    order = np.argsort(-probs, kind="stable")
    falling = probs[order]
    observed = labels[order]
    counted = np.ones(len(probs)) if weights is None else weights[order]
    last = np.flatnonzero(np.append(np.diff(falling) < 0, True))  # of each different probability

    def chosen(times: Any) -> float:
        """The cut where each row counts so many times; NaN where none will do."""
        acted = np.cumsum(times * counted)[last]
        hits = np.cumsum(times * counted * observed)[last]
        share = goal.value - 1e-12
        if goal.basis == "precision":
            reached = np.flatnonzero((acted > 0) & (hits >= share * acted))[-1:]
        else:
            part = acted if goal.basis == "capacity" else hits
            reached = np.flatnonzero((part > 0) & (part >= share * part[-1]))[:1]
        return float(falling[last[reached[0]]]) if len(reached) else np.nan

    cut = chosen(1.0)
    if np.isnan(cut):
        highest = float(np.max(np.cumsum(counted * observed)[last] / np.cumsum(counted)[last]))
        raise CalibrationError(
            f"No threshold has a precision of {goal.value:g} on these rows: the highest is {highest:.4g}. Ask for "
            "less, or choose a threshold from costs."
        )
    draws = [chosen(times[order]) for times in resampled(len(probs), clusters, N_RESAMPLES, 0)]
    return interval_of_draws(cut, np.array(draws))


def highest_rows(probs: Floats, weights: Any, share: float, random_state: int = 0) -> Bools:
    """The rows that a capacity takes; the order of the rows could tell their labels, so that ties are drawn."""
    weights = np.ones(len(probs)) if weights is None else weights
    drawn = np.random.default_rng(random_state).permutation(len(probs))
    order = np.lexsort((drawn, -probs))
    taken = np.cumsum(weights[order]) <= share * weights.sum() * (1.0 + 1e-12)
    acts = np.zeros(len(order), dtype=bool)
    acts[order[taken]] = True
    return acts


def _same_for_all(labels: Bools, costs: Costs, weights: Any) -> tuple[Bools, bool]:
    """The action that costs least if all rows have the same one, (n,), and whether that is to act."""
    rate = weighted_mean(labels, weights)
    acting = (1.0 - rate) * costs.false_alarm < rate * costs.miss
    return np.full(len(labels), acting), bool(acting)
