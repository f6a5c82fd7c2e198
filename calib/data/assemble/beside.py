"""Arrays and columns that say something of each row beside its outputs, its label and its features.

A role is an entry of ``ROW_ROLES`` and a field of the same name in ``Choices`` and in ``Predictions``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.array_names import PARTS
from calib.data.assemble.labels import is_missing
from calib.data.findings import Step, info, listed, verb, warning
from calib.data.read.base import Array, Contents, distinct
from calib.errors import Finding
from calib.formatting import plural, row_numbers
from calib.numerics import Floats

Texts = npt.NDArray[np.str_]


@dataclass(frozen=True)
class RowRole:
    """How one role is recognised and read.

    Attributes
    ----------
    names : what such arrays are called, the least ambiguous first; lower case, without separators.
    convert : from (n,) values as read to the (n,) array of the data set; None where they cannot be used, which a
        finding says.
    """

    names: tuple[str, ...]
    convert: Callable[[Array], Step[Any]]


MAX_GROUPS = 1000
"""Subgroups that are told apart; a column with more is an identifier."""


def group_names(groups: Array) -> Step[Texts | None]:
    """The subgroup of each row as text, ``(missing)`` where it is empty; left out where it names rows, not groups."""
    values, places = distinct(groups)
    if len(values) > MAX_GROUPS:
        reason = f"The groups have more than {MAX_GROUPS:,} different values, which are no groups, so they were left "
        return Step(
            None, (warning("too_many_groups", f"{reason}out.", "Choose another column as groups."),)
        )
    # A word such as "None" is a name like any other: of what, only the person who wrote it knows.
    texts = values.astype(np.str_)
    gone = np.isnan(values) if values.dtype.kind == "f" else np.char.strip(texts) == ""
    names = np.where(gone, "(missing)", texts)
    n = int(gone[places].sum())
    said = f"{plural(n, 'row')} of {len(groups):,} {verb(n, 'has', 'have')} no group and form the group (missing)."
    return Step(names[places], (info("groups_missing", said),) if n else ())


def cluster_names(clusters: Array) -> Step[Texts | None]:
    """The cluster of each row as text; a row without one is a cluster of its own."""
    values, places = distinct(clusters)
    gone = np.flatnonzero(
        np.array([is_missing(value) for value in values.tolist()], dtype=bool)[places]
    )
    own = np.array([f"(none, row {k + 1})" for k in gone.tolist()], dtype=np.str_)
    each = values.astype(np.str_)[places].astype(max(values.astype(np.str_).dtype, own.dtype))
    each[gone] = own
    rows = f"{plural(len(gone), 'row')} of {len(clusters):,} {verb(len(gone), 'has', 'have')}"
    said = info("clusters_missing", f"{rows} no cluster; each was taken for a cluster of its own.")
    return Step(each, (said,) if len(gone) else ())


def positive_weights(weights: Array) -> Step[Floats | None]:
    """The weight of each row; left out with a warning where one is no number, negative or infinite, or all are zero."""
    try:
        values = weights.astype(np.float64)
    except ValueError:
        values = np.full(len(weights), np.nan)
    bad = ~np.isfinite(values) | (values < 0)
    if not bad.any() and values.any():
        return Step(values)
    n = int(bad.sum())
    faults = f"{n:,} of {len(weights):,} weights {verb(n, 'is', 'are')} no number from 0 upwards ({row_numbers(bad)})"
    reason = (
        f"{faults}, so all weights were left out."
        if bad.any()
        else "All weights are zero, so they were left out."
    )
    return Step(None, (warning("weights", reason, "Choose another column as the weight."),))


OTHER_TIMES = "Choose another column as the time, or write dates as 2026-03-02."
"""What to do where times cannot be used."""


def row_times(times: Array) -> Step[Texts | None]:
    """When each row was scored, as text: a number, such as that of a week, or a date as 2026-03-02.

    Left out with a note where a row has none, or dates are written in a way that has two readings.
    """
    if times.dtype.kind == "M":
        times = times.astype("datetime64[D]").astype("U10")
    values, places = distinct(times)
    readings = times_of(values)
    if len(readings) == 1:
        return Step(np.array(readings[0])[places])
    reason = "Not every row has a date such as 2026-03-02 or 02.03.2026, or a number such as that of its week"
    if readings:
        reason = f"Every date, such as {values[0]}, may name its day or its month first"
    return Step(None, (info("times", f"{reason}: the column of times was left out.", OTHER_TIMES),))


DATES = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%G-W%V-%u",
)
"""How dates are written; the last is a week, as its Monday."""


def times_of(values: Array) -> list[list[str]]:
    """Each way to read numbers or dates of one form in one spelling; none where they are neither.

    ``3/14/2026`` says by its 14 that the month comes first in the whole column.
    """
    if values.dtype.kind == "b":
        return []
    texts = [str(value).strip() for value in values.tolist()]
    try:
        numbers = [float(text) for text in texts]
        return (
            [[f"{number:.12g}" for number in numbers]] if all(map(math.isfinite, numbers)) else []
        )
    except ValueError:
        days = [
            re.sub(r"^(\d{4})-?W(\d\d?)$", r"\1-W\2-1", re.split(r"[T ]", text, maxsplit=1)[0])
            for text in texts
        ]
    found = []
    for form in DATES:
        with suppress(ValueError):
            dates = [datetime.strptime(day, form).date().isoformat() for day in days]
            found += [dates] if dates not in found else []
    return found


ROW_ROLES = {
    "groups": RowRole(
        (
            "groups",
            "group",
            "subgroup",
            "subgroups",
            "site",
            "domain",
            "sensitive",
            "cohort",
            "batch",
        ),
        group_names,
    ),
    "clusters": RowRole(("clusters", "cluster", "clusterid"), cluster_names),
    "weights": RowRole(("weights", "sampleweight", "sampleweights"), positive_weights),
    "times": RowRole(
        ("week", "date", "datetime", "timestamp", "yearweek", "calendarweek"), row_times
    ),
}  # the end of the roles

METADATA = "metadata/"
"""What the names of further columns of few values begin with among the rows."""

MOST_METADATA = 100
"""Further subgroups of one data set."""

MOST_VALUES = 50
"""Values of an array of a file that is kept as a further subgroup."""


def few_valued(contents: Contents, used: Collection[str], n_rows: int) -> dict[str, Array]:
    """Return the arrays of a file that have one of few values a row and no other role, by their names."""
    found = {}
    for info_ in contents.arrays:
        if info_.shape != (n_rows,) or info_.name in used or "float" in info_.dtype:
            continue
        values = contents.read(info_.name)
        if 2 <= len(distinct(values)[0]) <= MOST_VALUES:
            found[f"{METADATA}{info_.name}"] = values
    return found


ROLE_NAMES = frozenset(name for role in ROW_ROLES.values() for name in role.names)


def row_fields(rows: Mapping[str, Array], split_name: str) -> Step[dict[str, Any]]:
    """The split, of this name, and the arrays of ``ROW_ROLES`` as fields of Predictions, as far as they can be used."""
    fields: dict[str, Any] = {}
    findings: list[Finding] = []
    for name in (name for name in ROW_ROLES if name in rows):
        step: Step[Any] = ROW_ROLES[name].convert(rows[name].reshape(len(rows[name]), -1)[:, 0])
        fields[name] = step.value
        findings += step.findings
    decided = {name: "" for name, value in fields.items() if value is None}
    fields["metadata"] = {
        name.removeprefix(METADATA): groups
        for name, values in rows.items()
        if name.startswith(METADATA)
        and (groups := group_names(values.reshape(-1)).value) is not None
    }
    if "split" in rows:
        fields["given_split"] = calibration_rows(rows["split"])
        if fields["given_split"] is None:
            values = np.unique(rows["split"]).tolist()
            held = f"{split_name or 'The split'} holds {plural(len(values), 'value')} ({listed(values)})"
            reason = f"{held}, which do not say which rows are for calibration; it was left out."
            action = 'Save "calibration" and "test", or true for calibration rows.'
            findings.append(warning("split_unclear", reason, action))
            decided["split"] = ""
    return Step(fields, tuple(findings), decided)


def calibration_rows(split: Array) -> npt.NDArray[np.bool_] | None:
    """Which rows are for calibration, from booleans, 0 and 1, or words such as val and test; None where it is open."""
    values, positions = np.unique(split, return_inverse=True)
    if split.ndim != 1 or len(values) != 2:
        return None
    if split.dtype.kind in "bf" or (split.dtype.kind in "iu" and values.tolist() == [0, 1]):
        return np.asarray(split == values[1])
    parts = [PARTS.get(str(value).strip().lower()) for value in values.tolist()]
    settled = "test" in parts and parts[0] != parts[1] and None not in parts
    return (
        np.asarray([part != "test" for part in parts])[positions.reshape(-1)] if settled else None
    )
