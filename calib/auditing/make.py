"""The audit: all checks in their order, the remedy that follows, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from calib.arrays import as_array
from calib.auditing.checks import CHECKS, Checked
from calib.auditing.findings import SEVERITIES, Audit, Finding
from calib.auditing.remedy import remedy, severity_of_remedy, verdict
from calib.auditing.rows import AuditRows, named_columns
from calib.base import Progress, silent
from calib.data.loading import predictions_from
from calib.data.predictions import Predictions
from calib.errors import CalibrationError


def audit(
    probs: Any,
    labels: Any = None,
    *,
    groups: Any = None,
    clusters: Any = None,
    weights: Any = None,
    times: Any = None,
    view: str = "event",
    progress: Progress = silent,
) -> Audit:
    """Conclude from held-out predictions what is wrong with them, and what corrects it.

    Asks in the order of an expert: do outputs and labels belong together, are they better than class frequencies, right
    on average, too extreme, wrong in shape, at the ends, by class, by group, over time. A "problem" needs a
    size that matters, and calibrated outputs have any in at most 5 % of sets.

    Parameters
    ----------
    probs : array_like or Predictions
        (n, n_classes) probabilities, (n,) of an event, or data that :func:`calib.load` gave.
    labels : array_like of shape (n,) or None
        The true class of each row; None with Predictions.
    groups : DataFrame, mapping of str to array_like, array_like of shape (n,) or None, default None
        Columns of groups; every column and every pair of them is judged.
    clusters : array_like of shape (n,) or None, default None
        Value that rows which belong together share, such as a patient.
    weights : array_like of shape (n,) or None, default None
        Sampling weights.
    times : array_like of shape (n,) or None, default None
        Dates or numbers, to look for drift.
    view : {"event", "top-label"}, default "event"
        Of two classes, whether the event's probability or the predicted class is judged.
    progress : callable
        Called after each check with its number, their count and 0.

    Returns
    -------
    Audit
        Its ``verdict`` and ``findings``; it prints as a list.

    Raises
    ------
    CalibrationError
        If the arrays do not fit together.

    Examples
    --------
    >>> import calib
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.02, 0.6, 4000)
    >>> region = rng.choice(["north", "south"], 4000)
    >>> happened = rng.random(4000) < p + np.where(region == "north", 0.1, -0.1) * (p > 0.1)
    >>> calib.audit(p, happened, groups={"region": region}).of("groups").severity
    'problem'
    """
    if isinstance(probs, Predictions):
        data = probs
    else:
        data = predictions_from(probs, labels)
        given = {"clusters": clusters, "weights": weights, "times": times}
        per_row = {
            name: _of_rows(name, values, len(data))
            for name, values in given.items()
            if values is not None
        }
        data = replace(data, **per_row, weight_kind=None if weights is None else "sampling")
    columns = None if groups is None else named_columns(groups, len(data))
    return audit_rows(AuditRows.from_predictions(data, view, columns), progress)


def _of_rows(name: str, values: Any, n: int) -> Any:
    array = as_array(values, name)
    if array.shape != (n,):
        raise CalibrationError(
            f"{name} has shape {array.shape} for {n:,} rows; give one value a row."
        )
    return array if name == "weights" else array.astype(str)


def audit_rows(rows: AuditRows, progress: Progress = silent) -> Audit:
    """Run all checks over rows."""
    checked = Checked(rows)
    found: dict[str, Finding] = {}
    for step, check in enumerate(CHECKS, 1):
        with np.errstate(all="ignore"):
            finding = check(checked)
        found[finding.check] = finding
        progress(step, len(CHECKS) + 1, 0.0)
    chosen = remedy(checked, found)
    conclusion = verdict(checked, found, chosen)
    ordered = [
        *found.values(),
        Finding("remedy", severity_of_remedy(chosen), chosen.sentence, page="Fit"),
    ]
    ordered.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Audit(conclusion, tuple(ordered), chosen.methods, chosen.column)


def audit_arrays(bare: Predictions, view: str, *, data: Mapping[str, Any]) -> Audit:
    """Audit a data set whose arrays are given apart, as workers map them."""
    return audit(replace(bare, **data), view=view)
