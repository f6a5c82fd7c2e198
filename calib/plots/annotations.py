"""Pieces of figures: the numbers behind a trace, whiskers, direct labels, and several fits in one figure.

Axes may be transformed and bands are polygons, so a trace's x and y are not what a reader wants to keep. Each trace
that shows data therefore carries its numbers in their natural units in ``customdata``, named in ``meta``, for hover
texts and tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from calib.formatting import plural
from calib.metrics.confidence import Bools
from calib.numerics import Floats
from calib.plots.style import DASHES, GRID, GUIDE, TRUTH, Limits, Style, colored, fade, plain, set_layout, set_y

if TYPE_CHECKING:
    import pandas as pd


def carry(**columns: Any) -> dict[str, Any]:
    """Arguments that make a trace carry named columns, in the order given (``_`` is read as a space).

    Numbers are rounded to six significant digits and sent as plain lists: typed arrays would come back from
    selection events as dictionaries.
    """
    names = [name.replace("_", " ") for name in columns]
    rows = [list(row) for row in zip(*(_short(values) for values in columns.values()), strict=True)]
    return {"customdata": rows, "meta": {"columns": names}}


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
        name, meta, carried = trace.name, trace.meta, trace.customdata  # plotly makes each of them when it is asked for
        if meta is not None and carried is not None:
            names = ["trace", *meta["columns"]]
            rows += [dict(zip(names, (name, *row), strict=True)) for row in carried]
    return pd.DataFrame(rows) if rows else pd.DataFrame({"trace": []})


def _short(values: Any) -> list[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return [float(f"{value:.6g}") if np.isfinite(value) else None for value in array]
    return array.tolist()


def whiskers(value: Any, low: Any, high: Any, color: str, thickness: float = 2, width: float = 0) -> dict[str, Any]:
    """Error bars from ``low`` to ``high`` around ``value``, for plotly's ``error_x`` or ``error_y``."""
    value, low, high = (np.atleast_1d(np.asarray(part, dtype=float)) for part in (value, low, high))
    return {
        "type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low,
        "color": color, "thickness": thickness, "width": width,
    }  # fmt: skip


