"""Scores of methods over the number of calibration rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.axes import log_axis, span
from calib.plots.lines import Curve, describe_ends, line_chart
from calib.plots.style import Style, method_style

if TYPE_CHECKING:
    import pandas as pd


_LOG_FROM = 4
"""Scores that differ by more than this factor have a logarithmic axis."""


def size_curves(
    table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None
) -> go.Figure:
    """One line with its band for each method; the first method, which no labels change, is a dotted level line.

    Where few labels make a method many times worse, the axis is logarithmic.

    Parameters
    ----------
    table : with the columns method, title, size, n_splits, score, value, low, high; others are left aside.
    score : which score to draw.
    styles : by the table's method.
    """
    rows = table[(table["score"] == score) & table["value"].notna()]
    values = rows["value"].to_numpy(float)
    sizes = sorted(rows["size"].unique())
    logarithmic = bool(len(values) and values.min() > 0 and values.max() > _LOG_FROM * values.min())
    curves = []
    for method, scores in rows.groupby("method", sort=False):
        scores = scores.sort_values("size")
        style = (styles or {}).get(str(method)) or method_style(str(method))
        if method == table["method"].iloc[0]:
            style = Style(style.color, style.symbol, "dot")
        band = scores["low"], scores["high"]
        more = {"splits": scores["n_splits"]}
        curves.append(
            Curve(str(scores["title"].iloc[0]), style, scores["size"], scores["value"], band, more)
        )
    if logarithmic:
        limits = span(np.log10(values))
    else:
        last = rows[rows["size"] == sizes[-1]]
        limits = span(values, last["low"], last["high"])
    x_axis = {
        "type": "log",
        "range": span(np.log10(sizes), least=0.04),
        "tickvals": sizes,  # all: they are few, and halves of each other
        "ticktext": [f"{size:,}" for size in sizes],
        "title_text": "calibration rows",
    }
    y_axis = log_axis(*limits) if logarithmic else {"range": limits}
    title = f"{rows['score_title'].iloc[0]} by calibration rows"
    alt = f"{score} from the fewest to the most labels: {describe_ends(curves)}."
    return line_chart(
        curves, ("labels", "value"), x_axis, y_axis | {"title_text": score}, title, alt
    )
