"""Reliability diagrams without bins: a smooth curve with its band, or the steps of isotonic regression."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from calib.plots.axes import Scale, on_scale
from calib.plots.data import carry
from calib.plots.reliability_frame import common_limits, draw_consistency, draw_diagonal, frame_diagram, shade_between
from calib.plots.style import Limits, Style, fade, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.consistency import ConsistencyBand
    from calib.diagnostics.corp import CorpCurve
    from calib.diagnostics.histogram import ConfidenceHistogram
    from calib.diagnostics.reliability import ReliabilityCurve
    from calib.diagnostics.smooth_reliability import SmoothCurve


def smooth_diagram(
    smooth: SmoothCurve,
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale = "linear",
    title: str = "",
    limits: Limits | None = None,
    histogram: ConfidenceHistogram | None = None,
    height: int = 420,
    band: ConsistencyBand | None = None,
) -> go.Figure:
    """Smoothed accuracy against confidence with its bootstrap band; where few rows are near, the line stops.

    Parameters
    ----------
    smooth : the curve.
    curve : the same rows in bins, for the limits, the means and the counts.
    style, scale, title, limits, histogram, height, band : as of :func:`calib.plots.reliability.reliability_diagram`.
    """
    limits = limits or common_limits([curve], scale)
    x, y, low, high = (
        on_scale(part, scale, limits) for part in (smooth.confidence, smooth.accuracy, smooth.low, smooth.high)
    )
    fig = go.Figure()
    if band is not None:
        draw_consistency(fig, band, scale, limits)
    draw_diagonal(fig, scale, limits)
    shade_between(fig, x, low, high, fade(style.color, 0.2))
    fig.add_scatter(
        x=x, y=y, name="smooth", mode="lines" if len(x) > 1 else "markers", cliponaxis=False,
        line={"color": style.color, "dash": style.dash, "width": 2.2}, marker={"color": style.color, "size": 8},
        **carry(confidence=smooth.confidence, accuracy=smooth.accuracy, low=smooth.low, high=smooth.high),
        hovertemplate="says %{customdata[0]:.3r}<br>right %{customdata[1]:.3r} (%{customdata[2]:.3r} to"
        " %{customdata[3]:.3r})<extra></extra>",
    )  # fmt: skip
    alt = (
        f"Smooth reliability diagram{' of ' + title if title else ''}: {smooth.n:,} rows under a kernel of width"
        f" {three_digits(smooth.width)}, smooth calibration error {three_digits(smooth.error.value)}."
    )
    frame_diagram(fig, curve, style, scale, limits, histogram, height, alt=alt, title=title)
    return fig


def corp_diagram(
    steps: CorpCurve,
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale = "linear",
    title: str = "",
    limits: Limits | None = None,
    histogram: ConfidenceHistogram | None = None,
    height: int = 420,
    band: ConsistencyBand | None = None,
) -> go.Figure:
    """Isotonic accuracy against confidence: level where rows are pooled, rising between.

    The gap to the diagonal is shaded unless there is a band.

    Parameters
    ----------
    steps : the curve.
    curve : the same rows in bins, for the limits, the means and the counts.
    style, scale, title, limits, histogram, height, band : as of :func:`calib.plots.reliability.reliability_diagram`.
    """
    limits = limits or common_limits([curve], scale)
    x, y = (on_scale(part, scale, limits) for part in (steps.confidence, steps.accuracy))
    fig = go.Figure()
    if band is None:
        shade_between(fig, x, x, y, fade(style.color, 0.16))
    else:
        draw_consistency(fig, band, scale, limits)
    draw_diagonal(fig, scale, limits)
    fig.add_scatter(
        x=x, y=y, name="isotonic", mode="lines+markers", cliponaxis=False,
        line={"color": style.color, "dash": "solid", "width": 2},
        marker={"color": style.color, "size": 4},
        **carry(confidence=steps.confidence, accuracy=steps.accuracy, rows=steps.count),
        hovertemplate="%{customdata[2]:,d} rows of a step<br>says %{customdata[0]:.3r}<br>right %{customdata[1]:.3r}"
        "<extra></extra>",
    )  # fmt: skip
    parts = steps.parts
    alt = (
        f"CORP reliability diagram{' of ' + title if title else ''}: isotonic regression of {steps.n:,} rows,"
        f" miscalibration {three_digits(parts.miscalibration)}, discrimination {three_digits(parts.discrimination)},"
        f" uncertainty {three_digits(parts.uncertainty)} of the Brier score."
    )
    frame_diagram(fig, curve, style, scale, limits, histogram, height, alt=alt, title=title)
    return fig
