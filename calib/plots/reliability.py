"""Reliability diagrams: the observed rate over what is predicted, in a square, with the rows beneath."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.reliability import COUNT_EDGES, DiagramParts
from calib.evaluation import SCORES
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import brief, percent
from calib.numerics import Floats, Ints, log_odds_of
from calib.plots.annotations import (
    COUNT_AXIS,
    carry,
    draw_line,
    draw_marks,
    fill_between,
    whiskers,
    write,
)
from calib.plots.axes import (
    LEAST,
    NARROWEST,
    Scale,
    from_scale,
    on_scale,
    probability_axis,
    probability_limits,
    regrid,
)
from calib.plots.lines import Curve, draw_curves, line_chart
from calib.plots.style import (
    DOTTED,
    FRAME,
    NEUTRAL,
    TITLE_LETTER,
    Limits,
    Style,
    fade,
    key_entry,
    label,
    quiet,
    set_layout,
    shorten,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ConsistencyBand, CorpCurve, ReliabilityCurve

SIDE = 520
"""Pixels of a diagram's width, of which its square has all but the margins."""
BEFORE_AFTER_HEIGHT = 440
RARE = 0.02
"""Observed rate below which an event's diagram has axes of log-odds."""
_LEFT, _RIGHT = 58, 22
MARGINS = _LEFT + _RIGHT
"""Pixels of a diagram's width beside its square."""
_ROWS_PIXELS = 96
_GAP_PIXELS = 48
_CELLS = 50
"""On an axis from 0 to 1 one value has one bar."""
_LARGE = 0.02
"""Share of the rows from which a bin's interval lies on the axis in full."""
_TAIL = 0.025
"""Share of the rows at either end that the axis may leave out; their number stands beneath the histogram."""
_NAMED = 400
"""Pixels of a square from which there is room for the numbers of rows."""


def usual_scale(curve: ReliabilityCurve, view: View) -> Scale:
    """Log-odds for a rare event; linear otherwise."""
    return "logit" if view.is_event and curve.mean_accuracy < RARE else "linear"


def common_limits(diagrams: Sequence[DiagramParts], scale: Scale = "linear") -> Limits:
    """Ends of both axes, as probabilities, that contain the dots of all diagrams and 95 % of the rows.

    The intervals of bins with two percent of the rows are contained as well.
    """
    ends = []
    for parts in diagrams:
        curve = parts.curve
        large = curve.count >= _LARGE * curve.n
        low = curve.low[large] if scale == "linear" else np.empty(0)
        ends += [curve.confidence, curve.accuracy, low, curve.high[large], _most_rows(parts.rows)]
    return probability_limits(np.concatenate(ends), scale)


def _most_rows(rows: Ints) -> Floats:
    """Probabilities between which all rows but a small share at either end lie."""
    upto = np.cumsum(rows)
    first = int(np.searchsorted(upto, _TAIL * upto[-1], side="right"))
    last = int(np.searchsorted(upto, (1 - _TAIL) * upto[-1]))
    return np.array([COUNT_EDGES[first], COUNT_EDGES[last + 1]])


def axis_title(view: View) -> str:
    """Title of an axis of predicted probabilities: confidence, or P(event) with the event's name."""
    return (
        f"P({label(view.event_name or 'event', 20)})"
        if view.is_event
        else view.wording.predicted_label
    )


def diagram_height(side: int) -> int:
    """Pixels of the height of a diagram whose width is ``side``."""
    return side - MARGINS + _GAP_PIXELS + _ROWS_PIXELS + FRAME


