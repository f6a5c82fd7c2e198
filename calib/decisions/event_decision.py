"""A cut on a calibrated probability judged beside today's cut and beside what the raw model does for the same goal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from calib.data.split import split_rows
from calib.decisions.cuts import decide
from calib.decisions.outcomes import Change, Costs, Outcome, change, check_threshold, outcome_of
from calib.decisions.recalibration import RecalibratedCut, recalibrated_cut
from calib.errors import CalibrationError
from calib.formatting import plural
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools, check_event, weighted_mean
from calib.numerics import Ints

Basis = Literal["costs", "threshold", "capacity", "recall", "precision"]
SEARCHED = ("recall", "precision")
"""Ways to a cut that need labels; it is then chosen on one half of the rows and judged on the other."""
FEW_EVENTS = 20
"""Fewer rows with the event than this, or without it, say too little of a cut."""


@dataclass(frozen=True)
class Goal:
    """What decides about the cut.

    Attributes
    ----------
    basis : "costs" for the cut of least expected cost, or what is asked for.
    value : the threshold, the share of rows that can be acted on, the recall or the precision; not read for costs.
    costs : of each outcome; they price every cut.
    today : cut on the uncalibrated probability that is in use, or None.

    Raises
    ------
    CalibrationError
        For another basis, or a value that is no share.
    """

    basis: Basis = "costs"
    value: float = 0.5
    costs: Costs = field(default_factory=lambda: Costs(1.0, 1.0))
    today: float | None = None

    def __post_init__(self) -> None:
        if self.basis not in get_args(Basis):
            raise CalibrationError(f"A threshold comes from one of {', '.join(get_args(Basis))}; got {self.basis!r}.")
        for value in ([] if self.basis == "costs" else [self.value]) + ([] if self.today is None else [self.today]):
            check_threshold(value)


@dataclass(frozen=True, eq=False)
class EventDecision:
    """A cut and what it does on rows whose labels did not choose it.

    Attributes
    ----------
    goal : what was asked for.
    cut : act where the calibrated probability is at least this.
    cut_of_raw : the same of the uncalibrated probability: the same number for costs and a threshold, and its own for a
        capacity, a recall or a precision; None where none reaches the precision, so that it acts on no row.
    n_decision, n_judgement : rows whose labels the cut was chosen on, 0 where it needs none, and rows judged on.
    n_events : rows with the event among those judged on.
    tied, drawn : by capacity, rows with exactly the probability of the cut, and how many of them are acted on.
    outcome, raw, today : of the cut, of the cut of the uncalibrated probability, and of today's cut on that.
    from_raw, from_today : what the cut changes, paired by row.
    acting_on_all : whether acting on all rows costs less here than acting on none.
    from_same : what the cut changes against the better of these two, for which no model is needed.
    recalibrated : where the uncalibrated probability reaches a cut that costs or the visitor gave; None elsewhere.
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
    recalibrated: RecalibratedCut | None

    @property
    def too_few(self) -> str:
        """Why these rows say too little, in a sentence; "" where they say enough."""
        kinds = (("with", self.n_events), ("without", self.n_judgement - self.n_events))
        for with_or_without, count in kinds:
            if count < FEW_EVENTS:
                return (
                    f"Too few events: only {plural(count, 'row')} {with_or_without} the event. At least {FEW_EVENTS} "
                    "of each kind are needed before the intervals mean much."
                )
        return ""


