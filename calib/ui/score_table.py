"""Methods by scores as a table of numbers, so that it sorts by them, shown with their intervals and marks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from calib.evaluation import SCORES
from calib.evaluation.verdict import best_methods
from calib.formatting import number
from calib.ui.widgets import sideways


def styled_scores(table: pd.DataFrame, keys: Sequence[str], intervals: bool, spread: bool = False) -> Styler:
    """One row per method and one column per score; cells hold numbers and show text.

    Parameters
    ----------
    table : tidy, as from :func:`calib.evaluation.compare.compare_evaluations` or
        :func:`calib.evaluation.repeated_splits.summarise_splits`.
    keys : scores to show.
    intervals : whether cells show the interval.
    spread : whether they show the standard deviation over splits.
    """
    methods = list(table["method"].unique())
    cells = {(row["method"], row["score"]): row for row in table[table["score"].isin(keys)].to_dict("records")}
    titles = [cells[method, keys[0]]["title"] for method in methods]
    columns = [SCORES[key].title for key in keys]
    values = [[cells[method, key]["value"] for key in keys] for method in methods]
    frame = pd.DataFrame(values, columns=columns, dtype=float)
    frame.insert(0, "method", titles)
    styler = frame.style
    for place, key in enumerate(keys):
        best = best_methods(table, key)
        for row, method in enumerate(methods):
            text = _cell(cells[method, key], best, intervals, spread)
            # A cell at a time, since equal values may have other intervals.
            styler.format(partial(_said, text), subset=pd.IndexSlice[[row], [columns[place]]], na_rep="–")
    return styler


def show_scores(styler: Styler) -> None:
    """Draw the table with the methods held at the left."""
    pinned = {"method": st.column_config.TextColumn(pinned=True)}
    st.dataframe(styler, hide_index=True, width="stretch", height="content", column_config=pinned, placeholder="–")
    sideways(len(styler.columns))


def _said(text: str, value: object) -> str:
    """What a cell shows, whatever its value."""
    return text


def _cell(row: dict[Any, Any], best: frozenset[str], intervals: bool, spread: bool) -> str:
    text = number(row["value"])
    if spread and row["sd"] == row["sd"]:
        text += f" ± {number(row['sd'], 2)}"
    if intervals and row["value"] == row["value"]:
        text += f"  [{number(row['low'])}, {number(row['high'])}]"
    text += "  ★" if row["method"] in best else ""
    return text + {"better": "  ✓", "worse": "  ✗"}.get(row["beyond_chance"], "")
