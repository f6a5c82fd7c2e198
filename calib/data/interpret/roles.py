"""Arrays and columns that say something of each row beside its outputs, its label and its features.

A role is an entry of ``ROW_ROLES`` and a field of the same name in ``Choices`` and in ``Predictions``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import Report, count, row_numbers, verb
from calib.data.interpret.label_values import is_missing
from calib.data.limits import MAX_DISTINCT
from calib.data.read.base import Allowance, Array, book_texts, distinct
from calib.numerics import Floats

Role = Literal[
    "outcome", "outputs", "predicted", "cluster", "weight", "group", "time", "features", "split", "id", "ignore"
]  # fmt: skip
"""What a column is, as people write it."""


@dataclass(frozen=True)
class ColumnRole:
    """What one column was taken for, and why."""

    column: str
    role: Role
    reason: str


@dataclass(frozen=True)
class TableReading:
    """One way to read a table, and what it would give.

    Attributes
    ----------
    roles : column or columns of each role, as :func:`calib.load` takes them.
    sentence : what the reading means, with its numbers.
    rows : rows with an outcome and outputs.
    event_rate : share of rows with the event; None unless there are two classes.
    accuracy, auroc : how well outputs and outcome would agree; None where it does not apply.
    """

    roles: Mapping[str, str | tuple[str, ...]]
    sentence: str
    rows: int
    event_rate: float | None = None
    accuracy: float | None = None
    auroc: float | None = None


@dataclass(frozen=True)
class RowRole:
    """How one role is recognised and read.

    Attributes
    ----------
    names : what such arrays are called, the least ambiguous first; lower case, without separators.
    convert : from (n,) values as read to the (n,) array of the data set; None where they cannot be used, which it
        reports.
    """

    names: tuple[str, ...]
    convert: Callable[[Array, Report], Array | None]


# What each role makes of the values as read.

MAX_GROUPS = 1000
"""Subgroups that are told apart; a column with more is an identifier."""


def group_names(groups: Array, report: Report) -> npt.NDArray[np.str_] | None:
    """The subgroup of each row as text, ``missing`` where a row has none; left out where it names rows, not groups."""
    found = distinct(groups, MAX_GROUPS)
    if found is None:
        report.warn(
            "too_many_groups",
            f"The groups have more than {MAX_GROUPS:,} different values, which are no groups, so they were left out.",
            "Choose another column as groups.",
        )
        return None
    values, positions = found
    gone = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    n_gone = int(gone[positions].sum())
    if n_gone:
        rows = f"{count(n_gone, 'row')} of {len(groups):,} {verb(n_gone, 'has', 'have')}"
        report.info("groups_missing", f"{rows} no group and form the group called missing.")
    names = ["missing" if none else str(value) for value, none in zip(values.tolist(), gone, strict=True)]
    return np.array(names)[positions]


def cluster_names(clusters: Array, report: Report) -> npt.NDArray[np.str_] | None:
    """The cluster of each row as text; a row without one is a cluster of its own. Left out where they are too many."""
    different = distinct(clusters, MAX_DISTINCT)
    if different is None:
        report.warn(
            "too_many_clusters",
            f"There are more than {MAX_DISTINCT:,} clusters, which are not read, so they were left out.",
            "Choose another column as the cluster.",
        )
        return None
    values, positions = different
    none = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    names = np.array(["" if gone else str(value) for value, gone in zip(values.tolist(), none, strict=True)])
    book_texts(len(positions), names.itemsize // 4, "The clusters", Allowance())
    gone = np.flatnonzero(none[positions])
    if not len(gone):
        return names[positions]
    rows = f"{count(len(gone), 'row')} of {len(clusters):,} {verb(len(gone), 'has', 'have')}"
    report.info("clusters_missing", f"{rows} no cluster; each was taken for a cluster of its own.")
    own = np.array([f"(none, row {k + 1})" for k in gone.tolist()])
    found = names.astype(max(names.dtype, own.dtype, key=lambda dtype: dtype.itemsize))[positions]
    found[gone] = own
    return found


def positive_weights(weights: Array, report: Report) -> Floats | None:
    """The weight of each row; left out with a warning where one is no number, negative or infinite, or all are zero."""
    try:
        values = weights.astype(np.float64)
    except ValueError:
        values = np.full(len(weights), np.nan)
    bad = ~np.isfinite(values) | (values < 0)
    n_bad = int(bad.sum())
    if not n_bad and values.any():
        return values
    report.warn(
        "weights",
        f"{n_bad:,} of {len(weights):,} weights are no number from 0 upwards ({row_numbers(bad)}), so all weights were "
        "left out."
        if n_bad
        else "All weights are zero, so they were left out.",
        "Choose another column as the weight.",
    )
    return None


def row_times(times: Array, report: Report) -> npt.NDArray[np.str_] | None:
    """When each row was scored, as text: a number, such as that of a week, or a date as 2026-03-02.

    Left out with a note where a row has none, or dates are written in a way that has two readings.
    """
    if times.dtype.kind == "M":
        times = times.astype("datetime64[D]").astype("U10")
    different = distinct(times, MAX_DISTINCT)
    written = times_of(different[0]) if different is not None else None
    if different is None or written is None:
        report.info(
            "times",
            "Not every row has a date such as 2026-03-02 or 02.03.2026, or a number such as that of its week: the "
            "column of times was left out.",
            "Choose another column as the time, or write dates as 2026-03-02.",
        )
        return None
    return np.array(written)[different[1]]


def times_of(values: Array) -> list[str] | None:
    """Times in one spelling; None where they are not all dates or all numbers, or have two readings.

    ``3/14/2026`` says by its 14 that the month comes first in the whole column.
    """
    for spell in (when, _day_first, _month_first):
        written = [spell(value) for value in values.tolist()]
        if None not in written:
            other = spell is _day_first and None not in [_month_first(value) for value in values.tolist()]
            kinds = {"-" in str(text)[1:] for text in written}
            return None if other or len(kinds) > 1 else [str(text) for text in written]
    return None


def _day_first(value: Any) -> str | None:
    return _slashes(value, 2, 1)


def _month_first(value: Any) -> str | None:
    return _slashes(value, 1, 2)


def _slashes(value: Any, month: int, day: int) -> str | None:
    found = _WITH_SLASHES.fullmatch(str(value).strip())
    try:
        return None if found is None else date(int(found[3]), int(found[month]), int(found[day])).isoformat()
    except ValueError:
        return None


_WITH_SLASHES = re.compile(r"(\d\d?)[/-](\d\d?)[/-](\d{4})(\s.*)?")
_ISO = re.compile(r"(\d{4})[-/.](\d\d?)[-/.](\d\d?)([T ].*)?")
_DAY_FIRST = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})(\s.*)?")
_WEEK = re.compile(r"(\d{4})-?W(\d\d?)")


def when(value: Any) -> str | None:
    """A number or a date in one spelling; None for what is neither."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value:.12g}" if math.isfinite(value) else None
    text = str(value).strip()
    try:
        if found := _ISO.fullmatch(text):
            return date(int(found[1]), int(found[2]), int(found[3])).isoformat()
        if found := _DAY_FIRST.fullmatch(text):
            return date(int(found[3]), int(found[2]), int(found[1])).isoformat()
        if found := _WEEK.fullmatch(text):
            return date.fromisocalendar(int(found[1]), int(found[2]), 1).isoformat()
        return f"{float(text):.12g}" if math.isfinite(float(text)) else None
    except ValueError:
        return None


ROW_ROLES = {
    "groups": RowRole(
        ("groups", "group", "subgroup", "subgroups", "site", "domain", "sensitive", "cohort", "batch"), group_names
    ),
    "clusters": RowRole(("clusters", "cluster", "clusterid"), cluster_names),
    "weights": RowRole(("weights", "sampleweight", "sampleweights"), positive_weights),
    "times": RowRole(("week", "date", "datetime", "timestamp", "yearweek", "calendarweek"), row_times),
}  # the end of the roles

ROLE_NAMES = frozenset(name for role in ROW_ROLES.values() for name in role.names)
