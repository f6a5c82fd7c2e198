"""Scores against the number of calibration rows, with bands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.annotations import label_line_ends
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.log_axis import log_axis
from calib.plots.style import FRAME, Style, fade, method_style, plain, quiet, three_digits

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_NAME = 22


def size_curves(
    table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None, title: str = "", height: int = 360
) -> go.Figure:
    """One line with its band for each method; the first method, which no labels change, is a dotted level line.

    The axis shows what lies between the best band and a little above the first method: where few labels make a method
    far worse, its line leaves at the top.

    Parameters
    ----------
    table : with the columns method, title, size, n_draws, score, value, low, high; others are left aside.
    score : which score to draw.
    styles : by the table's method.
    """
    styles = styles or {}
    rows = table[(table["score"] == score) & table["value"].notna()]
    baseline = table["method"].iloc[0]
    fig, ends, said = go.Figure(), [], []
    span = _span(rows, baseline)
    for name, one in rows.groupby("method", sort=False):
        one = one.sort_values("size")
        style = styles.get(str(name)) or method_style(str(name))
        size, value = one["size"].to_numpy(float), one["value"].to_numpy(float)
        low, high = (one[end].clip(*_far(span)).to_numpy(float) for end in ("low", "high"))
        text = str(one["title"].iloc[0])
        if name != baseline:
            fig.add_scatter(
                x=np.r_[size, size[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="lines", line_width=0,
                fillcolor=fade(style.color, 0.08), hoverinfo="skip",
            )  # fmt: skip
        fig.add_scatter(
            x=size, y=value, name=text, mode="lines" if name == baseline else "lines+markers",
            line={"color": style.color, "dash": "dot" if name == baseline else style.dash, "width": 2},
            marker={"color": style.color, "symbol": style.symbol, "size": 7},
            **carry(labels=one["size"], value=value, low=one["low"], high=one["high"], draws=one["n_draws"]),
            hovertemplate=f"{plain(text)}<br>%{{customdata[0]:,d}} labels: %{{customdata[1]:.3r}}"
            " (%{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
        )  # fmt: skip
        shown = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"
        ends.append((shown, float(np.clip(value[-1], *span)), style.color))
        said.append(f"{text} {three_digits(value[0])} to {three_digits(value[-1])}")
    longest = max((len(name) for name, _, _ in ends), default=0)
    quiet(fig, height, alt=f"{score} from the fewest to the most labels: {'; '.join(said)}.", title=title,
          right=20 + 7 * longest)  # fmt: skip
    label_line_ends(fig, ends, span, height - FRAME)
    decades = np.log10(rows["size"].to_numpy(float)) if len(rows) else np.array([1.0, 2.0])
    axis = log_axis(float(decades.min()) - 0.04, float(decades.max()) + 0.04)
    sizes = sorted(rows["size"].unique())
    # Every size is a tick: they are few, and halves of each other.
    set_x(fig, **axis | {"tickvals": sizes, "ticktext": [f"{size:,}" for size in sizes]}, tickangle=0)
    set_x(fig, title_text="calibration rows")
    set_y(fig, range=list(span), nticks=6)
    return fig


def _span(rows: pd.DataFrame, baseline: str) -> tuple[float, float]:
    """Axis range: all of the bands' low ends, and up to a little above the worst at the largest size."""
    if not len(rows):
        return 0.0, 1.0
    low = float(rows["low"].min())
    final = rows[(rows["size"] == rows["size"].max()) | (rows["method"] == baseline)]
    top = float(final["high"].replace(np.inf, np.nan).max())
    top = max(top, float(rows["value"].median()))
    top = min(low + 1.25 * (top - low), float(rows["high"].replace(np.inf, np.nan).max()))
    return low - 0.03 * (top - low), top + 0.03 * (top - low) or 1.0


def _far(span: tuple[float, float]) -> tuple[float, float]:
    """Where an unbounded band is cut, far outside the picture."""
    width = span[1] - span[0]
    return span[0] - 10 * width, span[1] + 10 * width
