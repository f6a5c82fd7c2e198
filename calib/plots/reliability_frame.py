"""The frame of reliability diagrams (axes, diagonal, band, histogram), and small diagrams side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats
from calib.plots.annotations import carry, fill_between, write
from calib.plots.axes import (
    PROBABILITY_ENDS,
    Scale,
    confidence_edges,
    from_scale,
    logit_ends,
    on_scale,
    probability_axis,
    regrid,
)
from calib.plots.style import (
    GUIDE,
    NEUTRAL,
    Limits,
    Style,
    fade,
    plain,
    quiet,
    set_layout,
    shorten,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ConfidenceHistogram, ReliabilityCurve
    from calib.diagnostics.smooth_reliability import ConsistencyBand


_HISTOGRAM_CELLS = 40
_LONGEST_NAME = 20
_ENDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Where the linear axis of a rare event ends, if not at 1."""


def prefers_logit_scale(curve: ReliabilityCurve) -> bool:
    """Whether more than half of the confidences exceed 0.9, by the means of the bins they lie in."""
    return bool(curve.count[curve.confidence > 0.9].sum() > 0.5 * curve.n)


def common_limits(curves: Sequence[ReliabilityCurve], scale: Scale = "linear", view: View = TOP_LABEL) -> Limits:
    """Ends of the axes, as probabilities, that suit all curves, so that diagrams side by side agree.

    The axis of a rare event ends where the bins do, with the intervals of those that hold two percent of the rows.
    """
    if scale == "linear":
        highest = max(map(_highest, curves)) if view.is_event else 1.0
        return 0.0, next((end for end in _ENDS if highest <= end), PROBABILITY_ENDS[1])
    return logit_ends(np.concatenate([np.r_[curve.confidence, curve.accuracy] for curve in curves]))


def _highest(curve: ReliabilityCurve) -> float:
    large = curve.count >= 0.02 * curve.n
    return float(np.max(np.r_[curve.confidence, curve.accuracy, curve.high[large]]))


def said_axis(view: View) -> str:
    """Title of an axis of what is said: confidence, or P(event) with the event's name."""
    return f"P({plain(shorten(view.event_name, _LONGEST_NAME))})" if view.is_event else view.said


def frame_diagram(
    fig: go.Figure,
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale,
    limits: Limits,
    histogram: ConfidenceHistogram | None,
    height: int,
    *,
    alt: str,
    title: str = "",
    view: View = TOP_LABEL,
) -> None:
    """Give a figure the axes of a reliability diagram and the histogram beneath them.

    Parameters
    ----------
    curve : binned, for the means and, without a histogram, the counts.
    histogram : of the confidences.
    alt : one sentence that says what the figure shows.
    view : whose words are used; of an event the histogram has rows with it above and those without it below.
    """
    counts = _draw_histogram(fig, histogram, curve, style, scale, limits, view)
    quiet(fig, height, alt=alt, title=title, left=58)
    across, up = (said_axis(view), view.outcome) if curve.target is None else ("probability", "frequency")
    said, outcome = view.marks if curve.target is None else (across, up)
    by_outcome = view.is_event and histogram is not None
    set_square_axes(
        fig, scale, limits, across, up, domain=[0, 0.2], range=[-1.1 if by_outcome else 0, 1.1], tickfont_size=10,
        tickvals=list(counts), ticktext=[f"{count:,}" for count in counts.values()],
    )  # fmt: skip
    write(
        fig, f"┃ {outcome} {three_digits(curve.mean_accuracy)}   ┇ {said} {three_digits(curve.mean_confidence)}", 0, 1,
        size=11, xref="x domain", xanchor="left", yref="y2 domain", yanchor="bottom",
    )  # fmt: skip


def set_square_axes(fig: go.Figure, scale: Scale, limits: Limits, across: str, up: str, **rows: Any) -> None:
    """Give both axes of probabilities one unit and their titles; ``rows`` are properties of the axis beneath."""
    axis = probability_axis(scale, limits)
    stretched = ", log-odds scale" if scale == "logit" else ""
    set_layout(
        fig, xaxis={**axis, "anchor": "y2", "title_text": across + stretched, "constrain": "domain"},
        yaxis={**axis, "domain": [0.3, 1], "title_text": up, "scaleanchor": "x", "constrain": "domain",
               "constraintoward": "bottom"},
        yaxis2={"anchor": "x", "fixedrange": True, "showgrid": False, "zeroline": False,
                "title": {"text": "rows", "font_size": 12, "standoff": 4}, **rows},
    )  # fmt: skip


def draw_diagonal(fig: go.Figure, scale: Scale, limits: Limits) -> None:
    """Draw where confidence equals accuracy."""
    ends = on_scale(np.array(limits), scale, limits)
    fig.add_scatter(x=ends, y=ends, mode="lines", line={"color": GUIDE, "dash": "dot", "width": 1.2}, hoverinfo="skip")


