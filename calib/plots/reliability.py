"""Reliability diagrams in bins and by isotonic regression (CORP)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation import SCORES
from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats
from calib.plots.annotations import (
    carry,
    draw_line,
    draw_marks,
    explain_open,
    fill_between,
    whiskers,
)
from calib.plots.axes import Scale, on_scale
from calib.plots.reliability_frame import common_limits, draw_diagonal, frame_diagram
from calib.plots.style import (
    DOTTED,
    NEUTRAL,
    Limits,
    Style,
    colored,
    fade,
    quiet,
    set_x,
    set_y,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.corp import ConsistencyBand, CorpCurve
    from calib.diagnostics.histograms import ConfidenceHistogram
    from calib.diagnostics.reliability import ReliabilityCurve

BEFORE_AFTER_HEIGHT = 440

Place = Callable[[Floats], Floats]
"""Where probabilities lie on the axes."""


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
    line: CorpCurve | None = None,
    square: bool = True,
    marked: tuple[float, float] | None = None,
) -> go.Figure:
    """Accuracy against confidence, in bins with Wilson intervals or as a line, over a histogram of the confidences.

    Each dot carries the place of its bin in the curve's arrays in ``customdata[0]``, so that a page can turn a
    selected point into rows.

    Parameters
    ----------
    curve : the binned confidences; only non-empty bins are in it.
    style : of the method.
    scale : "logit" gives crowded confidences their room; dots beyond its ends are drawn open, at the end.
    title : heading, or empty; the margins stay the same.
    limits : ends of both axes as probabilities; by default those of :func:`common_limits` for this curve alone.
    histogram : of the confidences, best on the same scale; without it the bins' rows are spread evenly over each bin.
    height : pixels.
    band : consistency band (95 %) of a calibrated model.
    view : whose words are used; of an event the histogram has rows with it above and those without it below.
    line : of the same rows, drawn in place of the bins: isotonic accuracy (CORP), level where rows
        are pooled and rising between.
    square : whether both axes have one unit; else the diagram takes all the width.
    marked : mean confidence and accuracy of rows that were chosen elsewhere, which get a ring.
    """
    limits = limits or common_limits([curve] if line is None else [curve, line], scale, view)
    place = partial(on_scale, scale=scale, limits=limits)
    fig = go.Figure()
    if band is not None:
        x, low, high = map(place, (band.confidence, band.low, band.high))
        fill_between(fig, x, low, high, fade(NEUTRAL, 0.22))
        told = carry(
            "calibrated: {low:.3r} to {high:.3r}",
            mean_confidence=band.confidence,
            low=band.low,
            high=band.high,
        )
        draw_line(fig, x, high, NO_LINE, "consistency band", told, width=0)
    elif line is not None:
        x = place(line.confidence)
        y = place(line.accuracy)
        fill_between(fig, x, x, y, fade(style.color, 0.16))
    draw_diagonal(fig, scale, limits)
    words = (view.said, view.outcome) if curve.target is None else ("probability", "frequency")
    if line is None:
        _draw_bins(fig, curve, style, place, limits, view, words)
    else:
        _draw_steps(fig, line, style, place, words)
    if marked is not None:
        x = place(np.array(marked[:1]))
        y = place(np.array(marked[1:]))
        told = carry(
            f"the rows chosen<br>mean {words[0]} {{x:.3r}}<br>{words[1]} {{y:.3r}}", x=x, y=y
        )
        draw_marks(
            fig,
            x,
            y,
            Style(style.color, "circle-open"),
            "the rows chosen",
            told,
            size=22,
            cliponaxis=False,
        )
    alt = _described(curve, line, f" of {title}" if title else "", view)
    frame_diagram(
        fig,
        curve,
        style,
        scale,
        limits,
        histogram,
        height,
        alt=alt,
        title=title,
        view=view,
        square=square,
    )
    return fig


NO_LINE = Style("rgba(0,0,0,0)")


def before_and_after(before: Floats, after: Floats, style: Style) -> go.Figure:
    """Observed rate over predicted risk of a model and of its calibrator in one small diagram.

    Parameters
    ----------
    before, after : (m, 2) mean predicted risk and observed rate of each bin, the same rows in both.
    style : of the calibrator.
    """
    fig = go.Figure()
    draw_line(fig, [0, 1], [0, 1], DOTTED, width=1.2)
    gap = np.abs(before[:, 0] - after[:, 0])
    named = int(np.where(before[:, 0] < 0.4, gap, 0).argmax())  # where there is room at both sides
    for curve, look, name, side in (
        (before, Style(NEUTRAL), "before", "left"),
        (after, style, "after", "right"),
    ):
        told = carry(
            f"{name}<br>predicted {{predicted:.2r}}<br>observed {{observed:.2r}}",
            predicted=curve[:, 0],
            observed=curve[:, 1],
        )
        draw_line(
            fig, curve[:, 0], curve[:, 1], Style(look.color), name, told, width=2.2, markers=8
        )
        x, y = curve[named]
        fig.add_annotation(
            x=x,
            y=y,
            text=f"<b>{colored(name, look.color)}</b>",
            showarrow=False,
            font_size=13,
            xanchor="right" if side == "left" else "left",
            xshift=-10 if side == "left" else 10,
            yshift=8 if side == "left" else -8,
        )
    worst = int(np.abs(before[:, 0] - before[:, 1]).argmax())
    alt = (
        f"Reliability before and after calibration: a predicted risk of {three_digits(before[worst, 0])} came true in"
        f" {three_digits(before[worst, 1])} of the cases; calibrated it is {three_digits(after[worst, 0])}."
    )
    quiet(fig, BEFORE_AFTER_HEIGHT, alt=alt)
    ticks = {"range": [0, 1.02], "tickformat": ".0%", "dtick": 0.2, "fixedrange": True}
    set_x(fig, title_text="what the model predicts", **ticks)
    set_y(fig, title_text="how often it happens", **ticks)
    return fig


def _told(curve: ReliabilityCurve, view: View, more: str, words: tuple[str, str]) -> dict[str, Any]:
    """The bins' numbers, and what a pointer is told of them."""
    said, outcome = view.mean_said, view.outcome
    hover = (
        f"{{count:,d}} rows<br>mean {words[0]} {{{said}:.3r}}<br>{words[1]} {{{outcome}:.3r}}"
        f" ({{low:.3r}} to {{high:.3r}})<br>{more}"
    )
    return carry(
        hover,
        bin=np.arange(len(curve.count)),
        count=curve.count,
        **{said: curve.confidence, outcome: curve.accuracy},
        low=curve.low,
        high=curve.high,
    )


