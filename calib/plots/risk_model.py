"""Calibration curve of a risk model: spline with its band, loess, and the risks of rows with and without the event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import EVENT, View
from calib.metrics.risk_model import RiskCurve
from calib.plots.annotations import carry, write
from calib.plots.axes import Scale, on_scale, regrid
from calib.plots.reliability_frame import (
    draw_diagonal,
    draw_rows,
    name_rows,
    said_axis,
    set_square_axes,
    shade_between,
)
from calib.plots.style import NEUTRAL, Limits, Style, fade, key_entry, quiet, three_digits

CELLS = 40
"""Bars of the histogram."""
RARE = 0.1
"""An event, or its absence, that is rarer gets axes of log-odds."""
_LINEAR_ENDS = (0.1, 0.2, 0.3, 0.5, 1.0)
_LOGIT_LOWS = (0.4, 0.2, 0.1, 0.05, 0.02, 0.01, 0.004, 0.001, 0.0004, 0.0001)


def prefers_logit(curve: RiskCurve) -> bool:
    """Whether the event, or its absence, is so rare that equal steps of risk would crowd the rows in a corner."""
    events, others = float(curve.with_event.sum()), float(curve.without.sum())
    return min(events, others) < RARE * (events + others)


def risk_limits(curves: Sequence[RiskCurve], scale: Scale) -> Limits:
    """Ends of both axes, as probabilities: round numbers around all risks, on log-odds down to 0.0001.

    Parameters
    ----------
    curves : of all models that are drawn side by side.
    scale : "linear" or "logit".
    """
    low, high = min(float(curve.risk[0]) for curve in curves), max(float(curve.risk[-1]) for curve in curves)
    if scale == "linear":
        return 0.0, next(end for end in _LINEAR_ENDS if high <= end)
    last = _LOGIT_LOWS[-1]
    first = next((end for end in _LOGIT_LOWS if end <= low), last)
    return first, 1.0 - next((end for end in _LOGIT_LOWS if end <= 1.0 - high), last)


def risk_model_diagram(
    curve: RiskCurve,
    style: Style,
    scale: Scale | None = None,
    title: str = "",
    height: int = 440,
    view: View = EVENT,
    limits: Limits | None = None,
) -> go.Figure:
    """Observed rate against predicted risk: spline with its 95 % band, and loess where distances are of it.

    Beneath is a histogram by outcome.

    Parameters
    ----------
    curve : of :func:`calib.metrics.risk_model`.
    style : of the model.
    scale : "linear" or "logit"; None takes log-odds where the event, or its absence, is rare.
    title : heading, or empty.
    height : pixels.
    view : whose words are used.
    limits : ends of both axes, of :func:`risk_limits` for models side by side; None takes those of this one.
    """
    if scale is None:
        scale = "logit" if prefers_logit(curve) else "linear"
    limits = risk_limits([curve], scale) if limits is None else limits
    inside = (curve.risk >= limits[0]) & (curve.risk <= limits[1])
    risk, spline, low, high = (part[inside] for part in (curve.risk, curve.spline, curve.low, curve.high))
    loess = None if curve.loess is None else curve.loess[inside]
    fig = go.Figure()
    x = on_scale(risk, scale, limits)
    shade_between(fig, x, on_scale(low, scale, limits), on_scale(high, scale, limits), fade(style.color, 0.18))
    draw_diagonal(fig, scale, limits)
    if loess is not None:
        fig.add_scatter(
            x=x, y=on_scale(loess, scale, limits), name="loess", mode="lines",
            line={"color": NEUTRAL, "dash": "dash", "width": 1.6}, **carry(**{view.said: risk, view.outcome: loess}),
            hovertemplate=f"loess<br>{view.said} %{{customdata[0]:.3r}}<br>{view.outcome} %{{customdata[1]:.3r}}"
            "<extra></extra>",
        )  # fmt: skip
    fig.add_scatter(
        x=x, y=on_scale(spline, scale, limits), name="spline", mode="lines",
        line={"color": style.color, "dash": "solid", "width": 2.2},
        **carry(**{view.said: risk, view.outcome: spline}, low=low, high=high),
        hovertemplate=f"spline<br>{view.said} %{{customdata[0]:.3r}}<br>{view.outcome} %{{customdata[1]:.3r}}"
        " (%{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
    )  # fmt: skip
    _draw_histogram(fig, curve, style, scale, limits, view)
    _frame(fig, curve, scale, limits, title, height, view)
    knots = f"spline, {curve.n_knots} knots" if curve.n_knots else "logistic curve"
    entries = [key_entry("━", f"{knots}, 95 % band", style.color)] if np.isfinite(curve.spline).any() else []
    key = "<br>".join([*entries, *([] if loess is None else [key_entry("╍", "loess", NEUTRAL)])])
    write(fig, key, 0.02, 0.98, size=11, xref="x domain", yref="y domain", xanchor="left", yanchor="top",
          align="left")  # fmt: skip
    return fig


def _draw_histogram(fig: go.Figure, curve: RiskCurve, style: Style, scale: Scale, limits: Limits, view: View) -> None:
    """Rows with the event above and those without below, each group on a height of its own."""
    first, last = on_scale(np.array(limits), scale, limits)
    grid, edges = np.linspace(first, last, CELLS + 1), on_scale(curve.edges, scale, limits)
    groups = (
        (view.right, curve.with_event, 1, style.color),
        (view.wrong, curve.without, -1, NEUTRAL),
    )
    for name, counts, side, color in groups:
        cells = regrid(edges, counts, grid)
        draw_rows(fig, grid, side * cells, name, f"rows {name}<br>{view.said}", scale, color)
        name_rows(fig, f"{counts.sum():,.0f} {name}", cells, side, size=11)


def _frame(fig: go.Figure, curve: RiskCurve, scale: Scale, limits: Limits, title: str, height: int, view: View) -> None:
    events, others = float(curve.with_event.sum()), float(curve.without.sum())
    quiet(
        fig, height, title=title, left=58,
        alt=f"Calibration curve{' of ' + title if title else ''}: {events + others:,.0f} rows, {events:,.0f}"
        f" {view.right}; {view.said} from {three_digits(curve.risk[0])} to {three_digits(curve.risk[-1])}."
        f" {_farthest(curve)}",
    )  # fmt: skip
    rows = {"domain": [0, 0.22], "range": [-1.35, 1.35], "showticklabels": False}
    set_square_axes(fig, scale, limits, said_axis(view), view.outcome, **rows)


def _farthest(curve: RiskCurve) -> str:
    gap = np.abs(curve.spline - curve.risk)
    if not np.isfinite(gap).any():
        return "There is no spline, because the risks separate the outcomes or hardly differ."
    at = int(np.nanargmax(gap))
    risk, rate, low, high = (three_digits(part[at]) for part in (curve.risk, curve.spline, curve.low, curve.high))
    return f"At {risk} the spline is farthest from it, at {rate} ({low} to {high})."
