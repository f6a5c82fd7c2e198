"""Boxes of the texts of a figure in pixels, from the width of an average letter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

PHONE = 388
"""Pixels of a figure's width in a window of 420."""
LETTER, LINE = 0.55, 1.25
"""Width of a letter and height of a line, as shares of the font's size."""
TICK = 12
KEY = 40
"""Pixels of the mark before a legend's entry, and of the room after it."""
LEGEND_LINE = 19


class Box(NamedTuple):
    """Text with its left, upper, right and lower end in pixels from the upper left corner of the figure."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


TOOL_BAR = Box("tool bar", PHONE - 160, 0, PHONE, 24)
"""Plotly's buttons, on a phone."""


def legend(fig: go.Figure, width: int = PHONE) -> Box:
    """Box of a legend that plotly wraps in columns as wide as the longest name."""
    margin = fig.layout.margin
    names = {trace.name for trace in fig.data if trace.name and trace.showlegend is not False}
    column = KEY + LETTER * TICK * max(len(unescape(name)) for name in names)
    columns = max(1, int((width - margin.l - margin.r) / column))
    lines = -(-len(names) // columns)
    foot = _along(fig, width, "y", "paper", fig.layout.legend.y)
    right = margin.l + min(columns, len(names)) * column
    return Box("legend", margin.l, foot - LEGEND_LINE * lines, right, foot)


def boxes(fig: go.Figure, width: int = PHONE) -> list[Box]:
    """Boxes of the title, of texts in the figure and of ticks that the figure names itself."""
    found = [*_texts(fig, width), *_ticks(fig, width)]
    title = fig.layout.title
    if title.text:
        found.append(_box(title.text, title.font.size, (fig.layout.margin.l, 6), ("left", "top")))
    return found


def overlaps(found: list[Box], slack: float = 1.0) -> list[tuple[str, str]]:
    """Pairs of texts that share more than ``slack`` pixels in both directions."""
    return [
        (a.text, b.text)
        for a, b in combinations(found, 2)
        if min(a.right, b.right) - max(a.left, b.left) > slack
        and min(a.bottom, b.bottom) - max(a.top, b.top) > slack
    ]


def outside(found: list[Box], fig: go.Figure, width: int = PHONE) -> list[Box]:
    """Texts that are cut at an end of the figure."""
    height = fig.layout.height
    return [
        box
        for box in found
        if min(box.left, box.top) < 0 or box.right > width or box.bottom > height
    ]


def _letters(text: str) -> list[str]:
    """Lines of a text without plotly's small HTML."""
    return [unescape(re.sub("<[^>]*>", "", line)) for line in text.split("<br>")]


def _box(text: str, size: float, place: tuple[float, float], anchors: tuple[str, str]) -> Box:
    lines = _letters(text)
    across, down = max(map(len, lines)) * LETTER * size, len(lines) * LINE * size
    before = {"left": 0.0, "top": 0.0, "center": 0.5, "middle": 0.5, "right": 1.0, "bottom": 1.0}
    left, top = place[0] - before[anchors[0]] * across, place[1] - before[anchors[1]] * down
    return Box(" ".join(lines), left, top, left + across, top + down)


def _along(fig: go.Figure, width: int, letter: str, reference: str, at: float) -> float:
    """Pixels of a place on an axis, in its domain or in the whole plot."""
    layout, margin = fig.layout, fig.layout.margin
    share = at
    name = reference.split()[0]
    if name != "paper":
        axis = layout[f"{letter}axis{name[1:]}"]
        if not reference.endswith("domain"):
            first, last = axis.range
            share = (at - first) / (last - first)
        low, high = axis.domain or (0.0, 1.0)
        share = low + share * (high - low)
    if letter == "x":
        return margin.l + share * (width - margin.l - margin.r)
    return margin.t + (1 - share) * (layout.height - margin.t - margin.b)


def _texts(fig: go.Figure, width: int) -> Iterator[Box]:
    for note in fig.layout.annotations:
        place = [
            _along(fig, width, letter, note[f"{letter}ref"] or letter, note[letter])
            for letter in "xy"
        ]
        place[0] += note.xshift or 0
        place[1] -= note.yshift or 0
        anchors = note.xanchor or "center", note.yanchor or "middle"
        yield _box(note.text, note.font.size or TICK, (place[0], place[1]), anchors)


def _ticks(fig: go.Figure, width: int) -> Iterator[Box]:
    """Boxes of ticks beneath the plot and left of it."""
    for key in fig.layout:
        if not re.fullmatch(r"[xy]axis\d*", key) or fig.layout[key].visible is False:
            continue
        axis = fig.layout[key]
        name = key.replace("axis", "")
        size = axis.tickfont.size or TICK
        for at, text in _tick_texts(axis):
            along = _along(fig, width, name[0], name, at)
            if name[0] == "x":
                foot = _along(fig, width, "y", f"{axis.anchor or 'y'} domain", 0.0)
                yield _box(text, size, (along, foot + 3), ("center", "top"))
            else:
                edge = _along(fig, width, "x", f"{axis.anchor or 'x'} domain", 0.0)
                yield _box(text, size, (edge - 3, along), ("right", "middle"))


def _tick_texts(axis: Any) -> list[tuple[float, str]]:
    low, high = sorted(axis.range) if axis.range is not None else (0.0, 0.0)
    if axis.tickvals is not None and axis.ticktext is not None:
        values = np.asarray(axis.tickvals, dtype=float)
        places = np.log10(values) if axis.type == "log" else values
        ticks = list(zip(places.tolist(), axis.ticktext, strict=True))
    elif axis.dtick and axis.tickformat in (".0%", ".1%"):
        steps = np.arange(np.ceil(low / axis.dtick - 1e-9), high / axis.dtick + 1e-9)
        ticks = [(step * axis.dtick, f"{step * axis.dtick:{axis.tickformat}}") for step in steps]
    else:
        ticks = []
    return [(at, text) for at, text in ticks if low - 1e-9 <= at <= high + 1e-9]
