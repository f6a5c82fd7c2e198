"""Many methods on one score: a dot and an interval each, beside the raw model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.verdict import best_methods
from calib.plots.data import carry
from calib.plots.layout import set_layout, set_x
from calib.plots.rows import frame_rows
from calib.plots.style import Style, fade, method_style, plain, three_digits

if TYPE_CHECKING:
    import pandas as pd


def score_dots(
    table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None, title: str = ""
) -> go.Figure:
    """One row per method: its score, the interval, and the first method's score as a vertical line.

    The best are those that tables mark, see :func:`calib.evaluation.verdict.best_methods`.

    Parameters
    ----------
    table : tidy, with the columns method, title, score, value, low, high, difference, difference_low,
        difference_high and better; rows of other scores are left out, and so are methods without a value.
        The first method is the one the differences refer to, by custom the raw model.
    score : which score to draw.
    styles : by the table's method; by default each method's own.
    title : heading.
    """
    styles = styles or {}
    rows = table[(table["score"] == score) & table["value"].notna()]
    fig = go.Figure()
    better = str(rows["better"].iloc[0]) if len(rows) else "neither"
    values = rows["value"].to_numpy(dtype=float)
    best = best_methods(table, score)
    names = []
    for place, row in enumerate(rows.to_dict("records")):
        style = styles.get(row["method"]) or method_style(row["method"])
        if row["method"] == table["method"].iloc[0]:
            fig.add_vline(x=row["value"], line={"color": fade(style.color, 0.7), "width": 1, "dash": "dot"})
        is_best = row["method"] in best
        names.append(row["title"])
        fig.add_scatter(
            x=[row["value"]], y=[place], name=row["title"], mode="markers",
            marker={"color": style.color, "symbol": style.symbol, "size": 14 if is_best else 10},
            error_x={"type": "data", "symmetric": False, "array": [row["high"] - row["value"]],
                     "arrayminus": [row["value"] - row["low"]], "color": style.color, "thickness": 2, "width": 0},
            **carry(**{key: [row[key]] for key in
                       ("value", "low", "high", "difference", "difference_low", "difference_high")}),
            hovertemplate=f"{plain(row['title'])}<br>%{{customdata[0]:.3r}} (%{{customdata[1]:.3r}} to"
            " %{customdata[2]:.3r})<br>change %{customdata[3]:+.2r} (%{customdata[4]:+.2r} to"
            " %{customdata[5]:+.2r})<extra></extra>",
        )  # fmt: skip
        if is_best:
            fig.add_annotation(
                text="best", x=row["high"] if np.isfinite(row["high"]) else row["value"], y=place, xanchor="left",
                xshift=8, showarrow=False, font={"size": 12, "color": style.color},
            )  # fmt: skip
    said = "; ".join(f"{name} {three_digits(value)}" for name, value in zip(names, values, strict=True))
    frame_rows(fig, names, alt=f"{score} of each method: {said}.", title=title)
    set_layout(fig, margin_r=40)
    arrow = {"lower": "← better", "higher": "better →"}.get(better, "")
    set_x(fig, title_text=f"{plain(score)}   {arrow}".strip(), nticks=5)
    return fig