def event_decision(
    probs: Any, raw: Any, labels: Any, goal: Goal, weights: Any = None, clusters: Any = None, random_state: int = 0
) -> EventDecision:
    """Choose a cut and judge it on held-out rows.

    A cut of least expected cost (Elkan 2001) and a given threshold are the same number for both probabilities. For a
    capacity, a recall or a precision each probability has the cut that reaches it, so that the raw model is judged by
    what it is used for. A capacity takes that part of the rows with the highest probabilities, and draws among equal
    ones. A recall and a precision need labels: the cuts are taken from one half of the rows and judged on the other,
    whole clusters each, since a cut that was searched on rows looks better on these.

    Parameters
    ----------
    probs, raw : (n,) calibrated and uncalibrated probabilities of the event, on rows that no calibrator has seen.
    labels : (n,) 1 where the event happened, 0 elsewhere.
    goal : what decides.
    weights, clusters : (n,) as in :func:`calib.metrics.net_benefit`.
    random_state : seed of the halves.

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
    said, came = check_event(probs, labels)
    before, _ = check_event(raw, labels)
    judged: Ints = np.arange(len(said))
    chosen = judged[:0]
    if goal.basis in SEARCHED:
        chosen, judged = split_rows(came.astype(np.int64), 0.5, None, random_state, clusters)
    weight, cluster = (None if each is None else np.asarray(each) for each in (weights, clusters))

    def part(of: Any, at: Any) -> Any:
        return None if of is None else of[at]

    about = part(weight, judged), part(cluster, judged)
    tied = drawn = 0
    if goal.basis == "capacity":
        by_capacity = [
            decide(each, came, capacity=(goal.value, 1), weights=weight, clusters=cluster, random_state=random_state)
            for each in (said, before)
        ]
        (cut, cut_of_raw), (acts, acts_of_raw) = zip(*((one.cut, one.acts) for one in by_capacity), strict=True)
        at_cut = said == cut.value
        tied, drawn = int(at_cut.sum()), int((at_cut & acts).sum())
    else:
        rows = came[chosen], goal, part(weight, chosen), part(cluster, chosen)
        cut, cut_of_raw = _cut(said[chosen], *rows), _cut_of_raw(before[chosen], *rows)
        acts = said[judged] >= cut.value
        acts_of_raw = before[judged] >= (np.inf if cut_of_raw is None else cut_of_raw.value)
    held_out = came[judged], goal.costs, *about
    now = None if goal.today is None else before[judged] >= goal.today
    outcome, of_raw = outcome_of(acts, *held_out), outcome_of(acts_of_raw, *held_out)
    if goal.basis == "capacity":  # how many are acted on was given
        outcome, of_raw = (replace(one, acted=Interval(*[one.acted.value] * 3)) for one in (outcome, of_raw))
    given = goal.basis in ("costs", "threshold")
    same, acting_on_all = _same_for_all(*held_out)
    return EventDecision(
        goal,
        cut,
        cut_of_raw,
        len(chosen),
        len(judged),
        int(came[judged].sum()),
        tied,
        drawn,
        outcome,
        of_raw,
        None if now is None else outcome_of(now, *held_out),
        change(acts, acts_of_raw, *held_out),
        None if now is None else change(acts, now, *held_out),
        acting_on_all,
        change(acts, same, *held_out),
        _recalibrated(before, came, cut.value, *about) if given else None,
    )


def _cut(probs: Any, labels: Any, goal: Goal, weights: Any, clusters: Any) -> Interval:
    if goal.basis == "costs":
        return Interval(*[goal.costs.cut] * 3)
    if goal.basis == "threshold":
        return Interval(*[goal.value] * 3)
    if goal.basis == "recall":
        return decide(probs, labels, recall=goal.value, weights=weights, clusters=clusters).cut
    return decide(probs, labels, precision=goal.value, weights=weights, clusters=clusters).cut


def _cut_of_raw(raw: Any, labels: Any, goal: Goal, weights: Any, clusters: Any) -> Interval | None:
    """None where no cut reaches the precision."""
    try:
        return _cut(raw, labels, goal, weights, clusters)
    except CalibrationError:
        if goal.basis != "precision":
            raise
        return None


def _same_for_all(labels: Bools, costs: Costs, weights: Any, clusters: Any) -> tuple[Bools, bool]:
    """The action that costs least if all rows have the same one, (n,), and whether that is to act."""
    rate = weighted_mean(labels, weights)
    true_negative, miss, alarm, true_positive = costs.of_kinds
    acting = (1.0 - rate) * alarm + rate * true_positive < (1.0 - rate) * true_negative + rate * miss
    return np.full(len(labels), acting), bool(acting)


def _recalibrated(raw: Any, labels: Any, cut: float, weights: Any, clusters: Any) -> RecalibratedCut | None:
    """None where the outcome does not rise with the probability, or has one value alone."""
    if not 0.0 < cut < 1.0:
        return None
    try:
        return recalibrated_cut(raw, labels, cut, weights, clusters)
    except CalibrationError:
        return None
