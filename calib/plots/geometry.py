"""Figures of geometric separation: accuracy by separation, and the zone of one input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.histograms import Frequencies, SidedCounts
from calib.diagnostics.separation import Explanation, Neighbourhood
from calib.formatting import number, percent
from calib.numerics import Floats
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_frequencies,
    draw_marks,
    label_line_ends,
    write,
)
from calib.plots.lines import Curve, draw_curves
from calib.plots.style import (
    NEUTRAL,
    Style,
    add_line,
    fade,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    show_legend,
)

RIGHT, DANGER = "#0072B2", "#D55E00"
"""Right predictions, and what is dangerous; all else is grey."""
HEIGHT = 480

MapCurve = tuple[str, Style, Floats]
"""Name and style of a fitted map, and (n,) success rates at the picture's separations."""


def success_curve(
    rates: Frequencies,
    histogram: SidedCounts,
    separation: Floats,
    maps: Sequence[MapCurve],
    kind: str,
) -> go.Figure:
    """Success rates of test rows in bins of separation, and maps fitted to calibration rows.

    Chouraqui et al. (2023), figure 5. Beneath, right predictions upwards and wrong ones downwards.

    Parameters
    ----------
    rates, histogram : of the test rows.
    separation : (n,) increasing values at which the maps are given.
    maps : fitted maps, named at their right ends.
    kind : which separation, for the axis.
    """
    fig = go.Figure()
    rate = rates.frequency
    summary = (
        f"from {rate[0]:.3g} at {rates.score[0]:.3g} to {rate[-1]:.3g} at {rates.score[-1]:.3g}"
    )
    n_right = int(histogram.right.sum())
    n_wrong = int(histogram.wrong.sum())
    alt = (
        f"Success rate of {int(rates.count.sum()):,} test rows, {n_right:,} right and {n_wrong:,} wrong, in "
        f"{len(rates.count)} bins of separation, {summary}."
    )
    quiet(fig, HEIGHT, alt=alt)
    low = float(np.min([rates.low.min(), *(values.min() for _, _, values in maps)]))
    limits = max(-0.02, 0.1 * np.floor(10 * low) - 0.02), 1.02
    across = min(separation[0], histogram.edges[0]), max(separation[-1], histogram.edges[-1])
    _draw_dangerous_side(fig, *across)
    curves = [Curve(name, style, separation, values) for name, style, values in maps]
    ends = draw_curves(fig, curves, ("separation", "success_rate"))
    hover = (
        "{positives:,d} of {rows:,d} test rows are right: {frequency:.3r}<br>95 %: {low:.3r} to {high:.3r}"
        "<br>separation {separation:.3r}"
    )
    draw_frequencies(fig, rates, hover, "separation", rates.score, np.asarray, "test rows")
    groups = [
        Counted("right", histogram.right, RIGHT, "right"),
        Counted("wrong", histogram.wrong, NEUTRAL, "wrong"),
    ]
    beneath: dict[str, Any] = {"anchor": "x", "domain": (0.0, 0.22)}
    draw_counts(fig, histogram.edges, histogram.edges, groups, "separation", "y2", **beneath)
    set_layout(
        fig,
        xaxis={"title_text": kind, "range": across, "nticks": 7, "anchor": "y2"},
        yaxis={
            "title_text": "share of right predictions",
            "range": limits,
            "tickformat": ".3~g",
            "nticks": 7,
            "domain": (0.3, 1.0),
        },
    )
    label_line_ends(fig, ends, limits)
    return fig


def zone_chart(why: Explanation, around: Neighbourhood, names: Sequence[str]) -> go.Figure:
    """Zone of an input among the training inputs around it (Chouraqui et al. 2023, figure 1).

    Parameters
    ----------
    why : what decides its separations.
    around : training inputs near it.
    names : (m,) class of each of these training inputs.
    """
    fig = go.Figure()
    side = "safe" if why.safe else "dangerous"
    color = RIGHT if why.safe else DANGER
    alt = (
        f"Zone of one {side} input with radius {number(abs(why.exact))} among {len(around.rows)} training inputs, "
        f"{int(around.same.sum())} of them of the predicted class."
    )
    quiet(fig, HEIGHT, alt=alt, title=f"{side} zone, radius {number(abs(why.exact))}")
    for radius, dash in ((abs(why.exact), "solid"), (abs(why.fast), "dash")):
        fig.add_shape(
            type="circle",
            x0=-radius,
            x1=radius,
            y0=-radius,
            y1=radius,
            layer="below",
            fillcolor=fade(color, 0.08),
            line={"color": color, "width": 1.5, "dash": dash},
        )
    distance = np.linalg.norm(around.places, axis=1)
    pair = (why.deciding_same_row, why.deciding_other_row)
    deciding = np.isin(around.rows, [row for row in pair if row is not None])
    sides = (
        ("predicted class", around.same, Style(RIGHT, "circle")),
        ("other classes", ~around.same, Style(DANGER, "diamond")),
    )
    for name, rows, style in sides:
        hover = carry(
            "{class}, training row {row:,d}<br>{distance:.3r} away",
            row=around.rows[rows],
            distance=distance[rows],
            **{"class": [plain(name) for name, inside in zip(names, rows, strict=True) if inside]},
        )
        sizes = np.where(deciding[rows], 14, 8)
        x, y = around.places[rows].T
        draw_marks(fig, x, y, style, name, hover, size=sizes)
    draw_marks(fig, [0.0], [0.0], Style(NEUTRAL, "x"), "the input", size=11)
    reach = 1.05 * max(float(distance.max(initial=0.0)), abs(why.exact))
    axis = {"range": (-reach, reach), "nticks": 7, "constrain": "domain"}
    both = f"both have {percent(around.share)} of the squared distances"
    set_x(fig, title_text=f"first principal axis<br>{both}", **axis)
    add_line(fig)
    set_y(fig, title_text="second principal axis", scaleanchor="x", **axis)
    show_legend(fig)
    return fig


def _draw_dangerous_side(fig: go.Figure, low: float, high: float) -> None:
    """Shade where inputs are dangerous, in both plots, and say which side it is."""
    if low >= 0:
        return
    shade = {"layer": "below", "fillcolor": fade(DANGER, 0.08), "line_width": 0, "yref": "paper"}
    fig.add_shape(type="rect", x0=low, x1=min(0.0, high), y0=0, y1=1, **shade)
    # Above the plot, where no line can be, however narrow the side is.
    place = {"xref": "paper", "xanchor": "left", "yref": "paper", "yanchor": "bottom"}
    write(fig, "← dangerous", 0, 1, color=DANGER, **place)
