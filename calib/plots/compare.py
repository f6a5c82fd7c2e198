"""Figures that compare scores: of methods, of several data sets, and over the number of calibration rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation import SCORES
from calib.evaluation.comparison_table import best_methods
from calib.plots.annotations import carry, fill_between, label_line_ends, whiskers, write
from calib.plots.axes import log_axis
from calib.plots.rows import frame_rows
from calib.plots.style import (
    Style,
    fade,
    method_style,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    shorten,
    three_digits,
)

if TYPE_CHECKING:
    import pandas as pd


ENTRIES_HEIGHT, SIZES_HEIGHT = 320, 360


def score_dots(
    table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None, title: str = ""
) -> go.Figure:
    """One row per method: its score, the interval, and the first method's score as a vertical line.

    The best are those that tables mark, see :func:`calib.evaluation.comparison_table.best_methods`.

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
            fig.add_vline(x=row["value"], line={"color": style.color, "width": 1, "dash": "dot"})
        is_best = row["method"] in best
        names.append(row["title"])
        fig.add_scatter(
            x=[row["value"]], y=[place], name=row["title"], mode="markers",
            marker={"color": style.color, "symbol": style.symbol, "size": 14 if is_best else 10},
            error_x=whiskers(row["value"], row["low"], row["high"], style.color),
            **carry(**{key: [row[key]] for key in
                       ("value", "low", "high", "difference", "difference_low", "difference_high")}),
            hovertemplate=f"{plain(row['title'])}<br>%{{customdata[0]:.3r}} (%{{customdata[1]:.3r}} to"
            " %{customdata[2]:.3r})<br>change %{customdata[3]:+.2r} (%{customdata[4]:+.2r} to"
            " %{customdata[5]:+.2r})<extra></extra>",
        )  # fmt: skip
        if is_best:
            write(
                fig, "best", row["high"] if np.isfinite(row["high"]) else row["value"], place, color=style.color,
                xanchor="left", xshift=8,
            )  # fmt: skip
    said = "; ".join(f"{name} {three_digits(value)}" for name, value in zip(names, values, strict=True))
    winners = ", ".join(rows["title"][rows["method"].isin(best)])
    alt = f"{score} of each method: {said}.{f' Best: {winners}.' if winners else ''}"
    frame_rows(fig, names, alt=alt, title=title)
    set_layout(fig, margin_r=40)
    arrow = {"lower": "← better", "higher": "better →"}.get(better, "")
    set_x(fig, title_text=f"{plain(score)}   {arrow}".strip(), nticks=5)
    return fig


_LONGEST_ENTRY = 14
_OFFSET = 0.08
"""Methods stand so far apart within an entry that their intervals do not cover each other."""


def entry_lines(table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None) -> go.Figure:
    """A line for each method across entries, with an interval at each.

    Parameters
    ----------
    table : with the columns entry, method, title, score, value, low, high; entries are drawn in their order there.
    score : which score to draw.
    styles : by the table's title; by default those of the methods.
    """
    styles = styles or {}
    entries = list(dict.fromkeys(table["entry"]))
    place = {entry: at for at, entry in enumerate(entries)}
    rows = table[(table["score"] == score) & table["value"].notna()]
    titles = list(dict.fromkeys(rows["title"]))
    fig, said = go.Figure(), []
    for number, name in enumerate(titles):
        one = rows[rows["title"] == name]
        style = styles.get(name) or method_style(str(one["method"].iloc[0]))
        shift = (number - (len(titles) - 1) / 2) * min(_OFFSET, 0.5 / max(1, len(titles)))
        fig.add_scatter(
            x=one["entry"].map(place) + shift, y=one["value"], name=name, mode="lines+markers",
            line={"color": style.color, "dash": style.dash, "width": 1.8},
            marker={"color": style.color, "symbol": style.symbol, "size": 8},
            error_y=whiskers(one["value"], one["low"], one["high"], style.color, 1.4),
            **carry(entry=one["entry"].astype(object), value=one["value"], low=one["low"], high=one["high"]),
            hovertemplate=f"{plain(name)}, %{{customdata[0]}}<br>%{{customdata[1]:.3r}} (%{{customdata[2]:.3r}} to"
            " %{customdata[3]:.3r})<extra></extra>",
        )  # fmt: skip
        first, last = one["value"].iloc[0], one["value"].iloc[-1]
        said.append(f"{name} {three_digits(first)} to {three_digits(last)}")
    alt = f"{score} from the first entry to the last: {'; '.join(said)}."
    quiet(fig, ENTRIES_HEIGHT, alt=alt, title=SCORES[score].title, right=14)
    short = [shorten(name, _LONGEST_ENTRY) for name in entries]
    set_x(
        fig, tickvals=list(range(len(entries))), ticktext=[plain(name) for name in short],
        range=[-0.5, max(len(entries), 1) - 0.5], showgrid=False, tickangle=0 if len(entries) <= 4 else -35,
    )  # fmt: skip
    if len(entries) > 4:
        set_layout(fig, height=ENTRIES_HEIGHT + 40, margin_b=fig.layout.margin.b + 40)
    set_y(fig, nticks=6, title_text=plain(score))
    return fig


_LONGEST_NAME = 22


def size_curves(table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None) -> go.Figure:
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
            fill_between(fig, size, low, high, fade(style.color, 0.08))
        fig.add_scatter(
            x=size, y=value, name=text, mode="lines" if name == baseline else "lines+markers",
            line={"color": style.color, "dash": "dot" if name == baseline else style.dash, "width": 2},
            marker={"color": style.color, "symbol": style.symbol, "size": 7},
            **carry(labels=one["size"], value=value, low=one["low"], high=one["high"], draws=one["n_draws"]),
            hovertemplate=f"{plain(text)}<br>%{{customdata[0]:,d}} labels: %{{customdata[1]:.3r}}"
            " (%{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
        )  # fmt: skip
        shown = shorten(text, _LONGEST_NAME)
        ends.append((shown, float(np.clip(value[-1], *span)), style.color))
        said.append(f"{text} {three_digits(value[0])} to {three_digits(value[-1])}")
    alt = f"{score} from the fewest to the most labels: {'; '.join(said)}."
    quiet(fig, SIZES_HEIGHT, alt=alt, title=f"{SCORES[score].title} by calibration rows")
    label_line_ends(fig, ends, span)
    decades = np.log10(rows["size"].to_numpy(float)) if len(rows) else np.array([1.0, 2.0])
    axis = log_axis(float(decades.min()) - 0.04, float(decades.max()) + 0.04)
    sizes = sorted(rows["size"].unique())
    # Every size is a tick: they are few, and halves of each other.
    set_x(fig, **axis | {"tickvals": sizes, "ticktext": [f"{size:,}" for size in sizes]}, tickangle=0)
    set_x(fig, title_text="calibration rows")
    set_y(fig, range=list(span), nticks=6, title_text=plain(score))
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