def fill_between(fig: go.Figure, x: Floats, low: Floats, high: Floats, color: str) -> None:
    """Fill between two lines over x, all of shape (m,)."""
    fig.add_scatter(
        x=np.r_[x, x[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="lines", line_width=0, fillcolor=color,
        hoverinfo="skip",
    )  # fmt: skip


def write(
    fig: go.Figure, text: str, x: float, y: float, *, size: int = 12, color: str | None = None, **place: Any
) -> None:
    """Text without an arrow, in the theme's ink or a colour; ``place`` are further properties of an annotation."""
    text = text if color is None else colored(text, color)
    fig.add_annotation(text=text, x=x, y=y, showarrow=False, font_size=size, **place)


def explain_open(fig: go.Figure, beyond: Bools) -> None:
    """Where values of bins lie beyond the ends of the axes, and are drawn open there, say so in the lower corner.

    Parameters
    ----------
    beyond : (m,) of each bin.
    """
    if beyond.any():
        write(
            fig, f"open: beyond the axis ({beyond.sum()} of {plural(len(beyond), 'bin')})", 1, 0, size=11,
            xref="x domain", xanchor="right", yref="y domain", yanchor="bottom",
        )  # fmt: skip


class Half(NamedTuple):
    """One of two groups whose bars point away from each other.

    ``name`` and ``label`` are what its trace and its corner are called, ``heights`` (m,) at most 1, ``columns`` and
    ``hover`` of its trace.
    """

    name: str
    label: str
    heights: Floats
    color: str
    columns: dict[str, Any]
    hover: str


def draw_mirrored(
    fig: go.Figure, edges: Floats, halves: Sequence[Half], *, reach: float = 1.3, zero: str = GRID, at: float = 0.01
) -> None:
    """Draw bars between edges (m + 1,), of the first group upwards and of the second downwards, each named in a corner.

    Parameters
    ----------
    fig : framed by :func:`calib.plots.style.quiet`.
    reach : of the vertical axis to both sides.
    zero : colour of the line between the groups.
    at : where the names stand, as a share of the width.
    """
    for half, side in zip(halves, (1, -1), strict=True):
        fig.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=side * half.heights, width=np.diff(edges), name=half.name,
            marker={"color": half.color, "line_width": 0}, **half.columns, hovertemplate=half.hover,
        )  # fmt: skip
        write(
            fig, half.label, at, max(side, 0), color=half.color if side > 0 else None, xref="paper",
            xanchor="left" if at < 0.5 else "right", yref="paper", yanchor="top" if side > 0 else "bottom",
        )  # fmt: skip
    set_y(fig, showticklabels=False, showgrid=False, range=[-reach, reach], zeroline=True, zerolinecolor=zero)


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

    wanted = np.asarray(positions, dtype=float)
    if len(wanted) == 0:
        return wanted
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = np.argsort(wanted, kind="stable")
    offsets = gap * np.arange(len(wanted))
    placed = np.clip(isotonic_regression(wanted[order] - offsets).x, low, high - offsets[-1]) + offsets
    result = np.empty_like(placed)
    result[order] = placed
    return result


def label_line_ends(fig: go.Figure, labels: Sequence[tuple[str, float, str]], span: Limits) -> None:
    """Write each line's name in its colour beside the right end of the plot, in a margin that holds the names.

    Labels stand at least 16 pixels apart where there is room.

    Parameters
    ----------
    fig : framed by :func:`calib.plots.style.quiet`, with the domain of its vertical axis if that is not all of it.
    labels : (text, y of the line's last point, colour) of each line.
    span : the axis range in y.
    """
    set_layout(fig, margin_r=20 + 7 * max((len(text) for text, _, _ in labels), default=0))
    bottom, top = fig.layout.yaxis.domain or (0.0, 1.0)
    pixels = (top - bottom) * (fig.layout.height - fig.layout.margin.t - fig.layout.margin.b)
    low, high = span
    places = spread([y for _, y, _ in labels], 16 / pixels * (high - low), low, high)
    for (text, _, color), place in zip(labels, places, strict=True):
        write(fig, plain(text), 1, place, color=color, xref="paper", xshift=6, yref="y", xanchor="left",
              yanchor="middle")  # fmt: skip


BAND_ALPHAS = (0.14, 0.22)
"""Of the bands at 2 and at 1 standard deviations."""

_LONGEST = 16
_TOWARDS = ((0, 0.0), (0, 0.22), (255, 0.17))
"""The colour itself, a darker and a lighter shade that still read on white and on near-black."""


def overlay_styles(styles: Sequence[Style]) -> list[Style]:
    """Styles of several fits of one method: three shades of its colour, and different dashes while any is free."""
    shades: list[Style] = []
    for index, style in enumerate(styles):
        taken = ["dash", *(other.dash for other in shades)]  # the first is temperature scaling's
        free = [dash for dash in (style.dash, *DASHES) if dash not in taken]
        shades.append(replace(style, color=_shade(style.color, index), dash=free[0] if free else style.dash))
    return shades


def _shade(color: str, index: int) -> str:
    target, share = _TOWARDS[index % len(_TOWARDS)]
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + share * (target - part)):02X}" for part in parts)


def short_names(method: str, variants: Sequence[str]) -> list[str]:
    """Names of about 16 characters for fits of one method, all different.

    What all fits share is left out; of "inputs=probs, monotone=True" the first part and "+1" remain.

    Parameters
    ----------
    method : the name of a fit of which nothing is left.
    variants : what tells each configuration from the method's own, parts separated by ", "; empty for none.
    """
    parts = [variant.split(", ") if variant else [] for variant in variants]
    shared = set(parts[0]).intersection(*parts[1:]) if len(parts) > 1 else set()
    short: list[str] = []
    for own in parts:
        first, *more = [part for part in own if part not in shared] or [method]
        rest = f" +{len(more)}" if more else ""
        room = _LONGEST - len(rest)
        text = (first if len(first) <= room else f"{first[: room - 1]}…") + rest
        twins = sum(other == text or other.startswith(f"{text} #") for other in short)
        short.append(f"{text} #{twins + 1}" if twins else text)
    return short


def reference_look(name: str, temperature: Style) -> tuple[str, str, float]:
    """Colour, dash and width of what fits are compared with; anything but temperature and truth is a guide."""
    looks = {"temperature": (temperature.color, "dash", 2.0), "truth": (TRUTH, "solid", 1.8)}
    return looks.get(name, (GUIDE, "dot", 1.5))


def draw_bands(fig: go.Figure, x: Floats, bands: Sequence[tuple[Floats, Floats]], style: Style, filled: bool) -> None:
    """Bands at 2 and 1 standard deviations; of all but one fit the outline of the wider only."""
    if not filled:
        for edge in bands[0]:
            fig.add_scatter(
                x=x, y=edge, mode="lines", hoverinfo="skip",
                line={"color": fade(style.color, 0.6), "width": 1, "dash": style.dash},
            )  # fmt: skip
        return
    for (low, high), alpha in zip(bands, BAND_ALPHAS, strict=True):
        fill_between(fig, x, low, high, fade(style.color, alpha))
