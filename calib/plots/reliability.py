"""Reliability diagrams: the observed rate over what is predicted, in a square, with the rows beneath."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.reliability import COUNT_EDGES, DiagramParts
from calib.evaluation import SCORES
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import brief, percent
from calib.numerics import Floats, Ints, log_odds_of
from calib.plots.annotations import carry, draw_line, draw_marks, fill_between, whiskers, write
from calib.plots.axes import (
    LEAST,
    Scale,
    from_scale,
    on_scale,
    probability_axis,
    probability_limits,
    regrid,
)
from calib.plots.style import (
    DOTTED,
    FRAME,
    NEUTRAL,
    Limits,
    Style,
    fade,
    key_entry,
    label,
    quiet,
    set_layout,
    set_x,
    set_y,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ConsistencyBand, CorpCurve, ReliabilityCurve

SIDE = 520
"""Pixels of a diagram's width, of which its square has all but the margins."""
BEFORE_AFTER_HEIGHT = 440
RARE = 0.02
"""Observed rate below which an event's diagram has axes of log-odds."""
_LEFT, _RIGHT = 58, 22
MARGINS = _LEFT + _RIGHT
"""Pixels of a diagram's width beside its square."""
_ROWS_PIXELS = 96
_GAP_PIXELS = 48
_CELLS = 50
"""On an axis from 0 to 1 one value has one bar."""
_LARGE = 0.02
"""Share of the rows from which a bin's interval lies on the axis in full."""
_TAIL = 0.025
"""Share of the rows at either end that the axis may leave out; their number stands beneath the histogram."""
_NAMED = 400
"""Pixels of a square from which there is room for the numbers of rows."""


def usual_scale(curve: ReliabilityCurve, view: View) -> Scale:
    """Log-odds for a rare event; linear otherwise."""
    return "logit" if view.is_event and curve.mean_accuracy < RARE else "linear"


def common_limits(diagrams: Sequence[DiagramParts], scale: Scale = "linear") -> Limits:
    """Ends of both axes, as probabilities, that contain the dots of all diagrams and 95 % of the rows.

    The intervals of bins with two percent of the rows are contained as well.
    """
    ends = []
    for parts in diagrams:
        curve = parts.curve
        large = curve.count >= _LARGE * curve.n
        low = curve.low[large] if scale == "linear" else np.empty(0)
        ends += [curve.confidence, curve.accuracy, low, curve.high[large], _most_rows(parts.rows)]
    return probability_limits(np.concatenate(ends), scale)


def _most_rows(rows: Ints) -> Floats:
    """Probabilities between which all rows but a small share at either end lie."""
    upto = np.cumsum(rows)
    first = int(np.searchsorted(upto, _TAIL * upto[-1], side="right"))
    last = int(np.searchsorted(upto, (1 - _TAIL) * upto[-1]))
    return np.array([COUNT_EDGES[first], COUNT_EDGES[last + 1]])


def axis_title(view: View) -> str:
    """Title of an axis of predicted probabilities: confidence, or P(event) with the event's name."""
    return (
        f"P({label(view.event_name or 'event', 20)})"
        if view.is_event
        else view.wording.predicted_label
    )


def diagram_height(side: int) -> int:
    """Pixels of the height of a diagram whose width is ``side``."""
    return side - MARGINS + _GAP_PIXELS + _ROWS_PIXELS + FRAME


