"""A plotly figure as SVG, drawn here: it needs no browser now and no script when it is read.

It draws what the figures of :mod:`calib.plots` are made of: lines, markers, whiskers, areas, bars, straight shapes and
annotations on linear or logarithmic axes. Ink without a colour of its own is that of the text around the figure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape
from typing import Any

from markupsafe import Markup, escape

from calib.plots import alt_text
from calib.plots.style import GRID, Style, three_digits
from calib.reporting.svg_axes import Axis, Frame, frame, numbers

_COLORED = re.compile('<span style="color:([^"]*)">(.*?)</span>')
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""Controls and lone surrogates, which are no HTML, and marks that turn the direction of the text around them."""
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_DROPS = {"top": 0.8, "middle": 0.35, "bottom": -0.2}
"""How far the baseline lies beneath the anchor, in font sizes."""
_TICK_SIZE = 12
_TICK_GAP = 5
_CHARACTER = 0.58
"""About the width of a digit in font sizes, in whatever font the reader has."""

Point = tuple[float, float]
_DASHES = {"dot": (1, 3), "dash": (5, 4), "longdash": (9, 4), "dashdot": (6, 3, 1, 3), "longdashdot": (9, 3, 1, 3)}
_CROSS = (
    (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4), (1.2, 0.4), (0.4, 0.4),
    (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4), (-1.2, -0.4), (-0.4, -0.4),
)  # fmt: skip


def printable(value: Any) -> Any:
    """Markup as it is, and anything else as text without characters that HTML cannot hold; None is empty."""
    if hasattr(value, "__html__"):
        return value
    return "" if value is None else _UNPRINTABLE.sub("\ufffd", str(value))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """One element.

    Parameters
    ----------
    name : of the element.
    *children : markup as it is, all else escaped; None is left out.
    **attributes : ``class_`` is written class, ``stroke_width`` stroke-width; None is left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(printable(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{_together(*children)}</{name}>")


def _together(*children: object) -> Markup:
    return Markup("").join(printable(child) for child in children)


def figure_svg(fig: Any, width: int) -> Markup:
    """The figure at a width in pixels; its height is its own."""
    at = frame(fig, width)
    clipped = [_marks(trace, *_axes_of(trace, at)) for trace in fig.data if _is_clipped(trace)]
    free = [_marks(trace, *_axes_of(trace, at)) for trace in fig.data if not _is_clipped(trace)]
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


def swatch(style: Style) -> Markup:
    """A method's marker in its colour, as in the figures, for a line of text."""
    outline = SYMBOLS.get(style.symbol)
    shape = (
        element("path", d=path([(8 + 5 * x, 8 + 5 * y) for x, y in outline], closed=True), fill=style.color)
        if outline
        else element("circle", cx=8, cy=8, r=5, fill=style.color)
    )
    return element("svg", shape, width=16, height=16, viewBox="0 0 16 16", class_="swatch", aria_hidden="true")


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
    return _together(marked, *texts, _axis_title(axis, across, edge + length, at))


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
    return _text(note.text, x, y, note.font.size or 12, note.xanchor or "center", note.yanchor or "middle")


def _title(fig: Any, at: Frame) -> Markup | None:
    title = fig.layout.title
    if not title.text:
        return None
    return element("text", *_lines(title.text), x=pixels(at.left), y=20, font_size=title.font.size or 14,
                   font_weight="600", fill="currentColor")  # fmt: skip


def _text(written: str, x: float, y: float, size: float, xanchor: str, yanchor: str) -> Markup:
    down = pixels(1.3 * size)
    lines = (
        element("tspan", line, x=pixels(x), dy=down if i else None) for i, line in enumerate(_lines(written))
    )  # fmt: skip
    return element(
        "text", *lines,
        x=pixels(x), y=pixels(y + _DROPS[yanchor] * size), font_size=size, text_anchor=_ANCHORS[xanchor],
        fill="currentColor",
    )  # fmt: skip


def _lines(written: str) -> list[Markup]:
    """Lines of a text in plotly's small HTML, whose names from outside are escaped: of the tags, colours stay."""
    return [_together(*_colored(line)) for line in written.split("<br>")]


