"""Arrays and columns that say something of each row beside its outputs, its label and its features.

A role is an entry of ``ROW_ROLES`` and a field of the same name in ``Choices`` and in ``Predictions``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calib.data.checks.report import Report
from calib.data.formats.base import Array


@dataclass(frozen=True)
class RowRole:
    """How one role is recognised and read.

    Attributes
    ----------
    names : what such arrays are called, the least ambiguous first; lower case, without separators.
    convert : from (n, ...) values as read to the (n,) array of the data set; None where they cannot be used, which it
        reports, with the role decided as "".
    """

    names: tuple[str, ...]
    convert: Callable[[Array, Report], Array | None]


# What each role makes of the values as read.

MAX_GROUPS = 1000
"""Subgroups that are told apart; a column with more is an identifier."""


def group_names(groups: Array, report: Report) -> npt.NDArray[np.str_] | None:
    """The subgroup of each row as text; left out with a warning where it names rows rather than groups."""
    values, positions = np.unique(groups.reshape(len(groups), -1)[:, 0], return_inverse=True)
    if len(values) > MAX_GROUPS:
        report.warn(
            "too_many_groups",
            f"The groups have {len(values):,} different values; more than {MAX_GROUPS:,} are no groups, so they were "
            "left out.",
            "Choose another column as groups.",
        )
        report.decide(groups="")
        return None
    return np.array([str(value) for value in values.tolist()])[positions.reshape(-1)]


ROW_ROLES = {
    "groups": RowRole(
        ("groups", "group", "subgroup", "subgroups", "site", "domain", "sensitive", "cohort", "batch"), group_names
    ),
}  # the end of the roles

ROLE_NAMES = frozenset(name for role in ROW_ROLES.values() for name in role.names)
