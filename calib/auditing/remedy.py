"""The remedy that follows from the findings, and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calib.auditing import sentences
from calib.auditing.checks import GAIN, Checked, excludes
from calib.auditing.findings import Finding, Severity
from calib.metrics.estimate import Rows

FREE_ROWS = 1_000
"""Rows from which a map without a fixed shape is offered."""
ORDER = ("labels", "skill", "groups", "level", "spread", "classes", "ends", "time", "shape")
"""Checks by which a verdict opens, where groups come after the level unless that is fine."""


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


def remedy(checked: Checked, found: Mapping[str, Finding]) -> Remedy:
    """Return the first remedy that the findings lead to."""
    rows = checked.rows
    problem = {name for name, finding in found.items() if finding.severity == "problem"}
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
        if "classes" in problem:
            return Remedy(
                "class offsets",
                sentences.CLASS_OFFSETS,
                ("vector", "structured_vector", "temperature"),
            )
        return Remedy("temperature", sentences.TEMPERATURE, ("temperature", "ensemble_temperature"))
    return Remedy("intercept and slope", sentences.PLATT, ("platt", "beta", "isotonic"))


def severity_of_remedy(chosen: Remedy) -> Severity:
    """Severity of the finding that holds the remedy."""
    return (
        "fine"
        if chosen.key == "nothing"
        else "problem"
        if chosen.key in ("labels", "do not use")
        else "caution"
    )


def verdict(checked: Checked, found: Mapping[str, Finding], chosen: Remedy) -> str:
    """Return the conclusion: the first problem in the order of an expert, and what follows."""
    rows = checked.rows
    remedy_sentence = chosen.sentence
    if found["groups"].severity == "problem" and chosen.methods and not chosen.column:
        remedy_sentence = f"{remedy_sentence} {sentences.GROUPS_STAY}"
    order = list(ORDER)
    if found["level"].severity == "problem":
        order.remove("groups")
        order.insert(order.index("level") + 1, "groups")
    first = next((name for name in order if found[name].severity == "problem"), None)
    if chosen.key == "do not use":
        return sentences.do_not_use(rows, checked.knows_nothing)
    if first is None:
        return sentences.no_problem(rows, found)
    if rows.sample.kind == "sampling" and found["level"].severity == "problem":
        once = Rows.with_outcome(
            rows.observed, clusters=rows.sample.unit if rows.sample.clustered else None
        )
        if excludes(once.mean_of(rows.residual)) != "problem":
            return f"{sentences.weighted_level(rows)} {remedy_sentence}"
    if first == "skill":
        return f"{sentences.worse(rows)} {remedy_sentence}"
    if first == "groups":
        return f"{sentences.right_on_average(found['groups'])} {chosen.sentence}"
    return f"{found[first].sentence} {remedy_sentence}"
