"""Pieces of figures: the numbers behind a trace, lines, marks with whiskers, bands, bars of counts, and labels.

Axes may be transformed and bands are polygons, so a trace's x and y are not what a reader wants to keep. Each trace
that shows data therefore carries its numbers in their natural units in ``customdata``, named in ``meta``, for hover
texts and tables.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.style import (
    GRID,
    NEUTRAL,
    Limits,
    Style,
    colored,
    label,
    set_layout,
)

if TYPE_CHECKING:
    import pandas as pd

    from calib.diagnostics.histograms import Frequencies


def carry(hover: str = "", /, **columns: Any) -> dict[str, Any]:
    """Arguments that make a trace carry named columns, in the order given (``_`` is read as a space), and tell them.

    Numbers are rounded to six significant digits and sent as plain lists: typed arrays would come back from
    selection events as dictionaries.

    Parameters
    ----------
    hover : what a pointer is told, with columns in braces and plotly's formats: "{rows:,d} rows, mean {risk:.3r}".
    """
    names = [name.replace("_", " ") for name in columns]
    rows = [list(row) for row in zip(*(_short(values) for values in columns.values()), strict=True)]
    template = _COLUMN.sub(lambda column: _read_from(column, names), hover)
    carried = {"customdata": rows, "meta": {"columns": names}}
    return carried | {"hovertemplate": f"{template}<extra></extra>"} if hover else carried


_COLUMN = re.compile(r"(?<!%)\{([^{}:]+)(:[^{}]*)?\}")


def _read_from(column: re.Match[str], names: list[str]) -> str:
    """The place of a column in plotly's names."""
    return f"%{{customdata[{names.index(column[1].replace('_', ' '))}]{column[2] or ''}}}"


def figure_data(fig: go.Figure) -> pd.DataFrame:
    """Everything the figure's data traces show, one row per point.

    Returns
    -------
    DataFrame with the column ``trace`` and one column per named quantity, empty where a trace has no such
    quantity. Guides, shades and bands are left out.
    """
    import pandas as pd

    rows = []
    for trace in fig.data:
        name = unescape(trace.name or "")  # escaped where a legend shows it
        meta = trace.meta
        carried = trace.customdata
        if meta is not None and carried is not None:
            names = ["trace", *meta["columns"]]
            rows += [dict(zip(names, (name, *row), strict=True)) for row in carried]
    return pd.DataFrame(rows) if rows else pd.DataFrame({"trace": []})