def reliability_diagram(
    parts: DiagramParts,
    style: Style,
    *,
    view: View = TOP_LABEL,
    behind: DiagramParts | None = None,
    scale: Scale = "linear",
    limits: Limits | None = None,
    title: str = "",
    side: int = SIDE,
    band: bool = True,
    marked: tuple[float, float] | None = None,
) -> go.Figure:
    """Draw accuracy against confidence in a square, and a histogram of the rows beneath it.

    Each dot carries the number of its bin in ``customdata[0]``, by which a page finds its rows.

    Parameters
    ----------
    parts : of :func:`calib.diagnostics.reliability.diagram_parts`.
    style : of the method.
    view : names of the axes.
    behind : of the raw model, drawn in grey behind the method.
    scale : "linear" or "logit"; on log-odds a rate of 0 or 1 stands at the end of the axis.
    limits : ends of both axes as probabilities; by default those of :func:`common_limits`.
    title : heading, or empty; the margins stay the same.
    side : width in pixels at which the diagram is square.
    band : draw the consistency band.
    marked : mean confidence and accuracy of selected rows, drawn as a ring.
    """
    curve = parts.curve
    drawn = [parts] if behind is None else [behind, parts]
    wording = view.wording
    names = ("probability", "frequency")
    across, up = names
    if curve.target is None:
        names = wording.predicted_label, wording.observed_label
        across, up = axis_title(view), names[1]
    fig = go.Figure()
    square = Square(fig, scale, limits or common_limits(drawn, scale), *names)
    alt = _describe(curve, f" of {title}" if title else "", view)
    heading = shorten(title, int((side - _LEFT) / TITLE_LETTER))
    quiet(fig, diagram_height(side), alt=alt, title=heading, left=_LEFT, right=_RIGHT)
    if band:
        square.draw_band(parts.band)
    square.draw_diagonal()
    if behind is not None:
        grey = Style(NEUTRAL)
        square.draw_isotonic(behind.line, grey, "raw, isotonic", 1.2)
        square.draw_dots(behind.curve, grey, "raw", 6)
    square.draw_isotonic(parts.line, style, "isotonic", 2)
    square.draw_dots(curve, style, "bins", 9)
    if marked is not None:
        square.draw_ring(marked, style)
    group = wording.positive_label if curve.target is None else "of the class"
    beyond = square.draw_rows(COUNT_EDGES, parts.rows, parts.right, style, group)
    square.draw_means(curve, style)
    square.set_axes(across, up)
    wide = side - MARGINS >= _NAMED
    key = [key_entry("●", "raw model", NEUTRAL)] if behind is not None else []
    if wide:
        key += [key_entry("━", "isotonic", style.color)]
        key += [key_entry("▒", "95 % of calibrated models", NEUTRAL)] if band else []
    _write_above(fig, "   ".join(key), "y", 4)
    predicted, observed = ("mean " + names[0], names[1]) if wide else ("mean", "observed")
    apart = "   " if wide else "<br>"
    means = f"┃ {observed} {percent(curve.mean_accuracy)}{apart}┇ {predicted} {percent(curve.mean_confidence)}"
    _write_above(fig, means, "y2", 0)
    if wide:
        counts = f"{int(parts.rows.sum()):,} rows, {int(parts.right.sum()):,} {group}"
        _write_above(fig, f"{counts}; {beyond:,} beyond the axis" if beyond else counts, "y2", 14)
    return fig


def explain_diagram(view: View, parts: DiagramParts | None = None) -> str:
    """Explain a reliability diagram; with its parts also the terms of its Brier score."""
    text = (
        f"{view.wording.explain_dots()} The grey band holds 95\u00a0% of the dots of a calibrated model. The line is "
        "isotonic regression (CORP), without bins; its outermost steps rest on few predictions. "
        f"{view.wording.explain_rows()}"
    )
    if parts is None:
        return text
    terms = parts.line.parts
    return (
        f"{text} Its Brier score of {brief(terms.score)} = miscalibration {brief(terms.miscalibration)} − "
        f"discrimination {brief(terms.discrimination)} + uncertainty {brief(terms.uncertainty)}."
    )


