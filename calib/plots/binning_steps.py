"""What bins say: their representatives as steps against what the model says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.density import LogOddsDensity
from calib.numerics import sigmoid
from calib.plots.axes import Scale, on_scale
from calib.plots.binning import LOG_ODDS_TITLE, N_POINTS
from calib.plots.binning_rails import LABEL_COLORS, Rail, key_of, span_of, write_key
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.style import GUIDE, Limits, plain, quiet, three_digits

_LEAST = 1e-6
_FLAT = 0.01
_FLAT_BEYOND = 5.0
"""Log-odds beyond which the sigmoid is flat to the eye."""
_TICKS = (1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)


def representatives(
    density: LogOddsDensity, rails: Sequence[Rail], scale: Scale = "linear", title: str = "", height: int = 420
) -> go.Figure:
    """Representatives over the log-odds, beside the sigmoid (the model as it is) and the frequencies of the densities.

    Parameters
    ----------
    density : of the log-odds; its P(y = 1 | log-odds) is what the representatives should come near.
    rails : name, bins and style of each scheme.
    scale : "logit" makes the sigmoid a straight line, and shows the small probabilities of one class in many.
    """
    span = span_of(density, [bins.edges for _, bins, _ in rails])
    if scale == "linear":
        span = _rise(rails, span)
    said = np.concatenate([bins.representatives for _, bins, _ in rails])
    limits = _limits(said) if scale == "logit" else (0.0, 1.0)
    fig = go.Figure()
    x = np.linspace(*span, N_POINTS)
    posterior = np.interp(x, density.middles, density.posterior, left=np.nan, right=np.nan)
    for name, y, color, dash in (
        ("sigmoid", sigmoid(x), GUIDE, "dot"),
        ("kernel densities", posterior, LABEL_COLORS[1], "dot"),
    ):
        shown = np.isfinite(y)
        fig.add_scatter(
            x=x[shown], y=on_scale(y[shown], scale, limits), name=name, mode="lines",
            line={"color": color, "width": 2, "dash": dash}, **carry(log_odds=x[shown], probability=y[shown]),
            hovertemplate=f"{name} %{{customdata[1]:.3r}}<br>at %{{customdata[0]:.3r}}<extra></extra>",
        )  # fmt: skip
    for name, bins, style in reversed(rails):
        ends = np.clip(np.r_[span[0], bins.edges, span[1]], *span)
        values = np.r_[bins.representatives, bins.representatives[-1:]]
        fig.add_scatter(
            x=ends, y=on_scale(values, scale, limits), name=name, mode="lines",
            line={"shape": "hv", "color": style.color, "width": 2.4 if bins is rails[0][1] else 1.8,
                  "dash": "solid" if bins is rails[0][1] else style.dash},
            **carry(from_log_odds=ends, representative=values, pairs=np.r_[bins.count, bins.count[-1:]]),
            hovertemplate=f"{plain(name)} says %{{customdata[1]:.3r}}<br>%{{customdata[2]:,d}} pairs from log-odds"
            " %{customdata[0]:.3r} on<extra></extra>",
        )  # fmt: skip
    alt = "Representatives over the log-odds, which rise from the first bin to the last: " + "; ".join(
        f"{name} from {three_digits(bins.representatives[0])} to {three_digits(bins.representatives[-1])}"
        for name, bins, _ in rails
    )
    quiet(fig, height, alt=f"{alt}.", title=title, left=62, right=14)
    set_x(fig, range=span, title_text=LOG_ODDS_TITLE)
    set_y(fig, title_text="probability that y = 1", **_axis(scale, limits))
    lines = [(name, style.color) for name, _, style in rails]
    write_key(fig, key_of(lines, "━") + key_of([("sigmoid", GUIDE), ("densities", LABEL_COLORS[1])], "┅"))
    return fig


def _rise(rails: Sequence[Rail], span: Limits) -> Limits:
    """The part of the axis where anything but 0 and 1 can be seen."""
    lows, highs = [-_FLAT_BEYOND], [_FLAT_BEYOND]
    for _, bins, _ in rails:
        rising = np.flatnonzero((bins.representatives > _FLAT) & (bins.representatives < 1 - _FLAT))
        inner = np.r_[span[0], bins.edges, span[1]]
        if rising.size:
            lows.append(float(inner[rising[0]]))
            highs.append(float(inner[rising[-1] + 1]))
    pad = 0.05 * (max(highs) - min(lows))
    return max(min(lows) - pad, span[0]), min(max(highs) + pad, span[1])


def _limits(said: np.ndarray) -> Limits:
    inside = said[(said > 0) & (said < 1)]
    low = min(float(inside.min()) / 2, 0.05) if inside.size else 0.01
    high = max(float(inside.max()), 0.95) if inside.size else 0.99
    return max(low, _LEAST), 1 - (1 - high) / 2


def _axis(scale: Scale, limits: Limits) -> dict:
    if scale == "linear":
        return {"range": [-0.02, 1.02], "dtick": 0.2, "tick0": 0}
    low, high = on_scale(np.array(limits), scale, limits)
    ticks = [tick for tick in _TICKS if limits[0] <= tick <= limits[1]]
    text = [f"{tick:f}".rstrip("0") for tick in ticks]
    pad = 0.03 * (high - low)
    return {"range": [low - pad, high + pad], "tickvals": on_scale(np.array(ticks), scale, limits), "ticktext": text}
