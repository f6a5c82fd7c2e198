"""Per-row metadata: groups, clusters, weights, times, the split.

A role is an entry of ``ROW_ROLES`` and a field of the same name in ``Choices`` and in ``Predictions``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from calib.data.findings import Findings, info, listed, verb, warning
from calib.data.names import PARTS, is_missing
from calib.data.read.base import Array, distinct
from calib.data.read.numerals import as_numbers
from calib.data.words import listed_terms
from calib.formatting import plural, row_numbers
from calib.numerics import Floats

Texts = npt.NDArray[np.str_]


@dataclass(frozen=True)
class RowRole:
    """Names and conversion of one role.

    Attributes
    ----------
    names : of such arrays, the least ambiguous first; lower case, without separators.
    convert : from (n,) values as read to the (n,) array of the data set, None where they cannot be used; with findings.
    """

    names: tuple[str, ...]
    convert: Callable[[Array], tuple[Any, Findings]]


MAX_GROUPS = 1000
"""Most subgroups; a column with more values is an identifier."""


def group_names(groups: Array) -> tuple[Texts | None, Findings]:
    """Return the subgroup of each row as text, ``(missing)`` where it is empty; None for an identifier."""
    values, places = distinct(groups)
    if len(values) > MAX_GROUPS:
        reason = (
            f"The groups were left out: more than {MAX_GROUPS:,} different values are no groups."
        )
        return None, (warning("too_many_groups", reason, "Choose another column as groups."),)
    texts = values.astype(np.str_)
    gone = np.char.strip(texts) == ""
    if values.dtype.kind == "f":
        gone = np.isnan(values)
        if (values[~gone] % 1 == 0).all():  # whole numbers in a column with empty cells
            texts = np.array([text.removesuffix(".0") for text in texts.tolist()], dtype=np.str_)
    names = np.where(gone, "(missing)", texts)
    n = int(gone[places].sum())
    reason = f"{plural(n, 'row')} of {len(groups):,} {verb(n, 'has', 'have')} no group and form the group (missing)."
    return names[places], (info("groups_missing", reason),) if n else ()


def cluster_names(clusters: Array) -> tuple[Texts, Findings]:
    """Return the cluster of each row as text; a row without one is a cluster of its own."""
    values, places = distinct(clusters)
    missing = np.array([is_missing(value) for value in values.tolist()], dtype=bool)
    gone = np.flatnonzero(missing[places])
    unique = np.array([f"(none, row {k + 1})" for k in gone.tolist()], dtype=np.str_)
    texts = values.astype(np.str_)
    names = texts[places].astype(max(texts.dtype, unique.dtype))
    names[gone] = unique
    rows = f"{plural(len(gone), 'row')} of {len(clusters):,} {verb(len(gone), 'has', 'have')}"
    reason = f"{rows} no cluster; each was taken for a cluster of its own."
    return names, (info("clusters_missing", reason),) if len(gone) else ()


def positive_weights(weights: Array) -> tuple[Floats | None, Findings]:
    """Return the weight of each row; None where one is no number from 0 upwards, or all are zero."""
    try:
        cells = as_numbers(weights.tolist()) if weights.dtype.kind == "U" else weights
        values = np.asarray(cells, dtype=np.float64)
    except ValueError:
        values = np.full(len(weights), np.nan)
    bad = ~np.isfinite(values) | (values < 0)
    if not bad.any() and values.any():
        return values, ()
    reason = "All weights are zero, so they were left out."
    if n := int(bad.sum()):
        faults = f"{verb(n, 'is', 'are')} no number from 0 upwards ({row_numbers(bad)})"
        reason = f"{n:,} of {len(weights):,} weights {faults}, so all weights were left out."
    return None, (warning("weights", reason, "Choose another column as the weight."),)


def row_times(times: Array) -> tuple[Texts | None, Findings]:
    """Return the time of each row as text: a number, such as that of a week, or a date as 2026-03-02.

    None where a row has none, or dates are written in a way that has two readings.
    """
    if times.dtype.kind == "M":
        times = times.astype("datetime64[D]").astype("U10")
    values, places = distinct(times)
    readings = times_of(values)
    if len(readings) == 1:
        return np.array(readings[0])[places], ()
    reason = "Not every row has a date such as 2026-03-02 or 02.03.2026, or a number such as that of its week"
    if readings:
        reason = f"Every date, such as {values[0]}, may name its day or its month first"
    action = "Choose another column as the time, or write dates as 2026-03-02."
    return None, (info("times", f"{reason}: the column of times was left out.", action),)


DATES = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%G-W%V-%u",
)  # fmt: skip
"""Forms of dates; the last is a week, as its Monday."""


def times_of(values: Array) -> list[list[str]]:
    """Return each way to read numbers or dates of one form in one spelling; none where they are neither.

    ``3/14/2026`` says by its 14 that the month comes first in the whole column.
    """
    if values.dtype.kind == "b":
        return []
    texts = [str(value).strip() for value in values.tolist()]
    with suppress(ValueError):
        numbers = as_numbers(texts)
        finite = all(map(math.isfinite, numbers))
        return [[f"{number:.12g}" for number in numbers]] if finite else []
    days = [re.split(r"[T ]", text, maxsplit=1)[0] for text in texts]
    days = [re.sub(r"^(\d{4})-?W(\d\d?)$", r"\1-W\2-1", day) for day in days]
    readings = []
    for form in DATES:
        with suppress(ValueError):
            dates = [datetime.strptime(day, form).date().isoformat() for day in days]
            readings += [dates] if dates not in readings else []
    return readings


ROW_ROLES = {
    "groups": RowRole(listed_terms("array_groups"), group_names),
    "clusters": RowRole(listed_terms("array_clusters"), cluster_names),
    "weights": RowRole(listed_terms("array_weights"), positive_weights),
    "times": RowRole(listed_terms("array_times"), row_times),
}  # the end of the roles
ROLE_NAMES = frozenset(name for role in ROW_ROLES.values() for name in role.names)


def row_fields(
    rows: Mapping[str, Array], metadata: Mapping[str, Array], split_name: str
) -> tuple[dict[str, Any], Findings]:
    """Return split, metadata and the arrays of ``ROW_ROLES`` as fields of Predictions; None for what cannot be used."""
    fields: dict[str, Any] = {}
    findings: Findings = ()
    for name in (name for name in ROW_ROLES if name in rows):
        first_column = rows[name].reshape(len(rows[name]), -1)[:, 0]
        fields[name], more = ROW_ROLES[name].convert(first_column)
        findings += more
    groups = {name: group_names(values.reshape(-1))[0] for name, values in metadata.items()}
    fields["metadata"] = {name: names for name, names in groups.items() if names is not None}
    if "split" in rows:
        fields["given_split"] = calibration_rows(rows["split"])
        if fields["given_split"] is None:
            values = np.unique(rows["split"]).tolist()
            reason = (
                f"{split_name or 'The split'} holds {plural(len(values), 'value')} ({listed(values)}), which do not "
                "say which rows are for calibration; it was left out."
            )
            action = 'Save "calibration" and "test", or true for calibration rows.'
            findings += (warning("split_unclear", reason, action),)
    return fields, findings


def calibration_rows(split: Array) -> npt.NDArray[np.bool_] | None:
    """Return the mask of calibration rows from booleans, 0 and 1, or words such as val and test; None where open."""
    values = np.unique(split)
    if split.ndim != 1 or len(values) != 2:
        return None
    if split.dtype.kind in "bf" or (split.dtype.kind in "iu" and values.tolist() == [0, 1]):
        return np.asarray(split == values[1])
    parts = [PARTS.get(str(value).strip().lower()) for value in values.tolist()]
    if "test" not in parts or parts[0] == parts[1] or None in parts:
        return None
    return np.asarray(split != values[parts.index("test")])