@dataclass(frozen=True)
class Square:
    """Axes of predicted against observed probabilities, with a histogram of the rows beneath.

    Attributes
    ----------
    fig : framed by :func:`calib.plots.style.quiet`.
    scale : "linear" or "logit".
    limits : ends of both axes, as probabilities.
    predicted, observed : names of both in hovers and tables.
    """

    fig: go.Figure
    scale: Scale
    limits: Limits
    predicted: str
    observed: str

    def place(self, probs: Floats) -> Floats:
        """Places of probabilities on either axis."""
        return on_scale(probs, self.scale, self.limits)

    def draw_diagonal(self) -> None:
        """Draw where the observed rate equals what is predicted."""
        ends = self.place(np.array(self.limits))
        draw_line(self.fig, ends, ends, DOTTED, width=1.2)

    def set_axes(self, across: str, up: str) -> None:
        """Give both axes one unit and their titles, above the histogram of rows."""
        pixels = self.fig.layout.height - FRAME - _ROWS_PIXELS - _GAP_PIXELS
        axis = probability_axis(self.scale, self.limits, pixels=min(pixels, NARROWEST))
        if self.scale == "linear":
            narrow = self.limits[1] - self.limits[0] <= 0.02
            axis["tickformat"] = ".1%" if narrow else ".0%"
        stretched = ", log-odds scale" if self.scale == "logit" else ""
        square = {"scaleanchor": "x", "constrain": "domain", "constraintoward": "bottom"}
        bottom = self._share(_ROWS_PIXELS + _GAP_PIXELS)
        beneath = {"anchor": "y2", "constrain": "domain", "title_text": across + stretched}
        above = {"domain": [bottom, 1], "title_text": up}
        set_layout(self.fig, xaxis=axis | beneath, yaxis=axis | above | square)

    def _share(self, pixels: float) -> float:
        """Pixels as a share of the height of the plot."""
        return pixels / (self.fig.layout.height - FRAME)

    def draw_rows(
        self, edges: Floats, rows: Ints | Floats, right: Ints | Floats, style: Style, group: str
    ) -> int:
        """Draw a histogram of all rows and of a group of them, both on one square-root scale.

        Parameters
        ----------
        edges : (m + 1,) increasing probabilities between which rows are counted.
        rows, right : (m,) counts of all rows and of the group.
        style : of the method.
        group : name of the group, "with the event".

        Returns
        -------
        int
            Number of rows beyond the ends of the axis, which are not drawn.
        """
        low, high = self.place(np.array(self.limits))
        grid = np.linspace(low, high, _CELLS + 1)
        places = edges if self.scale == "linear" else log_odds_of(edges, LEAST / 1000)
        clipped = np.clip(places, grid[0], grid[-1])
        inside = np.diff(clipped) / np.diff(places)
        ends = from_scale(grid, self.scale)
        most = 1.0
        colors = (
            {"color": fade(NEUTRAL, 0.25), "line": {"color": NEUTRAL, "width": 0.8}},
            {"color": style.color, "line_width": 0},
        )
        for name, counts, marker in zip(("rows", group), (rows, right), colors, strict=True):
            cells = regrid(clipped, counts * inside, grid)
            most = max(most, float(cells.max(initial=0)))
            bars = {"x": (grid[:-1] + grid[1:]) / 2, "y": np.sqrt(cells), "width": np.diff(grid)}
            kind = "rows" if name == "rows" else f"rows {name}"
            hover = f"{{rows:,.0f}} {kind}<br>{{low:.3r}} to {{high:.3r}}"
            carried = carry(hover, low=ends[:-1], high=ends[1:], rows=cells)
            self.fig.add_bar(name=name, yaxis="y2", marker=marker, **bars, **carried)
        tick = 10 ** int(np.log10(most))
        # None at 0, which would touch the horizontal axis's first tick.
        ticks = [tick, *([tick // 10] if tick >= 100 else [])]
        axis = {
            "domain": [0, self._share(_ROWS_PIXELS)],
            "anchor": "x",
            "range": [0, 1.04 * np.sqrt(most)],
            "tickvals": np.sqrt(ticks).tolist(),
            "ticktext": [f"{count:,}" for count in ticks],
            **COUNT_AXIS,
        }
        set_layout(self.fig, yaxis2=axis)
        return round(float(rows @ (1 - inside)))

    def draw_band(self, band: ConsistencyBand) -> None:
        """Draw the consistency band, with its numbers where a pointer is."""
        x, low, high = map(self.place, (band.confidence, band.low, band.high))
        fill_between(self.fig, x, low, high, fade(NEUTRAL, 0.22))
        columns = {"mean_confidence": band.confidence, "low": band.low, "high": band.high}
        hover = carry("calibrated: {low:.3r} to {high:.3r}", **columns)
        unseen = Style("rgba(0,0,0,0)")
        draw_line(self.fig, x, high, unseen, "consistency band", hover, width=0)

    def draw_isotonic(self, line: CorpCurve, style: Style, trace: str, width: float) -> None:
        """Draw the isotonic curve where it lies between the limits."""
        x, y = line.confidence, line.accuracy
        low, high = self.limits
        inside = (x >= low) & (x <= high) & (y >= low) & (y <= high)
        places = self.place(x), np.where(inside, self.place(y), np.nan)
        more = {"rows": line.count}
        curve = Curve(trace, Style(style.color), x, y, more=more, at=places, width=width)
        hover = f"{self.predicted} {{{self.predicted}:.3r}}<br>{{rows:,d}} rows of a step"
        draw_curves(self.fig, [curve], (self.predicted, self.observed), hover=hover)

    def _hover(self, predicted: str) -> str:
        """Lines of a hover with both means."""
        return f"<br>{predicted} {{{predicted}:.3r}}<br>{self.observed} {{{self.observed}:.3r}}"

    def draw_dots(self, curve: ReliabilityCurve, style: Style, trace: str, size: int) -> None:
        """Draw the bins with their intervals."""
        predicted = f"mean {self.predicted}"
        ends = curve.confidence, curve.accuracy, curve.low, curve.high
        x, y, low, high = map(self.place, ends)
        hover = carry(
            f"{{count:,d}} rows{self._hover(predicted)} ({{low:.3r}} to {{high:.3r}})",
            bin=np.arange(len(curve.count)),
            count=curve.count,
            **{predicted: curve.confidence, self.observed: curve.accuracy},
            low=curve.low,
            high=curve.high,
        )
        bars = whiskers(y, low, high, style.color, 1.6 if trace == "bins" else 1.0)
        more = {"size": size, "cliponaxis": False, "error_y": bars}
        draw_marks(self.fig, x, y, style, trace, hover, **more)

    def draw_ring(self, marked: tuple[float, float], style: Style) -> None:
        """Mark the means of selected rows."""
        x, y = (np.array([value]) for value in marked)
        labels = f"mean {self.predicted} {{x:.3r}}<br>{self.observed} {{y:.3r}}"
        hover = carry(f"selected rows<br>{labels}", x=x, y=y)
        ring = Style(style.color, "circle-open")
        more = {"size": 22, "cliponaxis": False}
        draw_marks(self.fig, self.place(x), self.place(y), ring, "selected rows", hover, **more)

    def draw_means(self, curve: ReliabilityCurve, style: Style) -> None:
        """Draw the means of all rows on the histogram: predicted dashed, observed solid."""
        top = self.fig.layout.yaxis2.range[1]
        for name, value, look in (
            (f"mean {self.predicted}", curve.mean_confidence, Style(style.color, dash="4px")),
            (self.observed, curve.mean_accuracy, Style(style.color)),
        ):
            line = [float(self.place(np.array(value)))] * 2, [0, top]
            hover = {"hovertemplate": f"{name} {value:.3g}<extra></extra>"}
            edge = Style(fade("#FFFFFF", 0.7), dash=look.dash)
            draw_line(self.fig, *line, edge, width=4, yaxis="y2")
            draw_line(self.fig, *line, look, name, hover, yaxis="y2")


def _write_above(fig: go.Figure, text: str, axis: str, shift: int) -> None:
    place = {"xref": "x domain", "xanchor": "left", "yref": f"{axis} domain"}
    write(fig, text, 0, 1, size=11, yanchor="bottom", yshift=shift, **place)


def _describe(curve: ReliabilityCurve, of: str, view: View) -> str:
    """Text alternative of a diagram."""
    gap = curve.mean_confidence - curve.mean_accuracy
    means = view.wording.describe_means(curve.mean_confidence, curve.mean_accuracy, three_digits)
    return (
        f"Reliability diagram{of}: {curve.n:,} rows in {len(curve.count)} bins, {means},"
        f" too {'high' if gap > 0 else 'low'} by {three_digits(abs(gap))}, {SCORES['ECE'].seen(view).title}"
        f" {three_digits(curve.ece)}."
    )


def before_and_after(before: Floats, after: Floats, style: Style) -> go.Figure:
    """Observed rate over predicted risk of a model and of its calibrator in one small diagram.

    Parameters
    ----------
    before, after : (m, 2) mean predicted risk and observed rate of each bin, the same rows in both.
    style : of the calibrator.
    """
    curves = [
        Curve(name, Style(color), *bins.T)
        for name, color, bins in (("before", NEUTRAL, before), ("after", style.color, after))
    ]
    ticks = {"range": (-0.02, 1.02), "tickformat": ".0%", "dtick": 0.2, "fixedrange": True}
    worst = int(np.abs(before[:, 0] - before[:, 1]).argmax())
    risk, rate, calibrated = map(three_digits, (*before[worst], after[worst, 0]))
    fig = line_chart(
        curves,
        ("predicted", "observed"),
        {**ticks, "title_text": "what the model predicts"},
        {**ticks, "title_text": "how often it happens"},
        "",
        f"Reliability before and after calibration: of a predicted risk of {risk}, {rate} came true; calibrated it "
        f"is {calibrated}.",
        height=BEFORE_AFTER_HEIGHT,
    )
    draw_line(fig, [0, 1], [0, 1], DOTTED, width=1.2)
    return fig
