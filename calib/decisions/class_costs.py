"""What decisions by a matrix of costs cost on rows with labels, beside acting on the most probable class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.base import check_labels
from calib.decisions.rules import HAND_OVER, CostMatrix
from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import Bools, check_probs, weighted_mean
from calib.metrics.proportions import shares_of_rows
from calib.numerics import Floats, Ints


@dataclass(frozen=True, eq=False)
class ClassDecision:
    """Actions of least expected cost, and what they cost on rows with labels.

    Attributes
    ----------
    actions : (n,) column of the cost matrix, -1 where the row is handed over.
    expected : mean expected cost of a row by the probabilities themselves; far below ``cost`` they are overconfident.
    cost : mean cost of a row.
    handed_over : share of rows handed over.
    plain : mean cost of a row where the most probable class is acted on.
    difference : ``cost - plain``, paired.
    changed : share of rows on which the two differ.
    """

    actions: Ints
    expected: float
    cost: Interval
    handed_over: Interval
    plain: Interval
    difference: Interval
    changed: Interval


def decide_classes(
    probs: Any, labels: Any, rule: CostMatrix, weights: Any = None, clusters: Any = None, level: float = 0.95
) -> ClassDecision:
    """What the actions of least expected cost lead to on rows with labels.

    Parameters
    ----------
    probs : (n, K) calibrated probabilities.
    labels : (n,) true classes.
    rule : costs of each action for each true class, of which the first K actions are the classes, and the cost of
        handing a row over, if that may be.
    weights, clusters, level : as in :func:`calib.decisions.cuts.decide`.

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
    said = check_probs(probs).astype(float, copy=False)
    known = check_labels(labels, said.shape)
    check_classes(rule, said.shape[1])
    return judge_actions(*rule.decide_with_cost(said), np.argmax(said, axis=1), known, rule, weights, clusters, level)


def check_classes(rule: CostMatrix, n_classes: int) -> None:
    """Refuse costs whose first actions cannot be the classes.

    Raises
    ------
    CalibrationError
        If there is not one row and one column of costs for each class.
    """
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
    """What actions cost on rows with labels, where the probabilities are no longer at hand.

    Parameters
    ----------
    actions, expected : (n,) action of each row and its expected cost.
    predicted, labels : (n,) most probable and true class of each row.
    rule, weights, clusters, level : as in :func:`decide_classes`.
    """
    matrix, bottom, top = rule.costs, *_range(rule)
    paid = _paid(rule, actions, labels)
    before = matrix[labels, predicted]

    def share(rows: Bools) -> Interval:
        return shares_of_rows(rows.astype(int), np.array([[0], [1]]), weights, clusters).of_share(0, level)

    cost, plain = (_mean_cost(values, bottom, top, weights, clusters, level) for values in (paid, before))
    return ClassDecision(
        actions,
        weighted_mean(expected, weights),
        cost,
        share(actions == HAND_OVER),
        plain,
        _mean_difference(paid - before, top - bottom, weights, clusters, level),
        share(actions != predicted),
    )


def cost_change(
    actions: Ints,
    before: Ints,
    labels: Ints,
    rule: CostMatrix,
    weights: Any = None,
    clusters: Any = None,
    level: float = 0.95,
) -> Interval:
    """Mean cost of a row by some actions minus that by others on the same rows, paired; below 0 they are cheaper.

    Parameters
    ----------
    actions, before : (n,) columns of the cost matrix, -1 where a row is handed over.
    labels, rule, weights, clusters, level : as in :func:`decide_classes`.

    Examples
    --------
    >>> errors = CostMatrix(costs=np.array([[0.0, 1.0], [4.0, 0.0]]))
    >>> cost_change(np.array([1, 1, 0]), np.array([0, 1, 0]), np.array([1, 1, 0]), errors).value
    -1.3333333333333333
    """
    bottom, top = _range(rule)
    less = _paid(rule, actions, labels) - _paid(rule, before, labels)
    return _mean_difference(less, top - bottom, weights, clusters, level)


def _range(rule: CostMatrix) -> tuple[float, float]:
    """The least and the largest cost of a row."""
    all_costs = np.append(rule.costs, [] if rule.hand_over is None else rule.hand_over)
    return float(all_costs.min()), float(all_costs.max())


def _paid(rule: CostMatrix, actions: Ints, labels: Ints) -> Floats:
    paid = rule.costs[labels, actions]
    return paid if rule.hand_over is None else np.where(actions == HAND_OVER, rule.hand_over, paid)


def _mean_cost(values: Floats, low: float, high: float, weights: Any, clusters: Any, level: float) -> Interval:
    """Mean of costs that can lie between two bounds: Wilson's interval on the scale from one to the other.

    It has as many rows as give the variance of the mean, and where no cost was met but one, all of them.
    """
    met, cell = np.unique(values, return_inverse=True)
    scale = high - low or 1.0
    share = shares_of_rows(cell, ((met - low) / scale)[:, None], weights, clusters).of_share(0, level)
    return Interval(*(low + scale * part for part in share))


def _mean_difference(values: Floats, scale: float, weights: Any, clusters: Any, level: float) -> Interval:
    """Mean of differences of costs, from what is lost and what is saved, each at most ``scale`` a row."""
    met, cell = np.unique(values, return_inverse=True)
    scale = scale or 1.0
    table = np.column_stack([np.maximum(met, 0.0), np.maximum(-met, 0.0)]) / scale
    shares = shares_of_rows(cell, table, weights, clusters)
    return Interval(*map(float, shares.combine([scale, -scale], shares.critical(level))))
