"""Which column belongs to which label, where labels are names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calib.data.checks.report import Rejected, Report, listed


def match_values(
    values: list[Any], n_classes: int, column_names: Sequence[str] | None, name: str, report: Report
) -> tuple[Any, ...]:
    """The label of each column: by the columns' names where these fit, else in sorted order.

    Parameters
    ----------
    values : the different labels, sorted.
    column_names : names of the outputs' columns; a single binary column names its positive class.
    """
    if not values:
        raise Rejected("labels_missing", f"{name} holds no label at all.", "Choose another array or column.")
    if column_names is not None and len(column_names) == n_classes:
        by_name = matched(values, column_names)
        if by_name is not None:
            report.info("class_order", f"The labels in {name} were matched to the columns by name ({listed(by_name)}).")
            return by_name
    if n_classes == 2 and len(values) == 2 and column_names is not None and len(column_names) == 1:
        positive = matched([column_names[0]], [str(value) for value in values])
        if _plain(column_names[0]) == _plain(values[0]):
            report.info("class_order", f"The column of outputs is named after {values[0]!r}: read as its probability.")
            return (values[1], values[0])
        if positive is not None:
            return tuple(values)
    if len(values) < n_classes:
        raise Rejected(
            "labels_unmatched",
            f"{name} holds {len(values)} different labels ({listed(values)}) for {n_classes} columns of outputs, "
            "and the columns are not named after them.",
            "Name the label of each column, or save labels as column numbers.",
        )
    if len(values) == n_classes:
        report.warn(
            "class_order",
            f"The labels in {name} are names, and no column carries one; the columns were taken in sorted order: "
            f"{listed(values)}.",
            "Compare this order with the model's, and change it if it differs.",
        )
    return tuple(values)


def matched(values: Sequence[Any], column_names: Sequence[str]) -> tuple[Any, ...] | None:
    """The value each column is named after; a column without rows keeps its own name. None if one fits nowhere."""
    by_name = {_plain(value): value for value in values}
    columns = [_plain(column) for column in column_names]
    if len(by_name) < len(values) or len(set(columns)) < len(columns) or not set(by_name) <= set(columns):
        return None
    return tuple(by_name.get(plain, column) for plain, column in zip(columns, column_names, strict=True))


def _plain(value: Any) -> str:
    """A name without case and separators, since columns spell them differently."""
    return "".join(c for c in str(value).lower() if c.isalnum()) or str(value)
