"""Figures of binning schemes: edges as rails beneath the densities of the log-odds, representatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.binning import BinnedPairs, LogOddsDensity
from calib.formatting import percent
from calib.numerics import Floats, sigmoid
from calib.plots.annotations import carry, draw_line, write
from calib.plots.axes import Scale, on_scale, probability_axis, probability_limits
from calib.plots.lines import Curve, describe_ends, line_chart
from calib.plots.style import (
    COLORS,
    DOTTED,
    FRAME,
    HIDDEN,
    NEUTRAL,
    Limits,
    Style,
    fade,
    join_named,
    key_entry,
    label,
    method_style,
    plain,
    quiet,
    set_layout,
    three_digits,
)

Rail = tuple[str, BinnedPairs, Style]
"""Name, bins and style of one scheme."""

SCHEME_NAMES = {"imax": "I-Max", "equal_mass": "equal mass", "equal_width": "equal width"}
SCHEME_STYLES = {
    "imax": method_style("imax"),
    "equal_mass": Style(COLORS[1], "square", "dash"),
    "equal_width": Style(COLORS[5], "triangle-up", "longdash"),
}
LABEL_COLORS = (NEUTRAL, COLORS[2])
"""Of y = 0 and of y = 1."""
OUTCOMES = ("y = 0", "y = 1")

RAIL_PIXELS = 50
_THICK = 0.42
_SMALLEST_TEXT = 9
"""Pixels; the share of a bin that has no room for it is left to the hover."""
_ALPHAS = (0.06, 0.55)
"""Of an empty bin, and of one that holds all pairs: the page's text can be read on both."""
_DROP = 0.22
"""Distance of a rail beneath the middle of its row; its name stands above it."""
_TAIL = 0.002
"""Share of the pairs of each outcome that may lie beyond each end of the axis."""
_PAD = 0.03


def span_of(density: LogOddsDensity, edges: Sequence[Floats] = ()) -> Limits:
    """Ends of the axis of log-odds: nearly all pairs of both outcomes, and every edge."""
    ends = [float(end) for inner in edges if len(inner) for end in (inner[0], inner[-1])]
    for count in (density.count_label, density.count_other):
        if count.sum():
            below = np.cumsum(count) / count.sum()
            ends += [
                float(density.middles[below.searchsorted(share)]) for share in (_TAIL, 1 - _TAIL)
            ]
    pad = max(_PAD * (max(ends) - min(ends)), density.cell_width)
    return min(ends) - pad, max(ends) + pad


def _draw_rails(fig: go.Figure, rails: Sequence[Rail], span: Limits) -> None:
    """Draw one rail per scheme on "y2", whose row i is at y = i; the stronger a bin's colour, the more pairs it has.

    Each name and its information stand above the rail, and in each bin, where it has room, its share of the pairs.

    Parameters
    ----------
    span : ends of the axis of log-odds, where the outermost bins end in the picture.
    """
    set_layout(fig, uniformtext={"mode": "hide", "minsize": _SMALLEST_TEXT})
    for row, (name, bins, style) in enumerate(rails):
        _draw_rail(fig, name, bins, style, span, row + _DROP)
        note = f"keeps {bins.label_information:.3g} nats"
        for text, x, anchor, color in (
            (label(name), 0, "left", style.color),
            (note, 1, "right", None),
        ):
            place = {"xref": "paper", "xanchor": anchor, "yref": "y2", "yanchor": "middle"}
            write(fig, text, x, row - 0.22, color=color, **place)


def _draw_rail(
    fig: go.Figure, name: str, bins: BinnedPairs, style: Style, span: Limits, y: float
) -> None:
    low = np.r_[-np.inf, bins.edges]
    high = np.r_[bins.edges, np.inf]
    drawn_low = np.clip(low, *span)
    drawn_high = np.clip(high, *span)
    least, most = _ALPHAS
    fig.add_bar(
        base=drawn_low,
        x=drawn_high - drawn_low,
        y=np.full(len(low), y),
        width=_THICK,
        orientation="h",
        yaxis="y2",
        name=name,
        showlegend=False,
        marker={
            "color": [
                fade(style.color, least + (most - least) * root) for root in np.sqrt(bins.mass)
            ],
            "line_width": 0,
        },
        **carry(
            f"{plain(name)}: log-odds %{{hovertext}}<br>{{pairs:,d}} pairs ({{share:.3p}}), {{positives:,d}} with y = 1"
            "<br>representative {representative:.3r}, model {model_says:.3r}",
            low=low,
            high=high,
            width=bins.width,
            pairs=bins.count,
            share=bins.mass,
            positives=bins.positives,
            representative=bins.representatives,
            model_says=bins.predicted,
        ),
        text=[percent(share, 0 if share >= 0.0995 else 1) for share in bins.mass],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        insidetextfont={"size": 11},
        hovertext=[
            f"{_end(a)} to {_end(b)}" + (f" (width {b - a:.3g})" if np.isfinite(b - a) else "")
            for a, b in zip(low, high, strict=True)
        ],
    )
    reach = 0.6 * _THICK
    _draw_edges(fig, bins.edges, (y - reach, y + reach), style.color, width=1.8, yaxis="y2")


def _draw_edges(
    fig: go.Figure,
    edges: Floats,
    reach: Limits,
    color: str,
    width: float = 1,
    yaxis: str | None = None,
) -> None:
    """A vertical line at each edge, from and to these heights."""
    lines = np.repeat(edges, 3), [*reach, None] * len(edges)
    draw_line(fig, *lines, Style(color), width=width, yaxis=yaxis)