def reliability_diagram(
    parts: DiagramParts,
    style: Style,
    *,
    view: View = TOP_LABEL,
    behind: DiagramParts | None = None,
    scale: Scale = "linear",
    limits: Limits | None = None,
    title: str = "",
    side: int = SIDE,
    band: bool = True,
    marked: tuple[float, float] | None = None,
) -> go.Figure:
    """Draw accuracy against confidence in a square, and a histogram of the rows beneath it.

    Each dot carries the number of its bin in ``customdata[0]``, by which a page finds its rows.

    Parameters
    ----------
    parts : of :func:`calib.diagnostics.reliability.diagram_parts`.
    style : of the method.
    view : names of the axes.
    behind : of the raw model, drawn in grey behind the method.
    scale : "linear" or "logit"; on log-odds a rate of 0 or 1 stands at the end of the axis.
    limits : ends of both axes as probabilities; by default those of :func:`common_limits`.
    title : heading, or empty; the margins stay the same.
    side : width in pixels at which the diagram is square.
    band : draw the consistency band.
    marked : mean confidence and accuracy of selected rows, drawn as a ring.
    """
    curve = parts.curve
    drawn = [parts] if behind is None else [behind, parts]
    limits = limits or common_limits(drawn, scale)
    place = partial(on_scale, scale=scale, limits=limits)
    wording = view.wording
    across, up = "probability", "frequency"
    names = across, up
    if curve.target is None:
        across = axis_title(view)
        up = wording.observed_label
        names = wording.predicted_label, up
    fig = go.Figure()
    alt = _describe(curve, f" of {title}" if title else "", view)
    quiet(fig, diagram_height(side), alt=alt, title=title, left=_LEFT, right=_RIGHT)
    if band:
        _draw_band(fig, parts.band, place)
    draw_diagonal(fig, scale, limits)
    if behind is not None:
        grey = Style(NEUTRAL)
        _draw_isotonic(fig, behind.line, grey, place, limits, names, "raw, isotonic", 1.2)
        _draw_dots(fig, behind.curve, grey, place, names, "raw", 6)
    _draw_isotonic(fig, parts.line, style, place, limits, names, "isotonic", 2)
    _draw_dots(fig, curve, style, place, names, "bins", 9)
    if marked is not None:
        _draw_ring(fig, marked, style, place, names)
    group = wording.positive_label if curve.target is None else "of the class"
    beyond = draw_rows(fig, COUNT_EDGES, parts.rows, parts.right, style, group, scale, limits)
    _draw_means(fig, curve, style, place, names)
    set_axes(fig, scale, limits, across, up)
    square = side - MARGINS
    _write_key(fig, style, behind is not None, band, square)
    _write_rows(fig, parts, group, names, beyond, square)
    return fig


def explain_diagram(view: View, parts: DiagramParts | None = None) -> str:
    """Explain a reliability diagram; with its parts also the terms of its Brier score."""
    text = (
        f"{view.wording.explain_dots()} The grey band holds 95\u00a0% of the dots of a calibrated model. The line is "
        "isotonic regression (CORP), without bins; its outermost steps rest on few predictions. "
        f"{view.wording.explain_rows()}"
    )
    if parts is None:
        return text
    terms = parts.line.parts
    return (
        f"{text} Its Brier score of {brief(terms.score)} = miscalibration {brief(terms.miscalibration)} − "
        f"discrimination {brief(terms.discrimination)} + uncertainty {brief(terms.uncertainty)}."
    )


def draw_diagonal(fig: go.Figure, scale: Scale, limits: Limits) -> None:
    """Draw where the observed rate equals what is predicted."""
    ends = on_scale(np.array(limits), scale, limits)
    draw_line(fig, ends, ends, DOTTED, width=1.2)


def set_axes(fig: go.Figure, scale: Scale, limits: Limits, across: str, up: str) -> None:
    """Give both axes of probabilities one unit and their titles, above the histogram of rows."""
    axis = probability_axis(scale, limits)
    if scale == "linear":
        axis["tickformat"] = ".1%" if limits[1] - limits[0] <= 0.02 else ".0%"
    stretched = ", log-odds scale" if scale == "logit" else ""
    square = {"scaleanchor": "x", "constrain": "domain", "constraintoward": "bottom"}
    bottom = _rows_share(fig, _ROWS_PIXELS + _GAP_PIXELS)
    set_layout(
        fig,
        xaxis={**axis, "anchor": "y2", "title_text": across + stretched, "constrain": "domain"},
        yaxis={**axis, "domain": [bottom, 1], "title_text": up, **square},
    )


def _rows_share(fig: go.Figure, pixels: float) -> float:
    """Pixels as a share of the height of the plot."""
    return pixels / (fig.layout.height - FRAME)


