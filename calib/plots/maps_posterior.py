"""What Bayes-Iso knows about a map: its posterior band, the bounds it sampled between, and a few sampled maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.axes import Scale, on_scale
from calib.plots.data import carry
from calib.plots.maps_axes import ScoreAxis
from calib.plots.style import Limits, Style, fade

if TYPE_CHECKING:
    from calib.diagnostics.calibration_maps import CalibrationMap

BAND, BOUNDS, SAMPLES = "band", "bounds", "samples"
POSTERIOR = frozenset({BAND})
"""What is drawn unless something else is asked for."""


def draw_posterior(
    fig: go.Figure,
    posterior: CalibrationMap,
    style: Style,
    parts: frozenset[str],
    axis: ScoreAxis,
    scale: Scale,
    limits: Limits,
) -> None:
    """Draw the chosen parts behind the maps.

    Parameters
    ----------
    posterior, style : of one Bayes-Iso.
    parts : of "band", "bounds" and "samples".
    axis, scale, limits : of the figure.
    """
    x = axis.place(posterior.log_odds)
    color = style.color
    if BAND in parts:
        low, high = (on_scale(end, scale, limits) for end in (posterior.low, posterior.high))
        fig.add_scatter(
            x=np.r_[x, x[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="lines", line_width=0,
            fillcolor=fade(color, 0.2), hoverinfo="skip",
        )  # fmt: skip
    if SAMPLES in parts:
        # One trace with gaps: plotly is slow with many.
        gap = np.full((len(posterior.samples), 1), np.nan)
        across = np.concatenate([np.broadcast_to(x, posterior.samples.shape), gap], axis=1)
        up = np.concatenate([on_scale(posterior.samples, scale, limits), gap], axis=1)
        fig.add_scatter(
            x=across.ravel(), y=up.ravel(), mode="lines", line={"color": fade(color, 0.35), "width": 1},
            hoverinfo="skip",
        )  # fmt: skip
    if BOUNDS in parts:
        for name, end in (("lower bound", posterior.lower_bound), ("upper bound", posterior.upper_bound)):
            fig.add_scatter(
                x=x, y=on_scale(end, scale, limits), name=name, mode="lines",
                line={"color": color, "width": 1.4, "dash": "dot"}, **carry(log_odds=posterior.log_odds, bound=end),
                hovertemplate=f"{name} %{{customdata[1]:.3r}}<extra></extra>",
            )  # fmt: skip
    if BAND in parts:
        fig.add_scatter(
            x=x, y=on_scale(posterior.mean, scale, limits), name="posterior", mode="markers",
            marker={"size": 9, "color": "rgba(0,0,0,0)"},
            **carry(log_odds=posterior.log_odds, mean=posterior.mean, low=posterior.low, high=posterior.high),
            hovertemplate="posterior mean %{customdata[1]:.3r}<br>90 %: %{customdata[2]:.3r} to %{customdata[3]:.3r}"
            "<extra></extra>",
        )  # fmt: skip
