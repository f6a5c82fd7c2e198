"""Figures with one row for each method, group or class: names above the marks, where they cost no width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.plots.annotations import draw_line, draw_marks, note, whiskers
from calib.plots.style import (
    FRAME,
    GRID,
    HIDDEN,
    Style,
    add_line,
    colored,
    key_entry,
    label,
    quiet,
    set_x,
    set_y,
)

ROW_PIXELS = 40
DROP = 0.18
"""Marks are drawn at ``place + DROP``, beneath the row's text."""
_REACH = 0.24
"""Reach above and below the marks of a vertical line that must not cross the text."""
_LONGEST_NAME = 28
_LIFT = 12


@dataclass(frozen=True)
class RowLabel:
    """Text of one row: its name at the left, in its colour if it has one, and a note at the right."""

    name: str
    note: str = ""
    color: str | None = None


def draw_row(
    fig: go.Figure,
    place: float,
    interval: Sequence[float],
    style: Style,
    name: str,
    carried: dict[str, Any],
    *,
    size: float = 10,
    symbol: str | None = None,
    drop: float = DROP,
) -> None:
    """Draw the mark of a row on its interval, given as value, low and high."""
    value, low, high = interval
    bars = whiskers(value, low, high, style.color)
    draw_marks(
        fig, [value], [place + drop], style, name, carried, size=size, symbol=symbol, error_x=bars
    )


def frame_rows(
    fig: go.Figure,
    labels: Sequence[RowLabel],
    *,
    alt: str,
    title: str = "",
    pixels: int = ROW_PIXELS,
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
    texts = []
    lines = []
    for place, row in enumerate(labels):
        name = label(row.name, _LONGEST_NAME)
        for text, x, anchor, size in (
            (colored(name, row.color) if row.color else name, 0, "left", 12),
            (label(row.note, 60), 1, "right", 11),
        ):
            if text:
                at: dict[str, Any] = {
                    "xref": "paper",
                    "xanchor": anchor,
                    "yshift": _LIFT,
                    "yanchor": "middle",
                }
                texts.append(note(text, x, place, size=size, **at))
        y = place + drop
        look = {"layer": "below", "line": {"color": GRID, "width": 1}}
        lines.append({"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, **look})
    # All at once: plotly checks every one again with each that is added.
    fig.layout.annotations = [*fig.layout.annotations, *texts]
    fig.layout.shapes = [*fig.layout.shapes, *lines]
    set_y(fig, range=[max(len(labels), 1) - 0.5, -0.5], **HIDDEN)
    # Ticks in place of a grid, which would strike the text through.
    set_x(fig, ticks="outside", ticklen=5, tickcolor=GRID, nticks=6)


def line_through_rows(
    fig: go.Figure, x: float, n_rows: int, style: Style, drop: float = DROP
) -> None:
    """A thin vertical line at a value, left out where the rows' text is."""
    middles = np.arange(n_rows) + drop
    ends = np.stack([middles - _REACH, middles + _REACH, np.full(n_rows, np.nan)], axis=1)
    draw_line(fig, np.full(ends.size, x), ends.ravel(), style, width=1.5)


def name_colors(fig: go.Figure, methods: Sequence[tuple[str, Style]]) -> None:
    """Say beneath the axis title which colour is which method, for figures that show two in every row."""
    names = "   ".join(key_entry("●", name, style.color) for name, style in methods)
    set_x(fig, title_text=f"{fig.layout.xaxis.title.text}<br>{names}")
    add_line(fig)