def _draw_bins(
    fig: go.Figure,
    curve: ReliabilityCurve,
    style: Style,
    place: Place,
    limits: Limits,
    view: View,
    words: tuple[str, str],
) -> None:
    x, y, low, high = map(place, (curve.confidence, curve.accuracy, curve.low, curve.high))
    outside = np.any(
        [(part < limits[0]) | (part > limits[1]) for part in (curve.confidence, curve.accuracy)],
        axis=0,
    )
    inside = np.where(outside, np.nan, y)
    fill_between(fig, x, x, inside, fade(style.color, 0.16))
    draw_line(fig, x, inside, style, width=1.6)
    draw_marks(
        fig,
        x,
        y,
        style,
        "bins",
        _told(curve, view, "%{text}", words),
        size=8,
        cliponaxis=False,
        symbol=[style.symbol + "-open" if out else style.symbol for out in outside],
        error_y=whiskers(y, low, high, style.color, 1.4),
        text=["drawn open: beyond the end of the axis" if out else "" for out in outside],
    )
    explain_open(fig, outside, curve.accuracy)


def _draw_steps(
    fig: go.Figure, steps: CorpCurve, style: Style, place: Place, words: tuple[str, str]
) -> None:
    said, outcome = words
    told = carry(
        f"{{rows:,d}} rows of a step<br>{said} {{{said}:.3r}}<br>{outcome} {{{outcome}:.3r}}",
        **{said: steps.confidence, outcome: steps.accuracy},
        rows=steps.count,
    )
    x = place(steps.confidence)
    y = place(steps.accuracy)
    draw_line(fig, x, y, Style(style.color), "isotonic", told, markers=4, cliponaxis=False)


def _described(curve: ReliabilityCurve, line: CorpCurve | None, of: str, view: View) -> str:
    """What is drawn in one sentence, for readers who cannot see it."""
    if line is not None:
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
        f" {view.over if gap > 0 else view.under} by {three_digits(abs(gap))}, {SCORES['ECE'].seen(view).title}"
        f" {three_digits(curve.ece)}."
    )
