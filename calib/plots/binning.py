"""Log-odds where the class is the label and where it is not, over the bins of every scheme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.density import LogOddsDensity
from calib.plots.binning_rails import (
    LABEL_COLORS,
    RAIL_PIXELS,
    KeyEntry,
    Rail,
    draw_edges,
    draw_rails,
    grouped,
    key_of,
    rail_axis,
    span_of,
    write_key,
)
from calib.plots.data import carry
from calib.plots.layout import set_layout, set_x, set_y
from calib.plots.style import FRAME, Limits, fade, quiet, three_digits

Shape = Literal["kernel", "histogram"]

N_POINTS = 240
N_BARS = 80
_PLOT = 270
_GAP = 14
LOG_ODDS_TITLE = "one-vs-rest log-odds"


def bins_over_densities(
    density: LogOddsDensity, rails: Sequence[Rail], shape: Shape = "kernel", title: str = ""
) -> go.Figure:
    """The picture of the binning (Patel et al. 2020, figure 3): densities above, and beneath them one rail per scheme.

    Parameters
    ----------
    density : of the log-odds.
    rails : the schemes, the first of which has its edges drawn through the densities too.
    shape : kernel density estimates, or histograms.
    """
    span = span_of(density, [bins.edges for _, bins, _ in rails])
    fig = go.Figure()
    top = _draw_densities(fig, density, shape, span)
    _, first, style = rails[0]
    draw_edges(fig, first.edges, style, 1.08 * top)
    draw_rails(fig, rails, span)
    below = RAIL_PIXELS * len(rails)
    plot = _PLOT + _GAP + below
    said = "; ".join(
        f"{name} from {three_digits(bins.edges[0])} to {three_digits(bins.edges[-1])} keeps"
        f" {three_digits(bins.label_information)} nats"
        for name, bins, _ in rails
        if len(bins.edges)
    )
    alt = f"Densities of one-vs-rest log-odds for y = 0 and y = 1, and beneath them the edges of bins: {said}."
    quiet(fig, FRAME + plot, alt=alt, title=title, left=58, right=14)
    set_layout(
        fig,
        xaxis={"anchor": "y2", "range": span, "title_text": LOG_ODDS_TITLE},
        yaxis={"domain": [1 - _PLOT / plot, 1], "range": [0, 1.08 * top], "title_text": "density", "nticks": 5},
        yaxis2=rail_axis(len(rails), (0, below / plot)),
    )
    write_key(fig, _key(density))
    return fig


def densities(density: LogOddsDensity, span: Limits, title: str = "", height: int = 300) -> go.Figure:
    """The two histograms with their kernel densities alone (Patel et al. 2020, figure 2), to set beside others."""
    fig = go.Figure()
    top = max(_draw_densities(fig, density, "histogram", span), _draw_densities(fig, density, "kernel", span))
    positives, others = int(density.count_label.sum()), int(density.count_other.sum())
    alt = f"Densities of one-vs-rest log-odds: {others:,} pairs with y = 0 and {positives:,} with y = 1."
    quiet(fig, height, alt=alt, title=title, left=58, right=14)
    set_x(fig, range=span, title_text=LOG_ODDS_TITLE)
    set_y(fig, range=[0, 1.05 * top], nticks=5, title_text="density")
    write_key(fig, _key(density))
    return fig


def _key(density: LogOddsDensity) -> list[KeyEntry]:
    counts = (int(density.count_other.sum()), int(density.count_label.sum()))
    return key_of(
        [
            (f"y = {y}: {count:,} pairs", color)
            for y, (count, color) in enumerate(zip(counts, LABEL_COLORS, strict=True))
        ]
    )


def _draw_densities(fig: go.Figure, density: LogOddsDensity, shape: Shape, span: Limits) -> float:
    """Draw both outcomes; returns the highest density."""
    groups = (
        ("y = 0", density.count_other, density.density_other, LABEL_COLORS[0]),
        ("y = 1", density.count_label, density.density_label, LABEL_COLORS[1]),
    )
    tops = []
    for name, count, smooth, color in groups:
        if shape == "kernel":
            x = np.linspace(*span, N_POINTS)
            y = np.interp(x, density.middles, smooth, left=0, right=0)
            fig.add_scatter(
                x=x, y=y, name=name, mode="lines", fill="tozeroy", line={"color": color, "width": 2},
                fillcolor=fade(color, 0.22), **carry(log_odds=x, density=y),
                hovertemplate=f"{name}: density %{{customdata[1]:.3r}}<br>at %{{customdata[0]:.3r}}<extra></extra>",
            )  # fmt: skip
        else:
            cells = np.linspace(*span, N_BARS + 1)
            inside = grouped(count, density.edges, cells)
            width = cells[1] - cells[0]
            y = inside / (max(int(count.sum()), 1) * width)
            fig.add_bar(
                x=(cells[1:] + cells[:-1]) / 2, y=y, width=width, name=name,
                marker={"color": fade(color, 0.45), "line_width": 0},
                **carry(low=cells[:-1], high=cells[1:], pairs=inside, density=y),
                hovertemplate=f"{name}: %{{customdata[2]:,.0f}} pairs<br>from %{{customdata[0]:.3r}} to"
                " %{customdata[1]:.3r}<extra></extra>",
            )  # fmt: skip
        tops.append(float(y.max()))
    return max(tops) or 1.0