def draw_consistency(fig: go.Figure, band: ConsistencyBand, scale: Scale, limits: Limits) -> None:
    """Draw the consistency band of a calibrated model in grey; its numbers go into the table."""
    x, low, high = (on_scale(part, scale, limits) for part in (band.confidence, band.low, band.high))
    shade_between(fig, x, low, high, fade(NEUTRAL, 0.22))
    known = np.isfinite(band.low)
    fig.add_scatter(
        x=x[known], y=high[known], mode="lines", line_width=0, hoverinfo="skip", name="consistency band",
        **carry(mean_confidence=band.confidence[known], low=band.low[known], high=band.high[known]),
    )  # fmt: skip


def shade_between(fig: go.Figure, x: Floats, low: Floats, high: Floats, color: str) -> None:
    """Fill between two lines, all of shape (m,), in one polygon for each stretch without NaN."""
    known = np.isfinite(low) & np.isfinite(high)
    for part in np.split(np.arange(len(x)), np.flatnonzero(np.diff(known)) + 1):
        if len(part) and known[part[0]]:
            fill_between(fig, x[part], low[part], high[part], color)


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
    view: View,
) -> dict[float, int]:
    """Draw the bars, each group on a height of its own; returns counts by the height at which they stand."""
    edges, counts = _nominal_bins(curve) if histogram is None else (confidence_edges(histogram), histogram.count)
    first, last = on_scale(np.array(limits), scale, limits)
    grid = np.linspace(first, last, _HISTOGRAM_CELLS + 1)
    groups = [("confidences", "rows", counts, 1, style.color)]
    if view.is_event and histogram is not None:
        groups = [
            (view.right, f"rows {view.right}", histogram.right, 1, style.color),
            (view.wrong, f"rows {view.wrong}", histogram.wrong, -1, NEUTRAL),
        ]
    ticks = {0.0: 0}
    for name, rows, held, side, color in groups:
        cells = regrid(on_scale(edges, scale, limits), held, grid)
        ticks[side * _round_count(cells.max()) / max(cells.max(), 1)] = _round_count(cells.max())
        draw_rows(fig, grid, side * cells, name, f"{rows}<br>from", scale, color)
        if view.is_event and histogram is not None:
            name_rows(fig, name, cells, side, size=10)
    floor = -1.1 if len(groups) > 1 else 0
    marks = (
        (view.mean_said, curve.mean_confidence, style.color, "dash"),
        (view.outcome, curve.mean_accuracy, NEUTRAL, "solid"),
    )
    for name, value, color, dash in marks:
        place = float(on_scale(np.array(value), scale, limits))
        fig.add_scatter(
            x=[place, place], y=[floor, 1.1], yaxis="y2", name=name, mode="lines",
            line={"color": color, "dash": dash, "width": 2}, hovertemplate=f"{name} {value:.3g}<extra></extra>",
        )  # fmt: skip
    return ticks


def draw_rows(fig: go.Figure, grid: Floats, cells: Floats, name: str, told: str, scale: Scale, color: str) -> None:
    """Draw counts between places (m + 1,) as bars on "y2", negative ones downwards, each group on a height of its own.

    ``told`` are the words between the count and the two probabilities when a pointer is there.
    """
    ends, counts = from_scale(grid, scale), np.abs(cells)
    fig.add_bar(
        x=(grid[:-1] + grid[1:]) / 2, y=cells / max(counts.max(), 1), width=np.diff(grid) * 0.94, yaxis="y2", name=name,
        marker={"color": color, "line_width": 0}, **carry(low=ends[:-1], high=ends[1:], count=counts),
        hovertemplate=f"about %{{customdata[2]:,.0f}} {told} %{{customdata[0]:.3r}} to %{{customdata[1]:.3r}}"
        "<extra></extra>",
    )  # fmt: skip


def name_rows(fig: go.Figure, name: str, cells: Floats, side: int, size: int) -> None:
    """Write what a group of bars is, in the half with fewer of its rows, beside the last cell.

    That cell also holds all that lies beyond the axis, so that its bar can be as tall as any.
    """
    to_right = cells[: len(cells) // 2].sum() > cells[len(cells) // 2 :].sum()
    beside = 1.5 / len(cells)
    write(fig, name, 1 - beside if to_right else beside, max(side, 0), size=size, xref="x domain", yref="y2 domain",
          xanchor="right" if to_right else "left", yanchor="top" if side > 0 else "bottom")  # fmt: skip


def _round_count(most: float) -> int:
    """The largest of 1, 2, 5, 10, 20, ... that is not above ``most``, at least 1."""
    power = 10 ** int(np.log10(max(most, 1)))
    return max(step * power for step in (1, 2, 5) if step * power <= max(most, 1))
