"""Reliability diagrams small enough that all methods stand side by side, on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from calib.plots.axes import Scale, on_scale, probability_axis
from calib.plots.data import carry
from calib.plots.layout import set_layout
from calib.plots.reliability_frame import describe_curve, draw_diagonal, shade_between
from calib.plots.style import FRAME, Limits, Style, fade, plain, quiet, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ReliabilityCurve

PIXELS = 180
_LEFT, _RIGHT = 38, 8
_LONGEST_NAME = 20


def small_reliability(
    curve: ReliabilityCurve, style: Style, title: str, scale: Scale, limits: Limits, ece: float
) -> go.Figure:
    """Accuracy against confidence in bins with Wilson intervals; the name and the ECE stand above.

    Parameters
    ----------
    curve : the binned confidences.
    style, title : of the method.
    scale, limits : of both axes, the same for all methods.
    ece : the error to state, which need not be that of the bins shown.
    """
    x, y, low, high = (
        on_scale(part, scale, limits) for part in (curve.confidence, curve.accuracy, curve.low, curve.high)
    )
    fig = go.Figure()
    draw_diagonal(fig, scale, limits)
    shade_between(fig, x, x, y, fade(style.color, 0.2))
    fig.add_scatter(
        x=x, y=y, name=title, mode="lines+markers", cliponaxis=False,
        line={"color": style.color, "width": 1.4}, marker={"color": style.color, "size": 5, "symbol": style.symbol},
        error_y={"type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low, "color": style.color,
                 "thickness": 1.2, "width": 0},
        **carry(mean_confidence=curve.confidence, accuracy=curve.accuracy, low=curve.low, high=curve.high,
                count=curve.count),
        hovertemplate="says %{customdata[0]:.3r}<br>right %{customdata[1]:.3r} (%{customdata[2]:.3r} to"
        " %{customdata[3]:.3r})<br>%{customdata[4]:,d} rows<extra></extra>",
    )  # fmt: skip
    quiet(fig, PIXELS - _LEFT - _RIGHT + FRAME, alt=describe_curve(curve, title), left=_LEFT, right=_RIGHT)
    axis = probability_axis(scale, limits)
    if scale == "linear":
        axis["dtick"] = 0.5
    set_layout(fig, xaxis={**axis, "title_text": "confidence", "tickangle": 0, "tickfont_size": 10},
                      yaxis={**axis, "tickfont_size": 10})  # fmt: skip
    name = title if len(title) <= _LONGEST_NAME else title[: _LONGEST_NAME - 1] + "…"
    fig.add_annotation(
        text=f'<b style="color:{style.color}">{plain(name)}</b><br>ECE {three_digits(ece)}', x=0, xref="paper",
        xanchor="left", y=1, yref="paper", yanchor="bottom", showarrow=False, align="left", font={"size": 12},
    )  # fmt: skip
    return fig
