"""Charts of named lines with bands, each named beside its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, fill_between, label_line_ends
from calib.plots.style import (
    Limits,
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
    x, y : (m,) points, in natural units.
    band : (m,) low and high end of the interval of each point.
    more : further columns of its table.
    """

    name: str
    style: Style
    x: Any
    y: Any
    band: tuple[Any, Any] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


def line_chart(
    curves: Sequence[Curve],
    columns: tuple[str, str],
    limits: Limits,
    x_axis: Mapping[str, Any],
    y_title: str,
    title: str,
    alt: str,
    *,
    markers: float = 7,
    log: str = "",
    point: str = "",
) -> go.Figure:
    """Draw lines over their bands.

    Parameters
    ----------
    columns : names of x and y in hovers and tables.
    limits : of the vertical axis, as drawn.
    x_axis : further properties of the horizontal axis, with its range as drawn.
    alt : beginning of the sentence that stands for the figure.
    markers : pixels of a mark; 0 for none.
    log : axes on which decimal logarithms are drawn: "", "x", "y" or "xy".
    point : further column that hovers name in place of x.
    """
    fig = go.Figure()
    drawn = []
    across, up = columns
    for curve in curves:
        x = _placed(curve.x, "x" in log)
        y = _placed(curve.y, "y" in log)
        drawn.append((x, y))
        if curve.band is not None and curve.style.dash != "dot":
            low, high = (_placed(end, "y" in log) for end in curve.band)
            fill_between(fig, x, low, high, fade(curve.style.color, 0.1), limits)
    for curve, (x, y) in zip(curves, drawn, strict=True):
        band = dict(zip(("low", "high"), curve.band or (), strict=False))
        interval = " ({low:.3r} to {high:.3r})" if band else ""
        whole = ",d" if np.asarray(curve.x).dtype.kind in "iu" else ".3r"
        place = f"{{{point}}}" if point else f"{across.replace('_', ' ')} {{{across}:{whole}}}"
        carried = carry(
            f"{plain(curve.name)}: {{{up}:.4r}}{interval}<br>{place}",
            **{across: curve.x, up: curve.y},
            **band,
            **curve.more,
        )
        size = 0 if curve.style.dash == "dot" else markers
        draw_line(fig, x, y, curve.style, curve.name, carried, markers=size)
    ends = {
        curve.name: " to ".join(dict.fromkeys(map(three_digits, np.asarray(curve.y)[[0, -1]])))
        for curve in curves
    }
    quiet(fig, HEIGHT, alt=f"{alt}: {join_named(ends)}.", title=title, left=62)
    set_x(fig, **x_axis)
    set_y(fig, range=limits, nticks=6, title_text=plain(y_title))
    names = [
        (curve.name, float(y[-1]), curve.style.color)
        for curve, (_, y) in zip(curves, drawn, strict=True)
    ]
    label_line_ends(fig, names, limits)
    return fig


def _placed(values: Any, log: bool) -> Floats:
    """Decimal logarithms of what is positive; the rest of a band lies below every axis."""
    placed: Floats = np.asarray(values, dtype=float)
    if log:
        placed = np.log10(np.maximum(placed, 1e-12))
    return placed
