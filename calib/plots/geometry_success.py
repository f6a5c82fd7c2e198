"""How often predictions are right against their separation, and how right and wrong ones spread over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.separation import SeparationHistogram, SuccessRates
from calib.numerics import Floats
from calib.plots.annotations import label_line_ends
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.overlay import label_margin
from calib.plots.style import FRAME, GUIDE, NEUTRAL, Limits, Style, fade, quiet

RIGHT, DANGER = "#0072B2", "#D55E00"
"""Right predictions, and what is dangerous; all else is grey."""


@dataclass(frozen=True, eq=False)
class SuccessMap:
    """One fitted map: its name, its style, and (n,) success rates at the picture's separations."""

    name: str
    style: Style
    rate: Floats


def success_curve(
    rates: SuccessRates, separation: Floats, maps: Sequence[SuccessMap], kind: str, height: int = 400
) -> go.Figure:
    """Success rates of test rows in bins of separation, and maps fitted to calibration rows.

    Chouraqui et al. (2023), figure 5.

    Parameters
    ----------
    rates : of the test rows.
    separation : (n,) increasing values at which the maps are given.
    maps : fitted maps, named at their right ends.
    kind : which separation, for the axis.
    """
    fig = go.Figure()
    low = float(np.min([rates.low.min(), *(line.rate.min() for line in maps)]))
    bottom = max(-0.02, 0.1 * np.floor(10 * low) - 0.02)
    add_sides(fig, (float(separation[0]), float(separation[-1])))
    for line in maps:
        fig.add_scatter(
            x=separation, y=line.rate, name=line.name, mode="lines",
            line={"color": line.style.color, "dash": line.style.dash, "width": 2},
            **carry(separation=separation, success_rate=line.rate),
            hovertemplate=f"{line.name}: %{{customdata[1]:.3r}}<br>at %{{customdata[0]:.3r}}<extra></extra>",
        )  # fmt: skip
    rate = rates.rate
    fig.add_scatter(
        x=rates.separation, y=rate, name="test rows", mode="markers", marker={"color": NEUTRAL, "size": 8},
        error_y={"type": "data", "symmetric": False, "array": rates.high - rate, "arrayminus": rate - rates.low,
                 "color": fade(NEUTRAL, 0.75), "thickness": 1.5, "width": 3},
        **carry(separation=rates.separation, least=rates.least, largest=rates.largest, right=rates.right,
                rows=rates.rows, success_rate=rate, low=rates.low, high=rates.high),
        hovertemplate="%{customdata[3]:,d} of %{customdata[4]:,d} test rows are right: %{customdata[5]:.3r}"
        "<br>95 %: %{customdata[6]:.3r} to %{customdata[7]:.3r}"
        "<br>separation %{customdata[1]:.3r} to %{customdata[2]:.3r}<extra></extra>",
    )  # fmt: skip
    said = f"from {rate[0]:.3g} at {rates.separation[0]:.3g} to {rate[-1]:.3g} at {rates.separation[-1]:.3g}"
    alt = f"Success rate of {int(rates.rows.sum()):,} test rows in {len(rates.rows)} bins of separation, {said}."
    quiet(fig, height, alt=alt, right=label_margin([line.name for line in maps]))
    ends = [(line.name, float(line.rate[-1]), line.style.color) for line in maps]
    label_line_ends(fig, ends, (bottom, 1.02), height - FRAME)
    set_x(fig, title_text=kind, range=[float(separation[0]), float(separation[-1])], nticks=7)
    set_y(fig, title_text="share of right predictions", range=[bottom, 1.02], tickformat=".3~g", nticks=7)
    return fig


def separation_densities(histogram: SeparationHistogram, kind: str, height: int = 260) -> go.Figure:
    """Separations of right predictions upwards and of wrong ones downwards, each group on its own height."""
    fig = go.Figure()
    edges = histogram.edges
    add_sides(fig, (float(edges[0]), float(edges[-1])), labels=False)
    for name, count, sign, color, alpha in (
        ("right", histogram.right, 1, RIGHT, 0.75), ("wrong", histogram.wrong, -1, NEUTRAL, 0.65),
    ):  # fmt: skip
        fig.add_bar(
            x=(edges[1:] + edges[:-1]) / 2, y=sign * count / max(int(count.max(initial=0)), 1), width=np.diff(edges),
            name=name, marker={"color": fade(color, alpha), "line_width": 0},
            **carry(low=edges[:-1], high=edges[1:], rows=count),
            hovertemplate=f"%{{customdata[2]:,d}} {name}<br>separation %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
        fig.add_annotation(
            text=f"{name} ({int(count.sum()):,})", x=0.99, xref="paper", xanchor="right", y=1 if sign > 0 else 0,
            yref="paper", yanchor="top" if sign > 0 else "bottom", showarrow=False, font={"size": 12, "color": color},
        )  # fmt: skip
    alt = f"Separations of {int(histogram.right.sum()):,} right and {int(histogram.wrong.sum()):,} wrong predictions."
    quiet(fig, height, alt=alt, left=14)
    set_y(fig, showticklabels=False, showgrid=False, range=[-1.3, 1.3], zeroline=True, zerolinecolor=GUIDE)
    set_x(fig, title_text=kind, range=[float(edges[0]), float(edges[-1])], nticks=7)
    return fig


def add_sides(fig: go.Figure, limits: Limits, labels: bool = True) -> None:
    """Shade where inputs are dangerous, mark 0, and say which side it is."""
    low, high = limits
    if low < 0:
        fig.add_shape(
            type="rect", x0=low, x1=min(0.0, high), y0=0, y1=1, yref="paper", layer="below",
            fillcolor=fade(DANGER, 0.08), line_width=0,
        )  # fmt: skip
    if low < 0 < high:
        fig.add_vline(x=0, line={"color": GUIDE, "width": 1.5, "dash": "dot"})
    if labels and low < 0:
        # Above the plot, where no line can be, however narrow the side is.
        fig.add_annotation(
            text="← dangerous", x=0, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom",
            showarrow=False, font={"size": 12, "color": DANGER},
        )  # fmt: skip
