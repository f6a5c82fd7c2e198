"""Axes of scores and probabilities for calibration maps, and the posterior of a Bayes-Iso map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import fill_between
from calib.plots.axes import Scale, on_scale
from calib.plots.data import carry
from calib.plots.style import Limits, Style, fade, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.calibration_maps import CalibrationMap
    from calib.diagnostics.class_rows import Place, ScoreAxis


TITLES: dict[Place, str] = {
    "rank": "score ranks (share of calibration rows below)",
    "log_odds": "log-odds of the raw model",
    "probability": "probability of the raw model",
}
_LOWS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 1e-4, 3e-5, 1e-5)
_TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
_NEAR = 0.0001


def axis_ticks(axis: ScoreAxis) -> dict[str, Any]:
    """Range and ticks of an axis of scores in plotly's names."""
    low, high = axis.limits
    if axis.kind == "rank":
        return {"range": [low, high], "tickformat": ".0%", "dtick": 0.25, "tick0": 0}
    return {"range": [low, high], "nticks": 9}


def probability_text(prob: float) -> str:
    """A probability in three significant digits, near 1 as what is missing to it: 0.0132, 1 − 0.00027, < 0.0001."""
    if 0 < prob < _NEAR:
        return f"< {_NEAR:g}"
    if 0 < 1 - prob < _NEAR:
        return f"> 1 − {_NEAR:g}"
    return f"1 − {1 - prob:.2g}" if 0 < 1 - prob < 0.001 else three_digits(prob)


def logit_limits(probs: Floats) -> Limits:
    """Symmetric ends of a logit-scaled axis that hold most of the probabilities but no exact 0 or 1."""
    inside = probs[(probs > 0) & (probs < 1)]
    nearest = float(np.quantile(np.minimum(inside, 1 - inside), 0.02)) if inside.size else _LOWS[0]
    low = next((end for end in _LOWS if end <= nearest), _LOWS[-1])
    return low, 1 - low


def probability_ticks(scale: Scale, limits: Limits) -> dict[str, Any]:
    """Range and ticks of an axis of probabilities between limits."""
    low, high = (float(end) for end in on_scale(np.array(limits), scale, limits))
    pad = 0.02 * (high - low)
    if scale == "linear":
        return {"range": [low - pad, high + pad], "dtick": 0.2, "tick0": 0}
    ticks = np.array([tick for tick in _TICKS if limits[0] <= tick <= limits[1]])
    return {
        "range": [low - pad, high + pad],
        "tickvals": on_scale(ticks, scale, limits),
        "ticktext": [f"{tick:g}" if tick > 1e-4 else f"{tick:.5f}".rstrip("0") for tick in ticks],
    }


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
        fill_between(fig, x, low, high, fade(color, 0.2))
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
