"""A plotly figure as SVG, drawn here: it needs no browser now and no script when it is read.

It draws what the figures of :mod:`calib.plots` are made of: lines, markers, whiskers, areas, bars, straight shapes and
annotations on linear or logarithmic axes. Ink without a colour of its own is that of the text around the figure.
"""

from __future__ import annotations

import math
import re
from html import unescape
from typing import Any

from calib.plots import alt_text
from calib.plots.style import GRID
from calib.reporting.markup import Markup, element, together
from calib.reporting.svg_axes import Axis, Frame, frame
from calib.reporting.svg_marks import dashes, marks, path, pixels

_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_DROPS = {"top": 0.8, "middle": 0.35, "bottom": -0.2}
"""How far the baseline lies beneath the anchor, in font sizes."""
_TICK_SIZE = 12
_TICK_GAP = 5
_CHARACTER = 0.58
"""About the width of a digit in font sizes, in whatever font the reader has."""


def figure_svg(fig: Any, width: int) -> Markup:
    """The figure at a width in pixels; its height is its own."""
    at = frame(fig, width)
    clipped = [marks(trace, *_axes_of(trace, at)) for trace in fig.data if _is_clipped(trace)]
    free = [marks(trace, *_axes_of(trace, at)) for trace in fig.data if not _is_clipped(trace)]
    return element(
        "svg",
        *(_grid(axis, at) for axis in at.axes.values()),
        *(_shape(shape, at) for shape in fig.layout.shapes),
        # A picture within the picture cuts off what reaches beyond the plot area.
        element("svg", *clipped, x=at.left, y=at.top, width=at.right - at.left, height=at.bottom - at.top,
                viewBox=f"{at.left} {at.top} {at.right - at.left} {at.bottom - at.top}"),
        *free,
        *(_ticks(name, axis, at) for name, axis in at.axes.items()),
        *(_annotation(note, at) for note in fig.layout.annotations),
        _title(fig, at),
        viewBox=f"0 0 {width} {fig.layout.height}", width=width, height=fig.layout.height, role="img",
        aria_label=alt_text(fig), class_="figure",
    )  # fmt: skip


def _is_clipped(trace: Any) -> bool:
    return trace.type != "scatter" or trace.cliponaxis is not False


def _axes_of(trace: Any, at: Frame) -> tuple[Axis, Axis]:
    return at.axes["x"], at.axes[trace.yaxis or "y"]


def _grid(axis: Axis, at: Frame) -> Markup | None:
    layout = axis.layout
    if not axis.visible or layout.showgrid is False:
        return None
    across = layout.plotly_name.startswith("x")
    lines = [
        path([(place, at.top), (place, at.bottom)] if across else [(at.left, place), (at.right, place)])
        for place, _ in axis.ticks()
    ]
    return element("path", d="".join(lines), stroke=layout.gridcolor or GRID, stroke_width=1, fill="none")


def _ticks(name: str, axis: Axis, at: Frame) -> Markup | None:
    layout = axis.layout
    if not axis.visible:
        return None
    across = name.startswith("x")
    anchored = at.axes.get(layout.anchor or "") if across else None
    edge = (anchored.start if anchored else at.bottom) if across else at.axes["x"].start
    length = (layout.ticklen or 5) if layout.ticks == "outside" else 0
    texts, lines, taken = [], [], -math.inf
    for place, written in axis.ticks() if layout.showticklabels is not False else ():
        if across:
            lines.append(path([(place, edge), (place, edge + length)]))
            half = _CHARACTER * _TICK_SIZE * len(written) / 2
            if place - half < taken:
                continue  # two numbers in one place are none
            taken = place + half
            texts.append(_text(written, place, edge + length + _TICK_GAP, _TICK_SIZE, "center", "top"))
        else:
            texts.append(_text(written, edge - _TICK_GAP, place, _TICK_SIZE, "right", "middle"))
    marked = element("path", d="".join(lines), stroke=layout.tickcolor, fill="none") if length else None
    return together(marked, *texts, _axis_title(axis, across, edge + length, at))


def _axis_title(axis: Axis, across: bool, edge: float, at: Frame) -> Markup | None:
    title = axis.layout.title
    if not title.text:
        return None
    size, middle = title.font.size or 12, (axis.start + axis.end) / 2
    if across:
        return _text(title.text, middle, edge + _TICK_GAP + 1.2 * _TICK_SIZE + (title.standoff or 10) - 4, size,
                     "center", "top")  # fmt: skip
    x = pixels(size * 1.05)
    return element("text", *_lines(title.text), x=0, y=0, font_size=size, text_anchor="middle", fill="currentColor",
                   transform=f"translate({x},{pixels(middle)}) rotate(-90)")  # fmt: skip


def _shape(shape: Any, at: Frame) -> Markup:
    if shape.type != "line":
        raise NotImplementedError(f"A shape of type {shape.type!r} has no drawing as SVG.")
    ends = [(_place(x, shape.xref, at, True), _place(y, shape.yref, at, False))
            for x, y in ((shape.x0, shape.y0), (shape.x1, shape.y1))]  # fmt: skip
    width = 1 if shape.line.width is None else shape.line.width
    return element("path", d=path(ends), stroke=shape.line.color, stroke_width=width, fill="none",
                   stroke_dasharray=dashes(shape.line.dash, width))  # fmt: skip


def _place(value: float, ref: str | None, at: Frame, across: bool) -> float:
    """Pixel of a coordinate: of an axis, of the length of an axis, or of the whole plot area."""
    if ref == "paper":
        start, end = (at.left, at.right) if across else (at.bottom, at.top)
        return start + value * (end - start)
    axis = at.axes[(ref or ("x" if across else "y")).split()[0]]
    return axis.share(value) if (ref or "").endswith("domain") else axis.place(value)


def _annotation(note: Any, at: Frame) -> Markup:
    x = _place(note.x, note.xref, at, True) + (note.xshift or 0)
    y = _place(note.y, note.yref, at, False) - (note.yshift or 0)
    return _text(note.text, x, y, note.font.size or 12, note.xanchor or "center", note.yanchor or "middle",
                 note.font.color)  # fmt: skip


def _title(fig: Any, at: Frame) -> Markup | None:
    title = fig.layout.title
    if not title.text:
        return None
    return element("text", *_lines(title.text), x=pixels(at.left), y=20, font_size=title.font.size or 14,
                   font_weight="600", fill="currentColor")  # fmt: skip


def _text(
    written: str, x: float, y: float, size: float, xanchor: str, yanchor: str, color: str | None = None
) -> Markup:
    down = pixels(1.3 * size)
    lines = (
        element("tspan", line, x=pixels(x), dy=down if i else None) for i, line in enumerate(_lines(written))
    )  # fmt: skip
    return element(
        "text", *lines,
        x=pixels(x), y=pixels(y + _DROPS[yanchor] * size), font_size=size, text_anchor=_ANCHORS[xanchor],
        fill=color or "currentColor",
    )  # fmt: skip


def _lines(written: str) -> list[str]:
    """Lines of a text in plotly's small HTML, whose names from outside are escaped: tags go, and names come back."""
    return [unescape(re.sub(r"<[^>]*>", "", line)) for line in written.split("<br>")]
