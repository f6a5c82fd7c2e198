"""Charts of named lines with bands, each named beside its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.plots.annotations import LineEnd, carry, draw_line, fill_between, label_line_ends
from calib.plots.style import (
    Style,
    fade,
    join_named,
    plain,
    quiet,
    set_x,
    set_y,
    three_digits,
)

HEIGHT = 380


@dataclass(frozen=True, eq=False)
class Curve:
    """Named line of a chart.

    Attributes
    ----------
    name : beside its end.
    style : colour, marker and dash; a dotted line is a reference, without marks and band.
    x, y : (m,) points.
    band : (m,) low and high end of the interval of each point.
    more : further columns of its table.
    filled : draw the band; otherwise hovers alone have it.
    at : (m,) places of x and of y on the axes, where they are others.
    shape : "linear", or plotly's name of steps.
    width : pixels.
    """

    name: str
    style: Style
    x: Any
    y: Any
    band: tuple[Any, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    filled: bool = True
    at: tuple[Any, Any] | None = None
    shape: str = "linear"
    width: float = 2


def line_chart(
    curves: Sequence[Curve],
    columns: tuple[str, str],
    x_axis: Mapping[str, Any],
    y_axis: Mapping[str, Any],
    title: str,
    alt: str,
    *,
    hover: str = "",
    markers: float = 7,
    height: int = HEIGHT,
) -> go.Figure:
    """Draw lines over their bands, which are cut at the ends of the vertical axis.

    Parameters
    ----------
    columns : names of x and y in hovers and tables.
    x_axis, y_axis : properties of both axes, with the range of the vertical one.
    alt : sentence that stands for the figure.
    hover : its lines beneath the value of y, of :func:`carry`; x by default.
    markers : pixels of a mark; 0 for none.
    """
    fig = go.Figure()
    logarithmic = y_axis.get("type") == "log"
    low, high = y_axis["range"]
    ends = (10.0**low, 10.0**high) if logarithmic else (low, high)
    for curve in curves:
        if curve.band is not None and curve.filled and curve.style.dash != "dot":
            x, lower, upper = (np.asarray(part, dtype=float) for part in (curve.x, *curve.band))
            fill_between(fig, x, lower, upper, fade(curve.style.color, 0.1), ends)
    ends_of_lines = draw_curves(
        fig, curves, columns, (x_axis, y_axis), hover=hover, markers=markers
    )
    quiet(fig, height, alt=alt, title=title, left=62)
    set_x(fig, **x_axis)
    set_y(fig, nticks=6, **y_axis)
    if logarithmic:
        ends_of_lines = [(name, np.log10(y), color) for name, y, color in ends_of_lines]
    label_line_ends(fig, ends_of_lines, (low, high))
    return fig


def draw_curves(
    fig: go.Figure,
    curves: Sequence[Curve],
    columns: tuple[str, str],
    axes: Sequence[Mapping[str, Any]] = ({}, {}),
    *,
    hover: str = "",
    markers: float = 0,
) -> list[LineEnd]:
    """Draw lines with their numbers in hovers, and return what names them; see :func:`line_chart`."""
    across, up = columns
    x_axis, y_axis = axes
    ends = []
    for curve in curves:
        band = dict(zip(("low", "high"), curve.band or (), strict=False))
        value = _number_format(curve.y, y_axis)
        interval = f" ({{low{value}}} to {{high{value}}})" if band else ""
        place = f"{across.replace('_', ' ')} {{{across}{_number_format(curve.x, x_axis)}}}"
        carried = carry(
            f"{plain(curve.name)}: {{{up}{value}}}{interval}<br>{hover or place}",
            **{across: curve.x, up: curve.y},
            **band,
            **curve.more,
        )
        size = 0 if curve.style.dash == "dot" else markers
        x, y = map(np.asarray, curve.at or (curve.x, curve.y))
        look: dict[str, Any] = {"markers": size, "shape": curve.shape, "width": curve.width}
        ends.append(draw_line(fig, x, y, curve.style, curve.name, carried, **look))
    return ends


def describe_ends(curves: Sequence[Curve]) -> str:
    """Return the first and the last value of each line, for the text that stands for the figure."""
    ends = {}
    for curve in curves:
        values = np.asarray(curve.y)[[0, -1]]
        ends[curve.name] = " to ".join(dict.fromkeys(map(three_digits, values)))
    return join_named(ends)


def _number_format(values: Any, axis: Mapping[str, Any]) -> str:
    """Format of values in hovers: percent where the axis has it, else four digits, or an integer in full."""
    if axis.get("tickformat", "").endswith(("%", "p")):
        return ":.2%"
    return ":,d" if np.asarray(values).dtype.kind in "iu" else ":.4r"
