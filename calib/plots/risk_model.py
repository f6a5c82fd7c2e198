"""Calibration curve of a risk model: spline with its band, and the risks of rows with and without the event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import EVENT, View
from calib.metrics.risk_panel import RiskCurve
from calib.plots.annotations import fill_between, write
from calib.plots.axes import Scale, probability_limits
from calib.plots.lines import Curve, draw_curves
from calib.plots.reliability import RARE, SIDE, Square, axis_title, diagram_height
from calib.plots.style import Limits, Style, fade, key_entry, quiet, three_digits


def risk_scale(curve: RiskCurve) -> Scale:
    """Log-odds for a rare event; linear otherwise."""
    events = curve.with_event.sum()
    return "logit" if events < RARE * (events + curve.without.sum()) else "linear"


def risk_limits(curves: Sequence[RiskCurve], scale: Scale) -> Limits:
    """Ends of both axes, as probabilities: round numbers around all risks and observed rates.

    Parameters
    ----------
    curves : of all models that are drawn side by side.
    scale : "linear" or "logit".
    """
    drawn = [part for curve in curves for part in (curve.risk, curve.spline)]
    return probability_limits(np.concatenate(drawn), scale)


def risk_model_diagram(
    curve: RiskCurve,
    style: Style,
    scale: Scale | None = None,
    title: str = "",
    height: int = diagram_height(SIDE),
    view: View = EVENT,
    limits: Limits | None = None,
) -> go.Figure:
    """Observed rate against predicted risk: spline with its 95 % band, and beneath a histogram by outcome.

    Parameters
    ----------
    curve : of :func:`calib.metrics.risk_model`.
    style : of the model.
    scale : "linear" or "logit"; None takes that of :func:`risk_scale`.
    title : heading, or empty.
    height : pixels.
    view : whose words are used.
    limits : ends of both axes, of :func:`risk_limits` for models side by side; None takes those of this one.
    """
    if scale is None:
        scale = risk_scale(curve)
    limits = risk_limits([curve], scale) if limits is None else limits
    predicted, observed = view.wording.predicted_label, view.wording.observed_label
    events_label = view.wording.positive_label
    fig = go.Figure()
    square = Square(fig, scale, limits, predicted, observed)
    x, y, low, high = map(square.place, (curve.risk, curve.spline, curve.low, curve.high))
    fill_between(fig, x, low, high, fade(style.color, 0.18))
    square.draw_diagonal()
    band = curve.low, curve.high
    spline = Curve("spline", Style(style.color), curve.risk, curve.spline, band, at=(x, y))
    draw_curves(fig, [spline], (predicted, observed))
    events = float(curve.with_event.sum())
    others = float(curve.without.sum())
    quiet(
        fig,
        height,
        title=title,
        left=58,
        alt=f"Calibration curve{' of ' + title if title else ''}: {events + others:,.0f} rows, {events:,.0f}"
        f" {events_label}; {predicted} from {three_digits(curve.risk[0])} to {three_digits(curve.risk[-1])}."
        f" {_farthest(curve)}",
    )
    rows = curve.with_event + curve.without
    square.draw_rows(curve.edges, rows, curve.with_event, style, events_label)
    square.set_axes(axis_title(view), observed)
    knots = f"spline, {curve.n_knots} knots" if curve.n_knots else "logistic curve"
    if np.isfinite(curve.spline).any():
        place = {"xref": "x domain", "xanchor": "left", "yref": "y domain", "yanchor": "top"}
        key = key_entry("━", f"{knots}, 95 % band", style.color)
        write(fig, key, 0.02, 0.98, size=11, **place)
    return fig


def _farthest(curve: RiskCurve) -> str:
    gap = np.abs(curve.spline - curve.risk)
    if not np.isfinite(gap).any():
        return "There is no spline, because the risks separate the outcomes or hardly differ."
    at = int(np.nanargmax(gap))
    risk, rate, low, high = (
        three_digits(part[at]) for part in (curve.risk, curve.spline, curve.low, curve.high)
    )
    return f"At {risk} the spline is farthest from it, at {rate} ({low} to {high})."
