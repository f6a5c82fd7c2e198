"""The audit: all checks in their order, the remedy that follows, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calib.arrays import named_columns
from calib.auditing import sentences
from calib.auditing.checks import CHECKS, GAIN, Checked, excludes
from calib.auditing.findings import SEVERITIES, Audit, Finding, Severity
from calib.auditing.rows import AuditRows
from calib.base import Progress, silent
from calib.data.loading import predictions_from
from calib.data.predictions import Predictions
from calib.metrics.estimate import Rows

FREE_ROWS = 1_000
"""Rows from which a map without a fixed shape is offered."""
ORDER = ("labels", "skill", "groups", "level", "spread", "classes", "ends", "time", "shape")
"""Checks by which a verdict opens, where groups come after the level unless that is fine."""
REMEDY_SEVERITY: dict[str, Severity] = {
    "nothing": "fine",
    "labels": "problem",
    "do not use": "problem",
}
"""Of the finding that holds the remedy; of all others it is a caution."""


@dataclass(frozen=True)
class Remedy:
    """A remedy.

    Attributes
    ----------
    key : its name.
    sentence : for people.
    methods : registry names of the calibrators to begin with.
    column : column of the groups by which "by_group" corrects.
    """

    key: str
    sentence: str
    methods: tuple[str, ...] = ()
    column: str = ""


def remedy(checked: Checked, findings: Mapping[str, Finding]) -> Remedy:
    """Return the first remedy that the findings lead to."""
    rows = checked.rows
    problem = {name for name, finding in findings.items() if finding.severity == "problem"}
    if "labels" in problem:
        return Remedy("labels", sentences.CHECK_LABELS)
    if checked.knows_nothing or checked.hardly:
        return Remedy(
            "do not use", sentences.DO_NOT_USE if checked.knows_nothing else sentences.HARDLY_USE
        )
    if not problem:
        return Remedy("nothing", sentences.KEEP)
    maps = problem & {"skill", "level", "spread", "shape", "classes", "ends"}
    gain = checked.by_group
    if (
        gain is not None
        and excludes(gain, size=GAIN) in ("problem", "caution")
        and gain.value > GAIN
    ):
        column = checked.groups.leading or ""
        return Remedy("by group", sentences.by_group(column, gain), ("by_group",), column)
    if not maps:
        return Remedy("nothing", sentences.NO_SHARED_MAP)
    if "shape" in problem and len(rows) >= FREE_ROWS:
        return Remedy("free", sentences.FREE, ("isotonic", "spline", "beta"))
    if rows.n_classes > 2:
        if checked.offsets_help or maps == {"classes"}:
            return Remedy(
                "class offsets",
                sentences.CLASS_OFFSETS,
                ("vector", "structured_vector", "temperature"),
            )
        return Remedy("temperature", sentences.TEMPERATURE, ("temperature", "ensemble_temperature"))
    if maps == {"level"}:
        return Remedy("intercept", sentences.INTERCEPT, ("platt", "beta"))
    return Remedy("intercept and slope", sentences.PLATT, ("platt", "beta", "isotonic"))


def verdict(checked: Checked, findings: Mapping[str, Finding], chosen: Remedy) -> str:
    """Return the conclusion: the first problem in the order of an expert, and what follows."""
    rows = checked.rows
    order = list(ORDER)
    if findings["level"].severity == "problem":
        order.remove("groups")
        order.insert(order.index("level") + 1, "groups")
    first = next((name for name in order if findings[name].severity == "problem"), None)
    if chosen.key == "do not use":
        return sentences.do_not_use(rows, checked.knows_nothing)
    if first is None:
        return sentences.no_problem(rows, findings)
    if rows.sample.kind == "sampling" and findings["level"].severity == "problem":
        once = Rows.with_outcome(
            rows.observed, clusters=rows.sample.unit if rows.sample.clustered else None
        )
        if excludes(once.mean_of(rows.residual)) != "problem":
            return f"{sentences.weighted_level(rows)} {chosen.sentence}"
    if first == "skill":
        return f"{sentences.worse(rows)} {chosen.sentence}"
    if first == "groups":
        return (
            f"{sentences.wrong_for_groups(findings['level'], findings['groups'])} {chosen.sentence}"
        )
    return f"{findings[first].sentence} {chosen.sentence}"


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
        arrays = {"clusters": clusters, "weights": weights, "times": times}
        passed = {name: values for name, values in arrays.items() if values is not None}
        per_row: dict[str, Any] = {
            name: values if name == "weights" else values.astype(str)
            for name, values in named_columns(passed, len(data), "").items()
        }
        data = replace(data, **per_row, weight_kind=None if weights is None else "sampling")
    columns = None if groups is None else named_columns(groups, len(data), "group")
    return audit_rows(AuditRows.from_predictions(data, view, columns), progress)


def audit_rows(rows: AuditRows, progress: Progress = silent) -> Audit:
    """Run all checks over rows."""
    checked = Checked(rows)
    findings: dict[str, Finding] = {}
    for step, check in enumerate(CHECKS, 1):
        with np.errstate(all="ignore"):
            finding = check(checked)
        findings[finding.check] = finding
        progress(step, len(CHECKS) + 1, 0.0)
    chosen = remedy(checked, findings)
    if findings["groups"].severity == "problem" and chosen.methods and not chosen.column:
        chosen = replace(chosen, sentence=f"{chosen.sentence} {sentences.GROUPS_STAY}")
    conclusion = verdict(checked, findings, chosen)
    ordered = [
        *findings.values(),
        Finding("remedy", REMEDY_SEVERITY.get(chosen.key, "caution"), chosen.sentence, page="Fit"),
    ]
    ordered.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Audit(conclusion, tuple(ordered), chosen.methods, chosen.column)


def audit_arrays(bare: Predictions, view: str, *, data: Mapping[str, Any]) -> Audit:
    """Audit a data set whose arrays are given apart, as workers map them."""
    return audit(replace(bare, **data), view=view)
