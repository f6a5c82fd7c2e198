"""Where each arm ended, as a table of numbers with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from calib.active_learning import MEASURES
from calib.active_learning.results import AT_EQUAL, FOR_CALIBRATION, LABELS
from calib.formatting import number, signed
from calib.ui.narrow import sideways

COLUMNS = {
    LABELS: "Labels asked",
    FOR_CALIBRATION: "For calibration",
    **{name: measure.title for name, measure in MEASURES.items()},
    AT_EQUAL: "Error at equal labels",
}
DIGIT, MARGIN = 6.5, 20
"""Pixels of a character and around a text; Streamlit measures the numbers, and cuts texts that are longer."""
ROOM = 1150
"""Pixels beside the menu in a window of 1500."""
COUNTS = (LABELS, FOR_CALIBRATION)
PERCENT = {name for name, measure in MEASURES.items() if measure.percent} | {AT_EQUAL}


@dataclass(frozen=True, eq=False)
class ArmTable:
    """A table that is ready to be drawn: its numbers with their texts, and the pixels that each column needs."""

    styler: Styler
    widths: dict[str, int]


def styled_arms(summary: pd.DataFrame, differences: bool) -> ArmTable:
    """One row per arm, one column per quantity; cells hold numbers and show text.

    Parameters
    ----------
    summary : from :func:`calib.active_learning.compare_arms`.
    differences : whether to show what each arm differs by from the first, instead of its own values.
    """
    arms = list(summary["arm"].unique())
    cells = {(row["arm"], row["quantity"]): row for row in summary.to_dict("records")}
    key = "difference" if differences else "value"
    values = [[cells[arm, quantity][key] for quantity in COLUMNS] for arm in arms]
    frame = pd.DataFrame(values, columns=list(COLUMNS.values()), dtype=float)
    frame.insert(0, "Arm", [cells[arm, LABELS]["title"] for arm in arms])
    styler, longest = frame.style, {"Arm": max(map(len, frame["Arm"]))}
    for quantity, column in COLUMNS.items():
        longest[column] = len(column)
        for place, arm in enumerate(arms):
            text = _difference(cells[arm, quantity], arm == arms[0]) if differences else _value(cells[arm, quantity])
            longest[column] = max(longest[column], len(text))
            styler.format(partial(_said, text), subset=pd.IndexSlice[[place], [column]], na_rep="–")
    return ArmTable(styler, {column: round(MARGIN + DIGIT * n) for column, n in longest.items()})


def show_arms(table: ArmTable, key: str) -> None:
    """Draw the table with the arms held at the left; ``key`` changes with what it shows."""
    columns = {name: st.column_config.Column(width=width, pinned=name == "Arm") for name, width in table.widths.items()}
    st.dataframe(
        table.styler, hide_index=True, width="stretch", height="content", column_config=columns, placeholder="–",
        key=key,
    )  # fmt: skip
    sideways(len(columns) if sum(table.widths.values()) > ROOM else 0)


def _said(text: str, value: object) -> str:
    return text


def _value(row: dict[Any, Any]) -> str:
    low = max(row["low"], 0.0) if math.isfinite(row["low"]) else row["low"]  # none of them can be negative
    return _interval(row["quantity"], row["value"], low, row["high"], number)


def _difference(row: dict[Any, Any], first: bool) -> str:
    if first:
        return "–"
    low, high = row["difference_low"], row["difference_high"]
    beyond = "  *" if low > 0 or high < 0 else ""
    return _interval(row["quantity"], row["difference"], low, high, signed) + beyond


def _interval(quantity: str, value: float, low: float, high: float, write: Any) -> str:
    scale, unit = (100, " pp" if write is signed else " %") if quantity in PERCENT else (1, "")
    if quantity in COUNTS:
        write = partial(_count, write is signed)
    text = write(scale * value) + (unit if not math.isnan(value) else "")
    if not math.isfinite(low) or low == high:
        return text
    return f"{text}  [{write(scale * low)}, {write(scale * high)}]"


def _count(sign: bool, value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+,.0f}" if sign else f"{value:,.0f}"
