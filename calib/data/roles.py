"""Roles of the columns of a table, one way to read a table, and the question where there are several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal[
    "outcome", "outputs", "predicted", "cluster", "weight", "group", "time", "features", "split", "id", "metadata",
    "ignore",
]  # fmt: skip
"""Roles of a column, as people write them."""


@dataclass(frozen=True)
class ColumnRole:
    """Inferred role of a column, and the reason.

    Attributes
    ----------
    column : name of the column.
    role : one of outcome, outputs, predicted, cluster, weight, group, time, features, split, id, ignore, and metadata
        for one of few values that is kept as a further subgroup.
    reason : why it was taken for that.
    """

    column: str
    role: Role
    reason: str


@dataclass(frozen=True)
class TableReading:
    """One way to read a table, and what it would give.

    Attributes
    ----------
    roles : column or columns of each role, as :func:`calib.load` takes them, and the order of the labels.
    sentence : what the reading means, with its numbers.
    rows : rows with an outcome and outputs.
    groups : further columns of few values, whose rows are compared as groups.
    """

    roles: Mapping[str, str | tuple[str, ...] | tuple[int, ...]]
    sentence: str
    rows: int
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """Question about an upload that cannot be read without an answer.

    Attributes
    ----------
    readings : the ways to read a table, the most plausible first.
    models : the roles of each model, where a table has columns for several.
    """

    readings: tuple[TableReading, ...] = ()
    models: Mapping[str, dict[str, Any]] = field(default_factory=dict)
