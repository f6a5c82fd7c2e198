"""What becomes of a decision at another base rate: where the cut moves, what it leads to, and what keeping it costs.

Everything holds under a shift of the base rate alone; see :mod:`calib.decisions.prior_shift`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.decisions.class_costs import ClassDecision, check_classes, costs_saved, judge_actions
from calib.decisions.outcomes import Change, Costs, Outcome, change, outcome_of
from calib.decisions.prior_shift import check_rates, shift_prior
from calib.decisions.rules import CostMatrix
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import check_event, check_probs
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ShiftedDecision:
    """A cut at another base rate of the event, beside the one before.

    Attributes
    ----------
    old_rate, new_rate : base rates.
    cut_before : of least expected cost on the probability for the old rate.
    cut : what that probability is where the one for the new rate reaches ``cut_before``: act from here on at the new
        rate.
    now : what ``cut_before`` leads to on the rows as they are.
    kept : what it would lead to at the new rate.
    moved : what ``cut`` would lead to there.
    change : from ``kept`` to ``moved`` at the new rate, paired by row.
    """

    old_rate: float
    new_rate: float
    cut_before: float
    cut: float
    now: Outcome
    kept: Outcome
    moved: Outcome
    change: Change


def cut_at_rate(costs: Costs, old_rate: float, new_rate: float) -> float:
    """The cut of least expected cost at the new base rate, on the probability that is calibrated for the old one.

    The shifted probability reaches ``t = costs.cut`` where the log-odds of the old one reach ``logit t + logit old -
    logit new`` (Saerens et al. 2002, equation 2.4, solved for the probability).

    Raises
    ------
    CalibrationError
        Unless both rates lie between 0 and 1, ends excluded.

    Examples
    --------
    >>> round(cut_at_rate(Costs(false_alarm=1, miss=1), 0.5, 0.1), 6)
    0.9
    """
    for name, rate in (("old", old_rate), ("new", new_rate)):
        if not 0.0 < rate < 1.0:
            raise CalibrationError(f"The {name} base rate must lie between 0 and 1, ends excluded; got {rate:g}.")
    return float(shift_prior([costs.cut], new_rate, old_rate)[0])


def decision_at_rate(
    probs: Any,
    labels: Any,
    costs: Costs,
    old_rate: float,
    new_rate: float,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> ShiftedDecision:
    """What costs ask for at another, known base rate of an event, on rows with labels.

    The rows with and those without the event are weighted to the new rate, which has no uncertainty of its own here.

    Parameters
    ----------
    probs, labels : (n,) probabilities of the event, calibrated for ``old_rate``, and 1 where it happened.
    costs : of each outcome.
    old_rate, new_rate : between 0 and 1, ends excluded; the old one is that of the rows that calibrated.
    weights, clusters, level : as in :func:`calib.decisions.cuts.decide`.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, a rate is none, or no row or every row has the event.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0, 1, 4000)
    >>> found = decision_at_rate(p, rng.random(4000) < p, Costs(false_alarm=1, miss=4), 0.5, 0.1)
    >>> round(found.cut_before, 3), round(found.cut, 3), found.change.saved.low > 0
    (0.2, 0.692, True)
    """
    said, came = check_event(probs, labels)
    cut = cut_at_rate(costs, old_rate, new_rate)
    before, after = said >= costs.cut, said >= cut
    about = came, costs, weights, clusters, level
    now = outcome_of(before, *about)
    kept, moved = (outcome_of(acts, *about, rate=new_rate) for acts in (before, after))
    changed = change(after, before, *about, rate=new_rate)
    return ShiftedDecision(old_rate, new_rate, costs.cut, cut, now, kept, moved, changed)


@dataclass(frozen=True, eq=False)
class ShiftedClasses:
    """Decisions by a cost matrix at other base rates of K classes.

    Attributes
    ----------
    old_rates, new_rates : (K,) base rates.
    rule : costs that give the decisions for the new rates from the probabilities for the old ones.
    now : decisions as before on the rows as they are.
    kept, moved : decisions as before, and those for the new rates, as they would be at the new rates.
    saved : mean cost of a row by ``kept`` minus that by ``moved``, paired.
    changed : share of rows, at the new rates, whose decision changes.
    """

    old_rates: Floats
    new_rates: Floats
    rule: CostMatrix
    now: ClassDecision
    kept: ClassDecision
    moved: ClassDecision
    saved: Interval
    changed: Interval


def classes_at_rates(
    probs: Any,
    labels: Ints,
    rule: CostMatrix,
    old_rates: Any,
    new_rates: Any,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> ShiftedClasses:
    """What a cost matrix asks for at other, known base rates of K classes, on rows with labels.

    Parameters
    ----------
    probs, labels : (n, K) probabilities, calibrated for ``old_rates``, and (n,) classes.
    rule : costs of each error.
    old_rates, new_rates : (K,) that sum to 1, the old ones above 0.
    weights, clusters, level : as in :func:`calib.decisions.cuts.decide`.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together, rates are none, or a class with a new rate above 0 has no row.
    """
    return judge_shift(shift_actions(probs, rule, old_rates, new_rates), labels, rule, weights, clusters, level)


@dataclass(frozen=True, eq=False)
class ShiftedActions:
    """Decisions of rows for old and new rates, which need no probabilities to be judged.

    Attributes
    ----------
    old_rates, new_rates : (K,) base rates.
    rows : (6, n) action, expected cost and most probable class for the old rates, and the same for the new ones.
    """

    old_rates: Floats
    new_rates: Floats
    rows: Floats


def shift_actions(probs: Any, rule: CostMatrix, old_rates: Any, new_rates: Any) -> ShiftedActions:
    """Decisions of (n, K) probabilities for old and new rates; raises as :func:`classes_at_rates`."""
    said = check_probs(probs).astype(float, copy=False)
    check_classes(rule, said.shape[1])
    old, new = check_rates(old_rates, said), check_rates(new_rates, said)
    both = [(*rule.decide_with_cost(each), np.argmax(each, axis=1)) for each in (said, shift_prior(said, old, new))]
    return ShiftedActions(old, new, np.array([part for parts in both for part in parts], dtype=float))


def judge_shift(
    made: ShiftedActions, labels: Ints, rule: CostMatrix, weights: Any = None, clusters: Any = None, level: float = 0.95
) -> ShiftedClasses:
    """What the decisions of :func:`shift_actions` lead to; parameters are those of :func:`classes_at_rates`."""
    before, usual, after, predicted = (made.rows[row].astype(np.int64) for row in (0, 2, 3, 5))
    expected, shifted = made.rows[1], made.rows[4]
    old, new, about = made.old_rates, made.new_rates, (weights, clusters, level)
    now = judge_actions(before, expected, usual, labels, rule, *about)
    kept = judge_actions(before, expected, usual, labels, rule, *about, new)
    moved = judge_actions(after, shifted, predicted, labels, rule, *about, new)
    saved = costs_saved(after, before, labels, rule, *about, new)
    changed = judge_actions(after, shifted, before, labels, rule, *about, new).changed
    return ShiftedClasses(old, new, rule.at_rates(old, new), now, kept, moved, saved, changed)
