"""Reliability diagrams: what the model says against how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.data import carry
from calib.plots.labels import label_line_ends
from calib.plots.scales import (
    PROBABILITY_ENDS,
    Scale,
    confidence_edges,
    from_scale,
    logit_ends,
    on_scale,
    probability_axis,
    regrid,
)
from calib.plots.style import FRAME, GUIDE, NEUTRAL, Limits, Style, fade, plain, quiet, three_digits

if TYPE_CHECKING:
    from calib.reliability import ConfidenceHistogram, ReliabilityCurve

_HOVER = (
    "%{customdata[1]:,d} rows<br>says %{customdata[2]:.3r}<br>right %{customdata[3]:.3r}"
    " (%{customdata[4]:.3r} to %{customdata[5]:.3r})%{text}"
)
_HISTOGRAM_CELLS = 40


def prefers_logit_scale(curve: ReliabilityCurve) -> bool:
    """Whether more than half of the confidences exceed 0.9, by the means of the bins they lie in."""
    return bool(curve.count[curve.confidence > 0.9].sum() > 0.5 * curve.n)


def common_limits(curves: Sequence[ReliabilityCurve], scale: Scale = "linear") -> Limits:
    """Ends of the axes, as probabilities, that suit all curves, so that diagrams side by side agree."""
    if scale == "linear":
        return PROBABILITY_ENDS
    return logit_ends(np.concatenate([np.r_[curve.confidence, curve.accuracy] for curve in curves]))


def reliability_diagram(
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale = "linear",
    title: str = "",
    limits: Limits | None = None,
    histogram: ConfidenceHistogram | None = None,
    height: int = 420,
) -> go.Figure:
    """Accuracy against confidence in bins, with Wilson intervals and a histogram of the confidences beneath.

    Each dot carries the place of its bin in the curve's arrays in ``customdata[0]``, so that a page can turn a
    selected point into rows.

    Parameters
    ----------
    curve : the binned confidences; only non-empty bins are in it.
    style : of the method.
    scale : "logit" gives the crowded corner near 1 its room; dots beyond its ends are drawn open, at the end.
    title : heading, or empty; the margins stay the same.
    limits : ends of both axes as probabilities; by default those of :func:`common_limits` for this curve alone.
    histogram : of the confidences, best on the same scale; without it the bins' rows are spread evenly over each bin.
    """
    limits = limits or common_limits([curve], scale)
    fig = go.Figure()
    _draw_curve(fig, curve, style, scale, limits)
    _draw_histogram(fig, histogram, curve, style, scale, limits)
    quiet(fig, height, alt=describe_curve(curve, title), title=title, left=46)
    axis = probability_axis(scale, limits)
    across, up = ("confidence", "accuracy") if curve.target is None else ("probability", "frequency")
    fig.update_layout(
        xaxis={**axis, "anchor": "y2", "title_text": across, "constrain": "domain"},
        yaxis={**axis, "domain": [0.3, 1], "title_text": up, "scaleanchor": "x", "constrain": "domain",
               "constraintoward": "bottom"},
        yaxis2={"domain": [0, 0.2], "anchor": "x", "range": [0, 1.1], "visible": False, "fixedrange": True},
    )  # fmt: skip
    fig.add_annotation(
        text=f"┃ {up} {three_digits(curve.mean_accuracy)}   ┇ {across} {three_digits(curve.mean_confidence)}",
        x=0, xref="x domain", xanchor="left", y=1, yref="y2 domain", yanchor="bottom", showarrow=False,
        font={"size": 11},
    )  # fmt: skip
    return fig


def describe_curve(curve: ReliabilityCurve, title: str = "") -> str:
    """The curve in one sentence, for readers who cannot see it."""
    gap = curve.mean_confidence - curve.mean_accuracy
    word = "overconfident" if gap > 0 else "underconfident"
    return (
        f"Reliability diagram{' of ' + title if title else ''}: {curve.n:,} rows in {len(curve.count)} bins, mean"
        f" confidence {three_digits(curve.mean_confidence)}, accuracy {three_digits(curve.mean_accuracy)}, {word} by"
        f" {three_digits(abs(gap))}, calibration error {three_digits(curve.ece)}."
    )


def gap_diagram(curves: Sequence[tuple[str, ReliabilityCurve, Style]], title: str = "", height: int = 360) -> go.Figure:
    """Accuracy minus confidence over the ranks of the confidence, for several methods in one figure.

    Ranks (the share of rows with a lower confidence) give each row the same room, however crowded the confidences
    are. Below zero a method is overconfident.

    Parameters
    ----------
    curves : (title, curve, style) of each method.
    """
    fig = go.Figure()
    fig.add_hline(y=0, line={"color": GUIDE, "width": 1})
    ends, values = [], [0.02, -0.02]
    for name, curve, style in curves:
        rank = (np.cumsum(curve.count) - curve.count / 2) / curve.n
        gap, low, high = (part - curve.confidence for part in (curve.accuracy, curve.low, curve.high))
        fig.add_scatter(
            x=np.r_[rank, rank[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="lines", line_width=0,
            fillcolor=fade(style.color, 0.13), hoverinfo="skip",
        )  # fmt: skip
        fig.add_scatter(
            x=rank, y=gap, name=name, mode="lines+markers",
            line={"color": style.color, "dash": style.dash, "width": 2},
            marker={"color": style.color, "symbol": style.symbol, "size": 7},
            **_curve_columns(curve), hovertemplate=_HOVER.replace("%{text}", "") + f"<extra>{plain(name)}</extra>",
        )  # fmt: skip
        ends.append((name, float(gap[-1]), style.color))
        values += [*low, *high]
    span = min(values), max(values)
    longest = max((len(name) for name, _, _ in curves), default=0)
    summary = "; ".join(f"{name} {three_digits(curve.ece)}" for name, curve, _ in curves)
    quiet(fig, height, alt=f"Accuracy minus confidence over confidence ranks. Calibration errors: {summary}.",
          title=title, right=20 + 7 * min(longest, 24))  # fmt: skip
    label_line_ends(fig, ends, span, height - FRAME)
    fig.update_xaxes(range=[0, 1], title_text="rows by rising confidence", tickformat=".0%")
    fig.update_yaxes(range=span, title_text="accuracy − confidence", nticks=7)
    return fig


def _curve_columns(curve: ReliabilityCurve) -> dict[str, Any]:
    return carry(
        bin=np.arange(len(curve.count)), count=curve.count, mean_confidence=curve.confidence,
        accuracy=curve.accuracy, low=curve.low, high=curve.high,
    )  # fmt: skip


def _draw_curve(fig: go.Figure, curve: ReliabilityCurve, style: Style, scale: Scale, limits: Limits) -> None:
    x, y, low, high = (
        on_scale(part, scale, limits) for part in (curve.confidence, curve.accuracy, curve.low, curve.high)
    )
    ends = on_scale(np.array(limits), scale, limits)
    fig.add_scatter(x=ends, y=ends, mode="lines", line={"color": GUIDE, "dash": "dot", "width": 1.2}, hoverinfo="skip")
    fig.add_scatter(
        x=np.r_[x, x[::-1]], y=np.r_[y, x[::-1]], fill="toself", mode="lines", line_width=0,
        fillcolor=fade(style.color, 0.16), hoverinfo="skip",
    )  # fmt: skip
    outside = (
        (curve.confidence < limits[0])
        | (curve.confidence > limits[1])
        | (curve.accuracy < limits[0])
        | (curve.accuracy > limits[1])
    )
    fig.add_scatter(
        x=x, y=y, name="bins", mode="lines+markers", cliponaxis=False,
        line={"color": style.color, "dash": style.dash, "width": 1.6},
        marker={"color": style.color, "size": 8,
                "symbol": [style.symbol + "-open" if out else style.symbol for out in outside]},
        error_y={"type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low,
                 "color": style.color, "thickness": 1.4, "width": 0},
        text=["<br>drawn open: beyond the end of the axis" if out else "" for out in outside],
        **_curve_columns(curve), hovertemplate=_HOVER + "<extra></extra>",
    )  # fmt: skip


def _nominal_bins(curve: ReliabilityCurve) -> tuple[Floats, Floats]:
    """Edges and rows of all bins, those the curve leaves out with zero rows."""
    bins = np.searchsorted(curve.edges, curve.confidence, side="right") - 1
    counts = np.zeros(len(curve.edges) - 1)
    np.add.at(counts, np.clip(bins, 0, len(counts) - 1), curve.count)
    return curve.edges, counts


def _draw_histogram(
    fig: go.Figure,
    histogram: ConfidenceHistogram | None,
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale,
    limits: Limits,
) -> None:
    edges, counts = _nominal_bins(curve) if histogram is None else (confidence_edges(histogram), histogram.count)
    first, last = on_scale(np.array(limits), scale, limits)
    grid = np.linspace(first, last, _HISTOGRAM_CELLS + 1)
    cells = regrid(on_scale(edges, scale, limits), counts, grid)
    ends = from_scale(grid, scale)
    fig.add_bar(
        x=(grid[:-1] + grid[1:]) / 2, y=cells / max(cells.max(), 1), width=np.diff(grid) * 0.94, yaxis="y2",
        name="confidences", marker={"color": fade(style.color, 0.75), "line_width": 0},
        **carry(low=ends[:-1], high=ends[1:], count=cells),
        hovertemplate="about %{customdata[2]:,.0f} rows<br>from %{customdata[0]:.3r} to %{customdata[1]:.3r}"
        "<extra></extra>",
    )  # fmt: skip
    marks = (
        ("mean confidence", curve.mean_confidence, style.color, "dash"),
        ("accuracy", curve.mean_accuracy, NEUTRAL, "solid"),
    )
    for name, value, color, dash in marks:
        place = float(on_scale(np.array(value), scale, limits))
        fig.add_scatter(
            x=[place, place], y=[0, 1.1], yaxis="y2", name=name, mode="lines",
            line={"color": color, "dash": dash, "width": 2}, hovertemplate=f"{name} {value:.3g}<extra></extra>",
        )  # fmt: skip
