"""Costs of decisions by a matrix of costs on rows with labels, beside acting on the most probable class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.decisions.judgement import share_of
from calib.decisions.rules import ABSTAIN, CostMatrix
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import check_scored_classes, weighted_mean
from calib.metrics.estimate import Shares, shares_of_rows
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ClassDecision:
    """Actions of least expected cost, and what they cost on rows with labels.

    Attributes
    ----------
    actions : ndarray of int of shape (n,)
        Column of the cost matrix, -1 where it abstains.
    expected : float
        Mean expected cost of a row by the probabilities themselves; far below ``cost`` they are overconfident.
    cost : Interval
        Mean cost of a row.
    handed_over : Interval
        Share of abstentions.
    plain : Interval
        Mean cost of a row where the most probable class is acted on.
    saved : Interval
        ``plain - cost``, paired; above 0 the least expected cost is cheaper. Where no action changes, see
        :func:`calib.decisions.change`.
    changed : Interval
        Share of rows on which the two differ.
    """

    actions: Ints
    expected: float
    cost: Interval
    handed_over: Interval
    plain: Interval
    saved: Interval
    changed: Interval


def decide_classes(
    probs: Any,
    labels: Any,
    rule: CostMatrix,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> ClassDecision:
    """Evaluate the actions of least expected cost on rows with labels.

    Parameters
    ----------
    probs : array_like of shape (n, K)
        Calibrated probabilities.
    labels : array_like of shape (n,)
        True classes.
    rule : CostMatrix
        Costs of each action for each true class, of which the first K actions are the classes, and the cost of handing
        a row over, if that may be.
    weights, clusters : array_like of shape (n,) or None, default None
        As in :func:`calib.metrics.net_benefit`.
    level : float, default 0.95
        Coverage of the intervals.

    Returns
    -------
    ClassDecision
        Actions, costs, and what is saved against the most probable class.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together.

    Examples
    --------
    >>> probs = np.array([[0.6, 0.4], [0.9, 0.1], [0.7, 0.3]])
    >>> found = decide_classes(probs, [1, 0, 0], CostMatrix(costs=np.array([[0.0, 1.0], [4.0, 0.0]])))
    >>> found.actions.tolist(), round(found.cost.value, 6), round(found.plain.value, 6)
    ([1, 0, 1], 0.333333, 1.333333)
    """
    checked, observed = check_scored_classes(probs, labels)
    predicted = checked.astype(float, copy=False)
    check_classes(rule, predicted.shape[1])
    return judge_actions(
        *rule.decide_with_cost(predicted),
        np.argmax(predicted, axis=1),
        observed,
        rule,
        weights,
        clusters,
        level,
    )


def check_classes(rule: CostMatrix, n_classes: int) -> None:
    """Refuse costs whose first actions cannot be the classes."""
    matrix = rule.costs
    if len(matrix) != n_classes or matrix.shape[1] < len(matrix):
        raise CalibrationError(
            f"The costs need one row and one column for each of {n_classes} classes, further actions after them; "
            f"their shape is {matrix.shape}."
        )


def judge_actions(
    actions: Ints,
    expected: Floats,
    predicted: Ints,
    labels: Ints,
    rule: CostMatrix,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> ClassDecision:
    """Cost of actions on rows with labels, where the probabilities are no longer at hand.

    Parameters
    ----------
    actions, expected : (n,) action of each row and its expected cost.
    predicted, labels : (n,) most probable and true class of each row.
    rule, weights, clusters, level : as in :func:`decide_classes`.
    """
    least, width = _range(rule)
    of_paid = (
        _parts(_paid(rule, chosen, labels) - least, width, weights, clusters).of_combination(
            [width, 0.0], level
        )
        for chosen in (actions, predicted)
    )
    cost, plain = (Interval(*(least + part for part in above)) for above in of_paid)
    handed_over, changed = (
        share_of(hit, clusters, level, weights)
        for hit in (actions == ABSTAIN, actions != predicted)
    )
    saved = costs_saved(actions, predicted, labels, rule, weights, clusters, level)
    return ClassDecision(
        actions, weighted_mean(expected, weights), cost, handed_over, plain, saved, changed
    )


def costs_saved(
    actions: Ints,
    before: Ints,
    labels: Ints,
    rule: CostMatrix,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> Interval:
    """Savings of some actions beside others on the same rows, on average and paired; below 0 they cost more.

    Where no action changes, the interval is that of :func:`calib.decisions.change`.

    Parameters
    ----------
    actions, before : (n,) columns of the cost matrix, -1 where it abstains.
    labels, rule, weights, clusters, level : as in :func:`decide_classes`.

    Examples
    --------
    >>> errors = CostMatrix(costs=np.array([[0.0, 1.0], [4.0, 0.0]]))
    >>> costs_saved(np.array([1, 1, 0]), np.array([0, 1, 0]), np.array([1, 1, 0]), errors).value
    1.3333333333333333
    """
    _, width = _range(rule)
    less = _paid(rule, before, labels) - _paid(rule, actions, labels)
    return _parts(less, width, weights, clusters).of_combination([width, -width], level)


def _range(rule: CostMatrix) -> tuple[float, float]:
    """The least cost of a row, and how far the largest lies above it; 1 where all are equal."""
    all_costs = np.append(rule.costs, [] if rule.abstain is None else rule.abstain)
    return float(all_costs.min()), float(np.ptp(all_costs)) or 1.0


def _paid(rule: CostMatrix, actions: Ints, labels: Ints) -> Floats:
    paid = rule.costs[labels, actions]
    return paid if rule.abstain is None else np.where(actions == ABSTAIN, rule.abstain, paid)


def _parts(values: Floats, width: float, weights: Any, clusters: Any) -> Shares:
    """Means of what is above 0 and of what is below, as shares of ``width``, the most of a row."""
    met, cell = np.unique(values, return_inverse=True)
    return shares_of_rows(
        cell, np.maximum(np.column_stack([met, -met]), 0.0) / width, weights, clusters
    )