def _colored(line: str) -> Iterator[str | Markup]:
    """A line in parts, those with a colour of their own as elements."""
    plain, *parts = _COLORED.split(line)
    yield _without_tags(plain)
    for color, text, after in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield element("tspan", _without_tags(text), fill=color)
        yield _without_tags(after)


def _without_tags(written: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", written))


def _polygon(corners: int, inner: float = 1.0, reach: float = 1.0) -> tuple[Point, ...]:
    """Corners on a circle, the first on top; every other one at ``inner`` of the radius."""
    angles = (2 * math.pi * i / corners - math.pi / 2 for i in range(corners))
    radii = (reach * (inner if i % 2 else 1.0) for i in range(corners))
    return tuple((r * math.cos(a), r * math.sin(a)) for r, a in zip(radii, angles, strict=True))


def _turned(points: Iterable[Point], eighths: int) -> tuple[Point, ...]:
    cos, sin = math.cos(math.pi * eighths / 4), math.sin(math.pi * eighths / 4)
    return tuple((x * cos - y * sin, x * sin + y * cos) for x, y in points)


SYMBOLS: dict[str, tuple[Point, ...]] = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "diamond": _polygon(4, reach=1.3),
    "triangle-up": _polygon(3, reach=1.15),
    "triangle-down": _turned(_polygon(3, reach=1.15), 4),
    "triangle-left": _turned(_polygon(3, reach=1.15), 6),
    "triangle-right": _turned(_polygon(3, reach=1.15), 2),
    "cross": _CROSS,
    "x": _turned(_CROSS, 1),
    "star": _polygon(10, inner=0.4, reach=1.4),
    "pentagon": _polygon(5, reach=1.15),
    "hexagon": _polygon(6, reach=1.15),
    "hourglass": ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    "triangle-ne": ((-1, -1), (1, -1), (1, 1)),
    "triangle-nw": ((-1, -1), (1, -1), (-1, 1)),
    "triangle-se": ((1, -1), (1, 1), (-1, 1)),
    "triangle-sw": ((-1, -1), (-1, 1), (1, 1)),
    "bowtie": ((-1, -1), (1, 1), (1, -1), (-1, 1)),
    "diamond-tall": ((0, -1.4), (0.7, 0), (0, 1.4), (-0.7, 0)),
    "diamond-wide": ((0, -0.7), (1.4, 0), (0, 0.7), (-1.4, 0)),
    "hexagram": _polygon(12, inner=0.6, reach=1.3),
    "octagon": _polygon(8, reach=1.15),
    "star-diamond": _polygon(8, inner=0.5, reach=1.4),
    "star-square": _turned(_polygon(8, inner=0.5, reach=1.4), 1),
}
"""Outlines around 0 for a marker of size 2; a circle needs none."""


def pixels(value: float) -> str:
    """A coordinate with the precision of a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")


def dashes(dash: str | None, width: float) -> str | None:
    """The ``stroke-dasharray`` of plotly's name for a dash."""
    pattern = _DASHES.get(dash or "")
    return " ".join(pixels(part * max(width, 1)) for part in pattern) if pattern else None


def path(points: Sequence[Point], closed: bool = False) -> str:
    """A path through points; a point without place interrupts it."""
    steps, begun = [], False
    for x, y in points:
        if not (math.isfinite(x) and math.isfinite(y)):
            begun = False
            continue
        steps.append(f"{'L' if begun else 'M'}{pixels(x)} {pixels(y)}")
        begun = True
    return "".join(steps) + ("Z" if closed and steps else "")


def _marks(trace: Any, x: Axis, y: Axis) -> Markup:
    """Everything that a trace draws.

    Raises
    ------
    NotImplementedError
        For a kind of trace that this does not draw: a figure must not lose a part of it unseen.
    """
    draw: dict[str, Callable[[Any, Axis, Axis], Iterator[Markup]]] = {"scatter": _scatter, "bar": _bars}
    if trace.type not in draw:
        raise NotImplementedError(f"A trace of type {trace.type!r} has no drawing as SVG.")
    return _together(*draw[trace.type](trace, x, y))


