"""Reliability diagrams in bins, smoothed, by isotonic regression (CORP), as gaps; and confidences before and now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.reliability import CorpCurve
from calib.diagnostics.smooth_reliability import SmoothCurve
from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats
from calib.plots.annotations import Half, carry, draw_mirrored, explain_open, fill_between, label_line_ends, whiskers
from calib.plots.axes import Scale, from_scale, logit_ticks, on_scale
from calib.plots.reliability_frame import (
    common_limits,
    draw_consistency,
    draw_diagonal,
    frame_diagram,
    shade_between,
)
from calib.plots.style import GUIDE, NEUTRAL, Limits, Style, fade, plain, quiet, set_layout, set_x, set_y, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ConfidenceHistogram, ReliabilityCurve
    from calib.diagnostics.smooth_reliability import ConsistencyBand

GAP_HEIGHT, WIDEST_MARGIN = 360, 20 + 7 * 24


def _words(curve: ReliabilityCurve, view: View) -> tuple[str, str]:
    """What is said of a row, and what it should equal on average."""
    return (view.said, view.outcome) if curve.target is None else ("probability", "frequency")


def _hover(curve: ReliabilityCurve, view: View) -> str:
    said, outcome = _words(curve, view)
    return (
        f"%{{customdata[1]:,d}} rows<br>mean {said} %{{customdata[2]:.3r}}<br>{outcome} %{{customdata[3]:.3r}}"
        " (%{customdata[4]:.3r} to %{customdata[5]:.3r})%{text}"
    )


def reliability_diagram(
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale = "linear",
    title: str = "",
    limits: Limits | None = None,
    histogram: ConfidenceHistogram | None = None,
    height: int = 420,
    band: ConsistencyBand | None = None,
    view: View = TOP_LABEL,
    line: SmoothCurve | CorpCurve | None = None,
) -> go.Figure:
    """Accuracy against confidence, in bins with Wilson intervals or as a line, over a histogram of the confidences.

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
    height : pixels.
    band : consistency band (95 %) of a calibrated model.
    view : whose words are used; of an event the histogram has rows with it above and those without it below.
    line : of the same rows, drawn in place of the bins: smoothed accuracy with its bootstrap band, which stops where
        few rows are near, or isotonic accuracy (CORP), level where rows are pooled and rising between.
    """
    limits = limits or common_limits([curve], scale)
    place = partial(on_scale, scale=scale, limits=limits)
    fig = go.Figure()
    if band is not None:
        draw_consistency(fig, band, scale, limits)
    elif isinstance(line, CorpCurve):
        x, y = place(line.confidence), place(line.accuracy)
        shade_between(fig, x, x, y, fade(style.color, 0.16))
    draw_diagonal(fig, scale, limits)
    if line is None:
        _draw_bins(fig, curve, style, place, limits, view)
    elif isinstance(line, SmoothCurve):
        _draw_smooth(fig, line, style, place, view, _words(curve, view))
    else:
        _draw_steps(fig, line, style, place, view, _words(curve, view))
    alt = _described(curve, line, f" of {title}" if title else "", view)
    frame_diagram(fig, curve, style, scale, limits, histogram, height, alt=alt, title=title, view=view)
    return fig


def gap_diagram(curves: Sequence[tuple[str, ReliabilityCurve, Style]], view: View = TOP_LABEL) -> go.Figure:
    """Confidence minus accuracy over the ranks of the confidence, for several methods in one figure.

    Ranks (the share of rows with a lower confidence) give each row the same room, however crowded the confidences
    are. Above zero a method is overconfident.

    Parameters
    ----------
    curves : (title, curve, style) of each method.
    view : whose words are used.
    """
    fig = go.Figure()
    fig.add_hline(y=0, line={"color": GUIDE, "width": 1})
    ends, values = [], [0.02, -0.02]
    for name, curve, style in curves:
        rank = (np.cumsum(curve.count) - curve.count / 2) / curve.n
        gap, low, high = (curve.confidence - part for part in (curve.accuracy, curve.high, curve.low))
        fill_between(fig, rank, low, high, fade(style.color, 0.13))
        fig.add_scatter(
            x=rank, y=gap, name=name, mode="lines+markers",
            line={"color": style.color, "dash": style.dash, "width": 2},
            marker={"color": style.color, "symbol": style.symbol, "size": 7},
            **_curve_columns(curve, view),
            hovertemplate=_hover(curve, view).replace("%{text}", "") + f"<extra>{plain(name)}</extra>",
        )  # fmt: skip
        ends.append((name, float(gap[-1]), style.color))
        values += [*low, *high]
    span = min(values), max(values)
    summary = "; ".join(f"{name} {three_digits(curve.ece)}" for name, curve, _ in curves)
    alt = f"{view.said.capitalize()} minus {view.outcome} over its ranks. ECE: {summary}."
    quiet(fig, GAP_HEIGHT, alt=alt)
    label_line_ends(fig, ends, span)
    set_layout(fig, margin_r=min(fig.layout.margin.r, WIDEST_MARGIN))
    set_x(fig, range=[0, 1], title_text=f"rows by rising {view.said}", tickformat=".0%")
    set_y(fig, range=span, title_text=f"{view.said} − {view.outcome}   {view.too_high} →", nticks=7)
    return fig


def _curve_columns(curve: ReliabilityCurve, view: View) -> dict[str, Any]:
    said, outcome = view.columns
    return carry(
        bin=np.arange(len(curve.count)), count=curve.count,
        **{said: curve.confidence, outcome: curve.accuracy}, low=curve.low, high=curve.high,
    )  # fmt: skip


Place = Callable[[Floats], Floats]
"""Where probabilities lie on the axes."""


def _draw_bins(fig: go.Figure, curve: ReliabilityCurve, style: Style, place: Place, limits: Limits, view: View) -> None:
    x, y, low, high = map(place, (curve.confidence, curve.accuracy, curve.low, curve.high))
    shade_between(fig, x, x, y, fade(style.color, 0.16))
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
        error_y=whiskers(y, low, high, style.color, 1.4),
        text=["<br>drawn open: beyond the end of the axis" if out else "" for out in outside],
        **_curve_columns(curve, view), hovertemplate=_hover(curve, view) + "<extra></extra>",
    )  # fmt: skip
    explain_open(fig, outside)


def _draw_smooth(
    fig: go.Figure, smooth: SmoothCurve, style: Style, place: Place, view: View, words: tuple[str, str]
) -> None:
    said, outcome = words
    x, y, low, high = map(place, (smooth.confidence, smooth.accuracy, smooth.low, smooth.high))
    shade_between(fig, x, low, high, fade(style.color, 0.2))
    fig.add_scatter(
        x=x, y=y, name="smooth", mode="lines" if len(x) > 1 else "markers", cliponaxis=False,
        line={"color": style.color, "dash": style.dash, "width": 2.2}, marker={"color": style.color, "size": 8},
        **carry(**{view.said: smooth.confidence, view.outcome: smooth.accuracy}, low=smooth.low, high=smooth.high),
        hovertemplate=f"{said} %{{customdata[0]:.3r}}<br>{outcome} %{{customdata[1]:.3r}}"
        " (%{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
    )  # fmt: skip


def _draw_steps(
    fig: go.Figure, steps: CorpCurve, style: Style, place: Place, view: View, words: tuple[str, str]
) -> None:
    said, outcome = words
    fig.add_scatter(
        x=place(steps.confidence), y=place(steps.accuracy), name="isotonic", mode="lines+markers", cliponaxis=False,
        line={"color": style.color, "dash": "solid", "width": 2},
        marker={"color": style.color, "size": 4},
        **carry(**{view.said: steps.confidence, view.outcome: steps.accuracy}, rows=steps.count),
        hovertemplate=f"%{{customdata[2]:,d}} rows of a step<br>{said} %{{customdata[0]:.3r}}"
        f"<br>{outcome} %{{customdata[1]:.3r}}<extra></extra>",
    )  # fmt: skip


def _described(curve: ReliabilityCurve, line: SmoothCurve | CorpCurve | None, of: str, view: View) -> str:
    """What is drawn in one sentence, for readers who cannot see it."""
    if isinstance(line, SmoothCurve):
        return (
            f"Smooth reliability diagram{of}: {line.n:,} rows under a kernel of width {three_digits(line.width)},"
            f" smooth calibration error {three_digits(line.error.value)}."
        )
    if isinstance(line, CorpCurve):
        parts = line.parts
        return (
            f"CORP reliability diagram{of}: isotonic regression of {line.n:,} rows, miscalibration"
            f" {three_digits(parts.miscalibration)}, discrimination {three_digits(parts.discrimination)},"
            f" uncertainty {three_digits(parts.uncertainty)} of the Brier score."
        )
    gap = curve.mean_confidence - curve.mean_accuracy
    return (
        f"Reliability diagram{of}: {curve.n:,} rows in {len(curve.count)} bins, {view.mean_said}"
        f" {three_digits(curve.mean_confidence)}, {view.outcome} {three_digits(curve.mean_accuracy)},"
        f" {view.over if gap > 0 else view.under} by {three_digits(abs(gap))}, ECE"
        f" {three_digits(curve.ece)}."
    )


def confidence_drift(
    before: ConfidenceHistogram, now: ConfidenceHistogram, style: Style, height: int = 260, view: View = TOP_LABEL
) -> go.Figure:
    """Share of rows over confidence: now upwards, before downwards on the same height, so that a shift breaks symmetry.

    Parameters
    ----------
    before, now : on the same grid in log-odds.
    style : of the method.
    view : for words.
    """
    edges = now.edges
    confidence = from_scale(edges, "logit")
    shares = [histogram.count / max(1, histogram.count.sum()) for histogram in (now, before)]
    tallest = max(float(share.max()) for share in shares) or 1.0
    middles = [float(h.count @ ((edges[:-1] + edges[1:]) / 2)) / max(1, h.count.sum()) for h in (before, now)]
    fig = go.Figure()
    alt = (
        f"{view.said.capitalize()}: its mean log-odds moved from {three_digits(middles[0])} before to"
        f" {three_digits(middles[1])} now."
    )
    quiet(fig, height, alt=alt, left=12)
    draw_mirrored(
        fig,
        edges,
        [
            Half(
                name,
                f"{name} ({int(histogram.count.sum()):,} rows)",
                share / tallest,
                color,
                carry(low=confidence[:-1], high=confidence[1:], share=share),
                f"{name}: %{{customdata[2]:.1%}} of rows<br>{view.said} %{{customdata[0]:.3r}} to"
                " %{customdata[1]:.3r}<extra></extra>",
            )
            for name, histogram, share, color in zip(
                ("now", "before"), (now, before), shares, (style.color, NEUTRAL), strict=True
            )
        ],
        reach=1.15,
    )
    held = np.flatnonzero(before.count + now.count)
    ends = float(edges[held[0]]), float(edges[held[-1] + 1])
    set_x(fig, title_text=view.said, range=list(ends), **logit_ticks(*ends))
    return fig
