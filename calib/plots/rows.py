"""Frames of figures with one row per method or class.

The names stand at the left, or above the marks: at the left they take a third of a figure that is 330 pixels wide,
above the marks they cost no width, and a number finds room at the right end of the same line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calib.plots.style import FRAME, GRID, Style, colored, key_entry, plain, quiet, set_layout, set_x, set_y, shorten

ROW_PIXELS = 34
_LONGEST_NAME = 24


def frame_rows(fig: go.Figure, names: Sequence[str], *, alt: str, title: str = "", pixels: int = ROW_PIXELS) -> None:
    """Name the rows 0, 1, ... at the left, the first on top; every row has the same height in pixels."""
    short = [shorten(name, _LONGEST_NAME) for name in names]
    left = 20 + 7 * max((len(name) for name in short), default=0)
    quiet(fig, FRAME + pixels * max(len(names), 1), alt=alt, title=title, left=left)
    set_y(
        fig,
        tickvals=list(range(len(names))),
        ticktext=[plain(name) for name in short],
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
    )
    set_x(fig, showgrid=True, tickangle=0)


LABELLED_PIXELS = 40
DROP = 0.18
"""Marks are drawn at ``place + DROP``, beneath the row's text."""
_REACH = 0.24
"""How far above and below the marks a vertical line goes that must not cross the text."""
_LONGEST_LABEL = 28
_LIFT = 12
_KEY_PIXELS = 16


@dataclass(frozen=True)
class RowLabel:
    """Text of one row: its name at the left, in its colour if it has one, and a note at the right."""

    name: str
    note: str = ""
    color: str | None = None


def frame_labelled_rows(
    fig: go.Figure,
    labels: Sequence[RowLabel],
    *,
    alt: str,
    title: str = "",
    pixels: int = LABELLED_PIXELS,
    drop: float = DROP,
) -> None:
    """Write the rows' labels and give the figure its frame; row i is at y = i, the first on top.

    Parameters
    ----------
    labels : one per row.
    alt, title : as in :func:`calib.plots.style.quiet`.
    pixels : height of a row.
    drop : where in a row its base line is.
    """
    quiet(fig, FRAME + pixels * max(len(labels), 1), alt=alt, title=title, left=14, right=14)
    texts, lines = [], []
    for place, label in enumerate(labels):
        name = shorten(label.name, _LONGEST_LABEL)
        for text, x, anchor, color in ((name, 0, "left", label.color), (label.note, 1, "right", None)):
            if text:
                texts.append(
                    {"text": colored(plain(text), color) if color else plain(text), "x": x, "xref": "paper",
                     "xanchor": anchor, "y": place, "yshift": _LIFT, "yanchor": "middle", "showarrow": False,
                     "font": {"size": 12}}
                )  # fmt: skip
        lines.append(
            {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": place + drop, "y1": place + drop,
             "layer": "below", "line": {"color": GRID, "width": 1}}
        )  # fmt: skip
    # All at once: plotly checks every one again with each that is added.
    fig.layout.annotations = [*fig.layout.annotations, *texts]
    fig.layout.shapes = [*fig.layout.shapes, *lines]
    set_y(fig, visible=False, range=[len(labels) - 0.5, -0.5], fixedrange=True)
    # Ticks in place of a grid, which would strike the text through.
    set_x(fig, tickangle=0, ticks="outside", ticklen=5, tickcolor=GRID)


def line_through_rows(fig: go.Figure, x: float, n_rows: int, color: str, drop: float = DROP) -> None:
    """A thin vertical line at a value, left out where the rows' text is."""
    middles = np.arange(n_rows) + drop
    ends = np.stack([middles - _REACH, middles + _REACH, np.full(n_rows, np.nan)], axis=1)
    fig.add_scatter(
        x=np.full(ends.size, x), y=ends.ravel(), mode="lines", hoverinfo="skip", line={"color": color, "width": 1.5}
    )


def name_colors(fig: go.Figure, methods: Sequence[tuple[str, Style]]) -> None:
    """Say beneath the axis title which colour is which method, for figures that show two in every row."""
    names = "   ".join(key_entry("●", name, style.color) for name, style in methods)
    set_x(fig, title_text=f"{fig.layout.xaxis.title.text}<br>{names}")
    set_layout(fig, height=fig.layout.height + _KEY_PIXELS, margin_b=fig.layout.margin.b + _KEY_PIXELS)
