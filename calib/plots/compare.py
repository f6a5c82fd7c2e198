"""Scores of methods over the number of calibration rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.plots.annotations import carry, draw_line, fill_between, label_line_ends
from calib.plots.axes import log_axis, span
from calib.plots.style import (
    Style,
    fade,
    method_style,
    one_each,
    plain,
    quiet,
    set_x,
    set_y,
    three_digits,
)

if TYPE_CHECKING:
    import pandas as pd


SIZES_HEIGHT = 360
_INTERVAL = "{value:.3r} ({low:.3r} to {high:.3r})"


def _of_score(table: pd.DataFrame, score: str) -> pd.DataFrame:
    return table[(table["score"] == score) & table["value"].notna()]


def _style(styles: Mapping[str, Style] | None, key: str, method: str) -> Style:
    return (styles or {}).get(key) or method_style(method)


def _numbers(rows: pd.DataFrame) -> dict[str, Any]:
    return {key: rows[key] for key in ("value", "low", "high")}


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
    rows = _of_score(table, score)
    baseline = table["method"].iloc[0]
    values = rows["value"].to_numpy(float)
    sizes = sorted(rows["size"].unique())
    logarithmic = bool(len(values) and values.min() > 0 and values.max() > _LOG_FROM * values.min())

    def place(score: Any) -> Any:
        """Logarithms of what is positive; the rest of a band lies below every axis."""
        score = np.asarray(score, dtype=float)
        return np.log10(np.maximum(score, 1e-12)) if logarithmic else score

    last = rows[rows["size"] == rows["size"].max()]
    limits = span(place(values), *(() if logarithmic else (last["low"], last["high"])), pad=0.05)
    fig = go.Figure()
    ends = []
    said = {}
    for name, one in rows.groupby("method", sort=False):
        one = one.sort_values("size")
        title = str(one["title"].iloc[0])
        style = _style(styles, str(name), str(name))
        size = np.log10(one["size"].to_numpy(float))
        value = one["value"].to_numpy(float)
        if name == baseline:
            style = Style(style.color, style.symbol, "dot")
        else:
            fill_between(
                fig, size, place(one["low"]), place(one["high"]), fade(style.color, 0.08), limits
            )
        told = carry(
            f"{plain(title)}<br>{{labels:,d}} labels: {_INTERVAL}",
            labels=one["size"],
            **_numbers(one),
            splits=one["n_splits"],
        )
        draw_line(fig, size, place(value), style, title, told, markers=0 if name == baseline else 7)
        ends.append((title, float(place(value[-1])), style.color))
        said[title] = f"{three_digits(value[0])} to {three_digits(value[-1])}"
    alt = f"{score} from the fewest to the most labels: {one_each(said)}."
    quiet(fig, SIZES_HEIGHT, alt=alt, title=f"{rows['score_title'].iloc[0]} by calibration rows")
    label_line_ends(fig, ends, limits)
    # Every size is a tick: they are few, and halves of each other.
    across = span(np.log10(np.array(sizes, dtype=float)), least=0.04) if sizes else (1.0, 2.0)
    set_x(
        fig,
        range=across,
        tickvals=np.log10(sizes),
        ticktext=[f"{size:,}" for size in sizes],
        title_text="calibration rows",
    )
    set_y(fig, range=limits, nticks=6, title_text=plain(score))
    if logarithmic:
        set_y(fig, **log_axis(*limits, typed=False))
    return fig
