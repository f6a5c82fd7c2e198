"""The panel of a risk model in each of several groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calib.errors import CalibrationError
from calib.metrics.bootstrap import Interval
from calib.metrics.confidence import check_event
from calib.metrics.estimate import Rows
from calib.metrics.risk_measures import closed_form
from calib.metrics.risk_panel import default_floor

__all__ = ["group_panels"]

MEASURES = {
    "oe": "O:E",
    "slope": "Calibration slope",
    "auroc": "AUROC",
    "citl": "Calibration in the large",
    "scaled_brier": "Scaled Brier score",
}
"""Measures of the panel that have a closed form, with their titles."""
IDEALS = {"oe": 1.0, "slope": 1.0, "citl": 0.0}
LEAST_EVENTS = 20
"""Of each outcome that a group must have to be judged."""


@dataclass(frozen=True, eq=False)
class GroupPanel:
    """One group of rows.

    Attributes
    ----------
    name : str
        The group's name.
    rows : int
        Rows of the group.
    events : int
        Rows in which the event happened.
    rate : float
        Event rate, weighted.
    mean_risk : float
        Mean risk, weighted.
    measures : dict of str to Interval
        "oe", "slope", "auroc", "citl" and "scaled_brier"; empty where there are too few events, or rows without.
    """

    name: str
    rows: int
    events: int
    rate: float
    mean_risk: float
    measures: dict[str, Interval]

    @property
    def too_few(self) -> str:
        """Reason why the group is not judged, such as "12 events"; "" where it is."""
        for noun, count in (("event", self.events), ("non-event", self.rows - self.events)):
            if count < LEAST_EVENTS:
                return f"{count} {noun}{'' if count == 1 else 's'}"
        return ""

    def off(self, key: str) -> bool:
        """Return whether a measure's interval excludes a calibrated model's value; False where the group is not judged.

        Parameters
        ----------
        key : {"oe", "slope", "citl"}
            Name of the measure; of others a calibrated model may have any value.

        Returns
        -------
        bool
            False also where there are too few events to judge.
        """
        return (
            bool(self.measures)
            and not self.measures[key].low <= IDEALS[key] <= self.measures[key].high
        )


def group_panels(
    probs: Any,
    labels: Any,
    groups: Any,
    weights: Any = None,
    weight_kind: Any = None,
    clusters: Any = None,
) -> list[GroupPanel]:
    """The measures of a risk model in each group, with intervals that hold for all groups together.

    Intervals of m judged groups have the level ``1 - 0.05 / m`` each (Bonferroni), so that in 95 % of cases no group's
    interval at all misses its measure; this holds for each measure by itself.

    Parameters
    ----------
    probs : array_like of shape (n,)
        Probabilities of the event.
    labels : array_like of shape (n,)
        1 where it happened.
    groups : array_like of shape (n,)
        Name of each row's group.
    weights : array_like of shape (n,) or None, default None
        As in :func:`calib.metrics.risk_model`.
    weight_kind : {"frequency", "sampling", "exposure"} or None, default None
        As in :func:`calib.metrics.risk_model`.
    clusters : array_like of shape (n,) or None, default None
        As in :func:`calib.metrics.risk_model`.

    Returns
    -------
    list of GroupPanel
        By falling distance of the O:E interval from 1, and then of O:E itself; those with too few events last.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, group = rng.uniform(0.1, 0.6, 3000), rng.choice(["a", "b"], 3000)
    >>> found = group_panels(np.where(group == "b", p / 2, p), rng.random(3000) < p, group)
    >>> [group.name for group in found if group.off("oe")]
    ['b']
    """
    predicted, observed = check_event(probs, labels)
    names = np.asarray(groups)
    if names.shape != predicted.shape:
        raise CalibrationError(
            f"There must be one group for each of {len(predicted):,} rows; got shape {names.shape}."
        )
    counted, all_rows = Rows.checked(observed, weights, weight_kind, clusters)
    predicted = predicted[counted]
    observed = observed[counted]
    names = names[counted]
    floor = default_floor(predicted)
    every, of_row = np.unique(names.astype(str), return_inverse=True)
    rarer = np.minimum(
        *(np.bincount(of_row[part], minlength=len(every)) for part in (observed, ~observed))
    )
    enough = rarer >= LEAST_EVENTS
    joint = 1.0 - 0.05 / max(1, int(enough.sum()))
    panels = []
    for k, name in enumerate(every):
        rows = np.flatnonzero(of_row == k)
        risk = predicted[rows]
        event = observed[rows]
        sample = all_rows.take(rows, event)
        measured = closed_form(risk, event, sample, floor, joint)[0] if enough[k] else {}
        measures = {key: measured[key] for key in MEASURES if enough[k]}
        about = str(name), len(risk), int(event.sum()), sample.mean(event), sample.mean(risk)
        panels.append(GroupPanel(*about, measures))
    return sorted(panels, key=_order)


def _order(group: GroupPanel) -> tuple[float, float, int]:
    if not group.measures:
        return np.inf, np.inf, -group.rows
    value, low, high = np.log(np.maximum(group.measures["oe"], 1e-300))
    return -max(low, -high, 0.0), -abs(value), -group.rows