def draw_rows(
    fig: go.Figure,
    edges: Floats,
    rows: Ints | Floats,
    right: Ints | Floats,
    style: Style,
    group: str,
    scale: Scale,
    limits: Limits,
) -> int:
    """Draw a histogram of all rows and of a group of them, both on one square-root scale.

    Parameters
    ----------
    fig : framed by :func:`calib.plots.style.quiet`.
    edges : (m + 1,) increasing probabilities between which rows are counted.
    rows, right : (m,) counts of all rows and of the group.
    style : of the method.
    group : name of the group, "with the event".

    Returns
    -------
    int
        Number of rows beyond the ends of the axis, which are not drawn.
    """
    low, high = on_scale(np.array(limits), scale, limits)
    grid = np.linspace(low, high, _CELLS + 1)
    places = edges if scale == "linear" else log_odds_of(edges, LEAST / 1000)
    clipped = np.clip(places, grid[0], grid[-1])
    inside = np.diff(clipped) / np.diff(places)
    low, high = (from_scale(ends, scale) for ends in (grid[:-1], grid[1:]))
    most = 1.0
    colors = (
        {"color": fade(NEUTRAL, 0.25), "line": {"color": NEUTRAL, "width": 0.8}},
        {"color": style.color, "line_width": 0},
    )
    for name, counts, marker in zip(("rows", group), (rows, right), colors, strict=True):
        cells = regrid(clipped, counts * inside, grid)
        most = max(most, float(cells.max(initial=0)))
        fig.add_bar(
            x=(grid[:-1] + grid[1:]) / 2,
            y=np.sqrt(cells),
            width=np.diff(grid),
            name=name,
            yaxis="y2",
            marker=marker,
            **carry(
                f"{{rows:,.0f}} {'rows' if name == 'rows' else f'rows {name}'}<br>{{low:.3r}} to {{high:.3r}}",
                low=low,
                high=high,
                rows=cells,
            ),
        )
    tick = 10 ** int(np.log10(most))
    ticks = [0, tick, *([tick // 10] if tick >= 100 else [])]
    axis = {
        "domain": [0, _rows_share(fig, _ROWS_PIXELS)],
        "anchor": "x",
        "range": [0, 1.04 * np.sqrt(most)],
        "tickvals": np.sqrt(ticks).tolist(),
        "ticktext": [f"{count:,}" for count in ticks],
        "tickfont_size": 10,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "title": {"text": "rows, √ scale", "font_size": 11, "standoff": 4},
    }
    set_layout(fig, yaxis2=axis)
    return round(float(rows @ (1 - inside)))


def _draw_band(fig: go.Figure, band: ConsistencyBand, place: Any) -> None:
    x, low, high = map(place, (band.confidence, band.low, band.high))
    fill_between(fig, x, low, high, fade(NEUTRAL, 0.22))
    hover = carry(
        "calibrated: {low:.3r} to {high:.3r}",
        mean_confidence=band.confidence,
        low=band.low,
        high=band.high,
    )
    draw_line(fig, x, high, Style("rgba(0,0,0,0)"), "consistency band", hover, width=0)


def _draw_isotonic(
    fig: go.Figure,
    line: CorpCurve,
    style: Style,
    place: Any,
    limits: Limits,
    names: tuple[str, str],
    trace: str,
    width: float,
) -> None:
    """Draw the isotonic curve where it lies between the limits."""
    x, y = line.confidence, line.accuracy
    inside = (x >= limits[0]) & (x <= limits[1]) & (y >= limits[0]) & (y <= limits[1])
    said, outcome = names
    hover = carry(
        f"isotonic: {{rows:,d}} rows of a step<br>{said} {{{said}:.3r}}<br>{outcome} {{{outcome}:.3r}}",
        **{said: x, outcome: y},
        rows=line.count,
    )
    drawn = np.where(inside, place(y), np.nan)
    draw_line(fig, place(x), drawn, Style(style.color), trace, hover, width=width)


def _draw_dots(
    fig: go.Figure,
    curve: ReliabilityCurve,
    style: Style,
    place: Any,
    names: tuple[str, str],
    trace: str,
    size: int,
) -> None:
    said, outcome = f"mean {names[0]}", names[1]
    x, y, low, high = map(place, (curve.confidence, curve.accuracy, curve.low, curve.high))
    hover = carry(
        f"{{count:,d}} rows<br>{said} {{{said}:.3r}}<br>{outcome} {{{outcome}:.3r}} ({{low:.3r}} to {{high:.3r}})",
        bin=np.arange(len(curve.count)),
        count=curve.count,
        **{said: curve.confidence, outcome: curve.accuracy},
        low=curve.low,
        high=curve.high,
    )
    thickness = 1.6 if trace == "bins" else 1.0
    bars = whiskers(y, low, high, style.color, thickness)
    draw_marks(fig, x, y, style, trace, hover, size=size, cliponaxis=False, error_y=bars)


def _draw_ring(
    fig: go.Figure,
    marked: tuple[float, float],
    style: Style,
    place: Any,
    names: tuple[str, str],
) -> None:
    x, y = (np.array([value]) for value in marked)
    hover = carry(f"selected rows<br>mean {names[0]} {{x:.3r}}<br>{names[1]} {{y:.3r}}", x=x, y=y)
    ring = Style(style.color, "circle-open")
    draw_marks(fig, place(x), place(y), ring, "selected rows", hover, size=22, cliponaxis=False)


def _draw_means(
    fig: go.Figure,
    curve: ReliabilityCurve,
    style: Style,
    place: Any,
    names: tuple[str, str],
) -> None:
    """Draw the means of all rows on the histogram: predicted dashed, observed solid."""
    top = fig.layout.yaxis2.range[1]
    for name, value, look in (
        (f"mean {names[0]}", curve.mean_confidence, Style(style.color, dash="4px")),
        (names[1], curve.mean_accuracy, Style(style.color)),
    ):
        x = float(place(np.array(value)))
        hover = {"hovertemplate": f"{name} {value:.3g}<extra></extra>"}
        edge = Style(fade("#FFFFFF", 0.7), dash=look.dash)
        draw_line(fig, [x, x], [0, top], edge, width=4, yaxis="y2")
        draw_line(fig, [x, x], [0, top], look, name, hover, yaxis="y2")


def _write_key(fig: go.Figure, style: Style, behind: bool, band: bool, square: int) -> None:
    """Name the marks above the plot."""
    entries = [key_entry("●", "raw model", NEUTRAL)] if behind else []
    entries += [key_entry("━", "isotonic", style.color)]
    if band:
        entries += [key_entry("▒", "95 % of calibrated models", NEUTRAL)]
    if square < _NAMED:
        entries = entries[:1] if behind else []
    _write_above(fig, "   ".join(entries), "y", 4)


def _write_rows(
    fig: go.Figure,
    parts: DiagramParts,
    group: str,
    names: tuple[str, str],
    beyond: int,
    square: int,
) -> None:
    """Write the means and the numbers of rows between the square and the histogram."""
    curve = parts.curve
    said, outcome = ("mean " + names[0], names[1]) if square >= _NAMED else ("mean", "observed")
    means = (
        f"┃ {outcome} {percent(curve.mean_accuracy)}   ┇ {said} {percent(curve.mean_confidence)}"
    )
    _write_above(fig, means, "y2", 0)
    if square < _NAMED:
        return
    counts = f"{int(parts.rows.sum()):,} rows, {int(parts.right.sum()):,} {group}"
    if beyond:
        counts += f"; {beyond:,} beyond the axis"
    _write_above(fig, counts, "y2", 14)


def _write_above(fig: go.Figure, text: str, axis: str, shift: int) -> None:
    place = {"xref": "x domain", "xanchor": "left", "yref": f"{axis} domain"}
    write(fig, text, 0, 1, size=11, yanchor="bottom", yshift=shift, **place)


def _describe(curve: ReliabilityCurve, of: str, view: View) -> str:
    """Text alternative of a diagram."""
    gap = curve.mean_confidence - curve.mean_accuracy
    means = view.wording.describe_means(curve.mean_confidence, curve.mean_accuracy, three_digits)
    return (
        f"Reliability diagram{of}: {curve.n:,} rows in {len(curve.count)} bins, {means},"
        f" too {'high' if gap > 0 else 'low'} by {three_digits(abs(gap))}, {SCORES['ECE'].seen(view).title}"
        f" {three_digits(curve.ece)}."
    )


def before_and_after(before: Floats, after: Floats, style: Style) -> go.Figure:
    """Observed rate over predicted risk of a model and of its calibrator in one small diagram.

    Parameters
    ----------
    before, after : (m, 2) mean predicted risk and observed rate of each bin, the same rows in both.
    style : of the calibrator.
    """
    fig = go.Figure()
    draw_line(fig, [0, 1], [0, 1], DOTTED, width=1.2)
    gap = np.abs(before[:, 0] - after[:, 0])
    named = int(np.where(before[:, 0] < 0.4, gap, 0).argmax())  # where there is room at both sides
    for curve, look, name, side in (
        (before, Style(NEUTRAL), "before", "left"),
        (after, style, "after", "right"),
    ):
        told = carry(
            f"{name}<br>predicted {{predicted:.2r}}<br>observed {{observed:.2r}}",
            predicted=curve[:, 0],
            observed=curve[:, 1],
        )
        draw_line(fig, *curve.T, Style(look.color), name, told, width=2.2, markers=8)
        x, y = curve[named]
        sign = -1 if side == "left" else 1
        place = {
            "xanchor": "right" if sign < 0 else "left",
            "xshift": 10 * sign,
            "yshift": -8 * sign,
        }
        write(fig, f"<b>{name}</b>", x, y, size=13, color=look.color, **place)
    worst = int(np.abs(before[:, 0] - before[:, 1]).argmax())
    alt = (
        f"Reliability before and after calibration: a predicted risk of {three_digits(before[worst, 0])} came true in"
        f" {three_digits(before[worst, 1])} of the cases; calibrated it is {three_digits(after[worst, 0])}."
    )
    quiet(fig, BEFORE_AFTER_HEIGHT, alt=alt)
    ticks = {"range": [0, 1.02], "tickformat": ".0%", "dtick": 0.2, "fixedrange": True}
    set_x(fig, title_text="what the model predicts", **ticks)
    set_y(fig, title_text="how often it happens", **ticks)
    return fig