def _end(value: float) -> str:
    return f"{value:.3g}".replace("-", "−") if np.isfinite(value) else ("−∞" if value < 0 else "∞")


REPRESENTATIVES_HEIGHT = 420
N_POINTS = 240
_PLOT = 270
_GAP = 14
LOG_ODDS_TITLE = "one-vs-rest log-odds"


def bins_over_densities(density: LogOddsDensity, rails: Sequence[Rail]) -> go.Figure:
    """The picture of the binning (Patel et al. 2020, figure 3): densities above, and beneath them one rail per scheme.

    Parameters
    ----------
    density : of the log-odds.
    rails : the schemes, the first of which has its edges drawn through the densities too.
    """
    span = span_of(density, [bins.edges for _, bins, _ in rails])
    fig = go.Figure()
    top = _draw_densities(fig, density, span)
    _, first, style = rails[0]
    _draw_edges(fig, first.edges, (0, 1.08 * top), fade(style.color, 0.45))
    _draw_rails(fig, rails, span)
    below = RAIL_PIXELS * len(rails)
    plot = _PLOT + _GAP + below
    summary = join_named(
        {
            name: f"from {three_digits(bins.edges[0])} to {three_digits(bins.edges[-1])} keeps"
            f" {three_digits(bins.label_information)} nats"
            for name, bins, _ in rails
            if len(bins.edges)
        }
    )
    alt = f"Densities of one-vs-rest log-odds for y = 0 and y = 1, and beneath them the edges of bins: {summary}."
    quiet(fig, FRAME + plot, alt=alt, left=58, right=14)
    set_layout(
        fig,
        xaxis={"anchor": "y2", "range": span, "title_text": LOG_ODDS_TITLE},
        yaxis={
            "domain": [1 - _PLOT / plot, 1],
            "range": [0, 1.08 * top],
            "title_text": "density",
            "nticks": 5,
        },
        yaxis2={"domain": (0, below / plot), "range": [len(rails) - 0.5, -0.5], **HIDDEN},
    )
    return fig


def _draw_densities(fig: go.Figure, density: LogOddsDensity, span: Limits) -> float:
    """Draw the kernel density of both outcomes, filled; returns the highest."""
    x = np.linspace(*span, N_POINTS)
    tops = []
    keys = []
    for name, smooth, count, color in zip(
        OUTCOMES,
        (density.density_other, density.density_label),
        (density.count_other, density.count_label),
        LABEL_COLORS,
        strict=True,
    ):
        y = np.interp(x, density.middles, smooth, left=0, right=0)
        hover = carry(
            f"{name}: density {{density:.3r}}<br>at {{log_odds:.3r}}", log_odds=x, density=y
        )
        title = f"{name}: {count.sum():,.0f} pairs"
        filled: dict[str, Any] = {"fill": "tozeroy", "fillcolor": fade(color, 0.22)}
        draw_line(fig, x, y, Style(color), title, hover, **filled)
        keys.append(key_entry("━", title, color))
        tops.append(float(y.max()))
    place = {"xref": "x domain", "xanchor": "left", "yref": "y domain", "yanchor": "bottom"}
    write(fig, "   ".join(keys), 0, 1, size=11, **place)
    return max(tops) or 1.0


_FLAT_BEYOND = 6.0
"""Log-odds beyond which probabilities look like 0 and 1 on a linear axis."""


def representatives(
    density: LogOddsDensity, rails: Sequence[Rail], scale: Scale = "linear"
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
        span = max(span[0], -_FLAT_BEYOND), min(span[1], _FLAT_BEYOND)
    summary = np.concatenate([bins.representatives for _, bins, _ in rails])
    limits = probability_limits(np.r_[summary, 0.05, 0.95] if scale == "logit" else summary, scale)
    x = np.linspace(*span, N_POINTS)
    posterior = np.interp(x, density.middles, density.posterior, left=np.nan, right=np.nan)
    known = np.isfinite(posterior)
    curves = []
    for name, ends, y, look in (
        ("sigmoid", x, sigmoid(x), DOTTED),
        ("kernel densities", x[known], posterior[known], Style(LABEL_COLORS[1], dash="dot")),
    ):
        if len(ends):
            curves.append(Curve(name, look, ends, y, at=(ends, on_scale(y, scale, limits))))
    for name, bins, style in reversed(rails):
        inside = np.flatnonzero((bins.edges > span[0]) & (bins.edges < span[1]))
        at = np.searchsorted(bins.edges, span[0], side="right") + np.arange(len(inside) + 1)
        at = np.append(at, at[-1])  # the last bin ends where the axis does
        ends = np.r_[span[0], bins.edges[inside], span[1]]
        look = Style(style.color, dash="solid" if bins is rails[0][1] else style.dash)
        y = bins.representatives[at]
        drawn = ends, on_scale(y, scale, limits)
        more = {"pairs": bins.count[at]}
        curves.append(Curve(name, look, ends, y, more=more, at=drawn, shape="hv"))
    axis = probability_axis(scale, limits, 0.02 if scale == "linear" else 0.03)
    rising = describe_ends(curves[: -len(rails) - 1 : -1])
    return line_chart(
        curves,
        ("log_odds", "representative"),
        {"range": span, "title_text": LOG_ODDS_TITLE},
        {**axis, "title_text": "probability that y = 1"},
        "Representatives of the bins",
        f"Representatives over the log-odds, which rise from the first bin to the last: {rising}.",
        markers=0,
        height=REPRESENTATIVES_HEIGHT,
    )