def _short(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return [float(f"{value:.6g}") if np.isfinite(value) else None for value in array]
    return array.tolist()


SILENT: dict[str, Any] = {"hoverinfo": "skip"}
"""Values in place of those that :func:`carry` gives, for guides."""


LineEnd = tuple[str, float, str]
"""Name of a line, y of its last point, and its colour."""


def draw_line(
    fig: go.Figure,
    x: Any,
    y: Any,
    style: Style,
    name: str = "",
    carried: dict[str, Any] = SILENT,
    *,
    width: float = 2,
    markers: float = 0,
    shape: str = "linear",
    **more: Any,
) -> LineEnd:
    """Draw a line in the colour and dash of a style, with its marker at each point where ``markers`` is their size.

    Returns what :func:`label_line_ends` needs to name the line.
    """
    marks = (
        {"marker": {"color": style.color, "symbol": style.symbol, "size": markers}}
        if markers
        else {}
    )
    fig.add_scatter(
        x=x,
        y=y,
        name=name or None,
        mode="lines+markers" if markers else "lines",
        line={"color": style.color, "dash": style.dash, "width": width, "shape": shape},
        showlegend=bool(name),
        **marks,
        **carried,
        **more,
    )
    return name, y[-1] if len(y) else np.nan, style.color


def draw_marks(
    fig: go.Figure,
    x: Any,
    y: Any,
    style: Style,
    name: str = "",
    carried: dict[str, Any] = SILENT,
    *,
    size: Any = 9,
    symbol: Any = None,
    **more: Any,
) -> None:
    """Draw a style's marker, or other symbols, at each point; whiskers are plotly's ``error_x`` and ``error_y``."""
    marker = {"color": style.color, "symbol": symbol or style.symbol, "size": size}
    if isinstance(symbol, str) and symbol.endswith("open"):
        marker["line"] = {"width": 2}
    fig.add_scatter(x=x, y=y, name=name or None, mode="markers", marker=marker, **carried, **more)


def whiskers(
    value: Any,
    low: Any,
    high: Any,
    color: str,
    thickness: float = 2,
    width: float = 0,
) -> dict[str, Any]:
    """Error bars from ``low`` to ``high`` around ``value``, for plotly's ``error_x`` or ``error_y``."""
    value, low, high = (np.atleast_1d(np.asarray(part, dtype=float)) for part in (value, low, high))
    return {
        "type": "data",
        "symmetric": False,
        "array": high - value,
        "arrayminus": value - low,
        "color": color,
        "thickness": thickness,
        "width": width,
    }


def fill_between(
    fig: go.Figure,
    x: Floats,
    low: Floats,
    high: Floats,
    color: str,
    ends: Limits = (-np.inf, np.inf),
) -> None:
    """Fill between two lines over x, all of shape (m,): a polygon for each stretch without NaN, cut at the ``ends``."""
    finite = np.isfinite(x) & ~np.isnan(low) & ~np.isnan(high)
    for part in np.split(np.arange(len(x)), np.flatnonzero(np.diff(finite)) + 1):
        if len(part) and finite[part[0]]:
            fig.add_scatter(
                x=np.r_[x[part], x[part][::-1]],
                y=np.clip(np.r_[low[part], high[part][::-1]], *ends),
                fill="toself",
                mode="lines",
                line_width=0,
                fillcolor=color,
                hoverinfo="skip",
                showlegend=False,
            )


def note(
    text: str, x: float, y: float, *, size: int = 12, color: str | None = None, **place: Any
) -> dict[str, Any]:
    """Text without an arrow, in the theme's ink or a colour; ``place`` are further properties of an annotation."""
    text = text if color is None else colored(text, color)
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": size}, **place}


def write(fig: go.Figure, text: str, x: float, y: float, **place: Any) -> None:
    """Add a :func:`note`."""
    fig.add_annotation(note(text, x, y, **place))


@dataclass(frozen=True, eq=False)
class Counted:
    """A group of rows in a histogram.

    Attributes
    ----------
    name : of its trace and beside its bars, as it may be shown.
    count : (m,) rows in each cell.
    color : of its bars, or of each.
    told : what a pointer is told that the rows are, in words.
    """

    name: str
    count: npt.NDArray[Any]
    color: str | list[str]
    told: str


COUNT_AXIS: dict[str, Any] = {
    "tickfont_size": 10,
    "showgrid": False,
    "zeroline": False,
    "fixedrange": True,
    "title": {"text": "rows, √ scale", "font_size": 11, "standoff": 4},
}
"""Of an axis of square roots of counts."""
_NAME_PIXELS = 15
"""Of the line of a group's name."""


def draw_counts(
    fig: go.Figure,
    places: Floats,
    edges: Floats,
    groups: Sequence[Counted],
    unit: str,
    yaxis: str = "y",
    *,
    names_at: Literal["left", "right", None] = None,
    lift: float = 0,
    **axis: Any,
) -> None:
    """Draw one group of counts upwards, and a second one downwards, on one square-root scale with a tick for each.

    Groups differ in size by far; on a linear scale the smaller one could not be seen.

    Parameters
    ----------
    fig : framed by :func:`calib.plots.style.quiet`.
    places : (m + 1,) edges of the cells on the horizontal axis.
    edges : (m + 1,) the same in their unit, for the hover.
    unit : what is counted over.
    yaxis : the vertical axis to draw on.
    names_at : side of the groups' names; None takes for each the one where it has fewer rows.
    lift : pixels of the lower name above the foot of the plot.
    axis : further properties of the vertical axis.
    """
    ticks = (
        {} if len(groups) > 1 else {0.0: "0"}
    )  # of two groups, a line is there, and a tick would touch the others
    most = max(1.0, *(float(group.count.max(initial=0)) for group in groups))
    for group, side in zip(groups, (1, -1), strict=False):
        tick = _round_count(float(group.count.max(initial=0)))
        ticks[side * np.sqrt(tick / most)] = f"{tick:,}"
        fig.add_bar(
            x=(places[:-1] + places[1:]) / 2,
            y=side * np.sqrt(group.count / most),
            width=np.diff(places),
            name=group.name,
            yaxis=yaxis,
            marker={"color": group.color, "line_width": 0},
            **carry(
                f"{{count:,.0f}} {group.told}<br>{unit} {{low:.3r}} to {{high:.3r}}",
                low=edges[:-1],
                high=edges[1:],
                count=group.count,
            ),
        )
        n = len(group.count)
        left_is_emptier = group.count[: n // 2].sum() <= group.count[n // 2 :].sum()
        at = names_at or ("left" if left_is_emptier else "right")
        # Beside the last cell, whose bar can be as tall as any.
        margin = min(1.5 / n, 0.1)
        place: dict[str, Any] = {"xref": "x domain", "xanchor": at, "yref": f"{yaxis} domain"}
        place |= {"yanchor": "top"} if side > 0 else {"yanchor": "bottom", "yshift": lift}
        x = margin if at == "left" else 1 - margin
        write(fig, f"{group.count.sum():,.0f} {group.name}", x, max(side, 0), size=11, **place)
    ticks = dict(sorted(ticks.items()))
    bottom, top = axis.get("domain", (0.0, 1.0))
    pixels = (top - bottom) * (fig.layout.height - fig.layout.margin.t - fig.layout.margin.b)
    room = max(1.3, pixels / (pixels - 2 * _NAME_PIXELS))  # for the names, above and below the bars
    set_layout(
        fig,
        **{
            f"yaxis{yaxis[1:]}": {
                "range": [-room if len(groups) > 1 else 0, room],
                "tickvals": list(ticks),
                "ticktext": list(ticks.values()),
                **COUNT_AXIS,
                "zeroline": len(groups) > 1,
                "zerolinecolor": GRID,
                **axis,
            }
        },
    )


def draw_frequencies(
    fig: go.Figure, frequencies: Frequencies, hover: str, score: str, x: Any, up: Any, name: str
) -> None:
    """Draw the frequencies of bins as grey dots with their intervals.

    Parameters
    ----------
    hover : of :func:`carry`, with the columns frequency, low, high, rows, positives and the score.
    score : name of the bins' scores.
    x : places of the scores.
    up : function that places frequencies on the vertical axis.
    name : of the trace.
    """
    y, low, high = map(up, (frequencies.frequency, frequencies.low, frequencies.high))
    carried = carry(
        hover,
        **{score: frequencies.score},
        frequency=frequencies.frequency,
        low=frequencies.low,
        high=frequencies.high,
        rows=frequencies.count,
        positives=frequencies.positives,
    )
    bars = whiskers(y, low, high, NEUTRAL, 1.5, width=3)
    draw_marks(fig, x, y, Style(NEUTRAL), name, carried, size=8, error_y=bars)


def _round_count(most: float) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is not above ``most``, at least 1."""
    power = 10 ** int(np.log10(max(most, 1)))
    return max(step * power for step in (1, 2, 5) if step * power <= max(most, 1))


_LONGEST_LABEL = 22


def spread(positions: Sequence[float] | Floats, gap: float, low: float, high: float) -> Floats:
    """Move positions apart to at least ``gap`` where there is room, keeping their order and moving little.

    Isotonic regression of the positions less their least offsets: the squared moves are least.

    Parameters
    ----------
    positions : (n,) wanted places.
    gap : least distance; reduced when n labels do not fit between ``low`` and ``high``.
    low, high : the room there is.

    Returns
    -------
    (n,) places in the order given.
    """
    from scipy.optimize import isotonic_regression

    places = np.asarray(positions, dtype=float)
    if len(places) == 0:
        return places
    gap = min(gap, (high - low) / max(1, len(places) - 1))
    order = np.argsort(places, kind="stable")
    offsets = gap * np.arange(len(places))
    placed = (
        np.clip(isotonic_regression(places[order] - offsets).x, low, high - offsets[-1]) + offsets
    )
    result = np.empty_like(placed)
    result[order] = placed
    return result


def label_line_ends(fig: go.Figure, labels: Sequence[LineEnd], span: Limits) -> None:
    """Write each line's name in its colour beside the right end of the plot, in a margin that holds the names.

    Labels stand at least 16 pixels apart where there is room.

    Parameters
    ----------
    fig : framed by :func:`calib.plots.style.quiet`, with the domain of its vertical axis if that is not all of it.
    labels : of the lines; names are shortened and escaped here.
    span : the axis range in y.
    """
    letters = max((min(len(text), _LONGEST_LABEL) for text, _, _ in labels), default=0)
    set_layout(fig, margin_r=20 + 7 * letters)
    bottom, top = fig.layout.yaxis.domain or (0.0, 1.0)
    pixels = (top - bottom) * (fig.layout.height - fig.layout.margin.t - fig.layout.margin.b)
    low, high = span
    line = 16 / pixels * (high - low)
    # Half a line above the lower end, where ticks of the horizontal axis begin.
    places = spread([y for _, y, _ in labels], line, low + line / 2, high)
    margin = {"xref": "paper", "xshift": 6, "yref": "y", "xanchor": "left", "yanchor": "middle"}
    for (text, _, color), place in zip(labels, places, strict=True):
        write(fig, label(text, _LONGEST_LABEL), 1, place, color=color, **margin)