def _scatter(trace: Any, x: Axis, y: Axis) -> Iterator[Markup]:
    points = [(x.place(a), y.place(b)) for a, b in zip(trace.x, trace.y, strict=True)]
    width = 2 if trace.line.width is None else trace.line.width
    if trace.fill == "toself":
        yield element("path", d=path(points, closed=True), fill=trace.fillcolor, stroke="none")
    if "lines" in (trace.mode or "lines") and width:
        yield element(
            "path", d=path(points), fill="none", stroke=trace.line.color, stroke_width=width, stroke_linejoin="round",
            stroke_dasharray=dashes(trace.line.dash, width),
        )  # fmt: skip
    yield from _whiskers(trace, x, y, points)
    if "markers" in (trace.mode or ""):
        marker = trace.marker
        symbols, said = marker.symbol, _said(trace, len(points))
        each = [symbols] * len(points) if symbols is None or isinstance(symbols, str) else list(symbols)
        for point, symbol, words in zip(points, each, said, strict=True):
            if all(map(math.isfinite, point)):
                yield _marker(point, symbol or "circle", marker, words)


def _marker(at: Point, symbol: str, marker: Any, said: Markup | None) -> Markup:
    radius = (6 if marker.size is None else marker.size) / 2
    kind, is_open = symbol.removesuffix("-open"), symbol.endswith("-open")
    ink: dict[str, Any] = {"fill": marker.color}
    if is_open:
        ink = {"fill": "none", "stroke": marker.color, "stroke_width": marker.line.width or 1.2}
    if kind == "circle":
        return element("circle", said, cx=pixels(at[0]), cy=pixels(at[1]), r=pixels(radius), **ink)
    if kind == "line-ns":
        return element("path", said, d=path([(at[0], at[1] - radius), (at[0], at[1] + radius)]), **ink)
    outline = [(at[0] + radius * a, at[1] + radius * b) for a, b in SYMBOLS[kind]]
    return element("path", said, d=path(outline, closed=True), **ink)


def _whiskers(trace: Any, x: Axis, y: Axis, points: list[Point]) -> Iterator[Markup]:
    for error, axis, values, across in ((trace.error_x, x, trace.x, True), (trace.error_y, y, trace.y, False)):
        if error.array is None:
            continue
        middle, up, down = numbers(values), numbers(error.array), numbers(error.arrayminus)
        ends = []
        for (a, b), value, more, less in zip(points, middle, up, down, strict=True):
            # An interval that knows no end reaches to that of the axis.
            low, high = (axis.place(value - less), axis.place(value + more))
            first = axis.start if math.isinf(less) else low
            last = axis.end if math.isinf(more) else high
            ends += [(first, b), (last, b)] if across else [(a, first), (a, last)]
            ends.append((math.nan, math.nan))
        yield element("path", d=path(ends), fill="none", stroke=error.color, stroke_width=error.thickness or 2)


def _bars(trace: Any, x: Axis, y: Axis) -> Iterator[Markup]:
    floor, color = y.place(0), trace.marker.color
    said = _said(trace, len(trace.x))
    for middle, height, width, words in zip(trace.x, trace.y, trace.width, said, strict=True):
        left, right, top = x.place(middle - width / 2), x.place(middle + width / 2), y.place(height)
        if height:
            yield element(
                "rect", words, x=pixels(left), width=pixels(right - left), y=pixels(min(top, floor)),
                height=f"{abs(floor - top):.2f}", fill=color,
            )  # fmt: skip


def _said(trace: Any, n: int) -> list[Markup | None]:
    """What a pointer that rests on each of n marks is told: its numbers, which plots carry with it."""
    name, known, meta = trace.name, trace.customdata, trace.meta
    if known is None or meta is None:
        return [None] * n
    titles: list[Markup | None] = []
    for row in known:
        parts = [
            f"{column} {_number(value)}" for column, value in zip(meta["columns"], row, strict=True) if column != "bin"
        ]
        titles.append(element("title", "; ".join([*([name] if name else []), *parts])))
    return titles


def _number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) >= 1 else three_digits(float(value))
