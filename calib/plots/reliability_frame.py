"""What diagrams of observed over predicted probabilities share: limits, square axes, diagonal, and rows beneath."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.reliability import ReliabilityCurve
from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats, sigmoid
from calib.plots.annotations import Counted, draw_counts, draw_line, write
from calib.plots.axes import (
    Scale,
    crowded,
    from_scale,
    on_scale,
    probability_axis,
    probability_limits,
    regrid,
)
from calib.plots.style import (
    DOTTED,
    NEUTRAL,
    Limits,
    Style,
    fade,
    label,
    quiet,
    set_layout,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.corp import CorpCurve
    from calib.diagnostics.histograms import ConfidenceHistogram

    Curve = ReliabilityCurve | CorpCurve

_CELLS = 50
"""As many as a histogram of confidences has: on an axis from 0 to 1, one value has one bar."""
_EDGE = fade("#FFFFFF", 0.6)
"""Around the lines of the means, which would not be seen on bars of their colour."""


def prefers_logit_scale(curve: ReliabilityCurve) -> bool:
    """Whether more than half of what is said exceeds 0.9 or is below 0.1, by the means of the bins it lies in."""
    return crowded(curve.confidence, curve.count)


def common_limits(
    curves: Sequence[Curve], scale: Scale = "linear", view: View = TOP_LABEL
) -> Limits:
    """Ends of the axes, as probabilities, that hold all curves, so that diagrams side by side agree.

    The linear axis of an event or of one class ends where the curves do, with the intervals of bins that hold two
    percent of the rows.
    """
    ends = [part for curve in curves for part in (curve.confidence, curve.accuracy)]
    binned = [curve for curve in curves if isinstance(curve, ReliabilityCurve)]
    large = [curve.high[curve.count >= 0.02 * curve.n] for curve in binned]
    rare = view.is_event or any(curve.target is not None for curve in binned)
    return probability_limits(
        np.concatenate([*ends, *(large if scale == "linear" else [])]), scale, rare=rare
    )


def said_axis(view: View) -> str:
    """Title of an axis of what is said: confidence, or P(event) with the event's name."""
    return f"P({label(view.event_name or 'event', 20)})" if view.is_event else view.said


def set_axes(
    fig: go.Figure, scale: Scale, limits: Limits, across: str, up: str, square: bool = True
) -> None:
    """Give both axes of probabilities their titles, above the rows; and one unit, unless they use all the width."""
    axis = probability_axis(scale, limits)
    stretched = ", log-odds scale" if scale == "logit" else ""
    one_unit = (
        {"scaleanchor": "x", "constrain": "domain", "constraintoward": "bottom"} if square else {}
    )
    set_layout(
        fig,
        xaxis={**axis, "anchor": "y2", "title_text": across + stretched, "constrain": "domain"},
        yaxis={**axis, "domain": [0.33, 1], "title_text": up, **one_unit},
    )


def draw_diagonal(fig: go.Figure, scale: Scale, limits: Limits) -> None:
    """Draw where the observed rate equals what is predicted."""
    ends = on_scale(np.array(limits), scale, limits)
    draw_line(fig, ends, ends, DOTTED, width=1.2)


def draw_rows(
    fig: go.Figure,
    edges: Floats,
    groups: Sequence[Counted],
    unit: str,
    scale: Scale,
    limits: Limits,
    **axis: Any,
) -> None:
    """Draw how many rows have which probability beneath the diagram; those beyond the axis are in its last cells.

    Parameters
    ----------
    edges : (m + 1,) probabilities between which the groups are counted.
    unit : what the probabilities are.
    """
    first, last = on_scale(np.array(limits), scale, limits)
    grid = np.linspace(first, last, _CELLS + 1)
    placed = on_scale(edges, scale, limits)
    cells = [
        Counted(one.name, regrid(placed, one.count, grid), one.color, one.told) for one in groups
    ]
    draw_counts(
        fig,
        grid,
        from_scale(grid, scale),
        cells,
        unit,
        "y2",
        named=len(groups) > 1,
        anchor="x",
        domain=[0, 0.23],
        **axis,
    )


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
    square: bool = True,
) -> None:
    """Give a figure the axes of a reliability diagram and the histogram beneath them.

    Parameters
    ----------
    curve : binned, for the means and, without a histogram, the counts.
    histogram : of the confidences.
    alt : one sentence that says what the figure shows.
    view : whose words are used; of an event the histogram has rows with it above and those without it below.
    square : whether both axes have one unit.
    """
    quiet(fig, height, alt=alt, title=title, left=58)
    across, up = (
        (said_axis(view), view.outcome) if curve.target is None else ("probability", "frequency")
    )
    said, outcome = view.marks if curve.target is None else (across, up)
    edges, counts = (
        _nominal_bins(curve) if histogram is None else (_edges_of(histogram), histogram.count)
    )
    groups = [Counted("confidences", counts, style.color, "rows")]
    if view.is_event and histogram is not None:
        groups = [
            Counted(view.right, histogram.right, style.color, f"rows {view.right}"),
            Counted(view.wrong, histogram.wrong, NEUTRAL, f"rows {view.wrong}"),
        ]
    draw_rows(fig, edges, groups, view.said, scale, limits)
    bars = [0 if len(groups) == 1 else -1.05, 1.05]  # the names of two groups stand above and below
    for name, value, look in (
        (view.mean_said, curve.mean_confidence, Style(style.color, dash="9px")),
        (view.outcome, curve.mean_accuracy, Style(NEUTRAL)),
    ):
        place = float(on_scale(np.array(value), scale, limits))
        told = {"hovertemplate": f"{name} {value:.3g}<extra></extra>"}
        edge = replace(look, color=_EDGE)
        draw_line(fig, [place, place], bars, edge, width=4, yaxis="y2")
        draw_line(fig, [place, place], bars, look, name, told, yaxis="y2")
    set_axes(fig, scale, limits, across, up, square)
    write(
        fig,
        f"┃ {outcome} {three_digits(curve.mean_accuracy)}   ┇ {said} {three_digits(curve.mean_confidence)}",
        0,
        1,
        size=11,
        xref="x domain",
        xanchor="left",
        yref="y2 domain",
        yanchor="bottom",
    )


def _edges_of(histogram: ConfidenceHistogram) -> Floats:
    """Edges as probabilities; those of the end bins reach 0 and 1, as the bins do."""
    if histogram.scale == "linear":
        return histogram.edges
    return np.r_[0.0, sigmoid(histogram.edges[1:-1]), 1.0]


def _nominal_bins(curve: ReliabilityCurve) -> tuple[Floats, Floats]:
    """Edges and rows of all bins, those the curve leaves out with zero rows."""
    bins = np.searchsorted(curve.edges, curve.confidence, side="right") - 1
    counts = np.zeros(len(curve.edges) - 1)
    np.add.at(counts, np.clip(bins, 0, len(counts) - 1), curve.count)
    return curve.edges, counts
