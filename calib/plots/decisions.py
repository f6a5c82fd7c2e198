"""Figures of decisions: a threshold to drag, net benefit, sizes of prediction sets, and error against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import View
from calib.numerics import Floats, Ints
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_line,
    draw_marks,
    write,
)
from calib.plots.axes import Scale, from_scale, logit_ticks, on_scale
from calib.plots.lines import Curve, describe_ends, line_chart
from calib.plots.reliability import axis_title
from calib.plots.style import (
    DOTTED,
    GUIDE,
    NEUTRAL,
    Style,
    fade,
    join_named,
    key_entry,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    show_legend,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.histograms import ThresholdCounts
    from calib.diagnostics.risk_coverage import RiskCoverage
    from calib.metrics.decision_curve import NetBenefit


def decision_curves(
    methods: Sequence[tuple[str, NetBenefit, Style]], cut: float | None = None, height: int = 380
) -> go.Figure:
    """Net benefit of each method; higher is better, and a method is of use where it is above both references.

    Parameters
    ----------
    methods : (title, net benefit at the same thresholds, style); the 95 % band is that of the last one.
    cut : threshold that a vertical line marks.
    """
    last = methods[-1][1]
    thresholds, treat_all = last.thresholds, last.treat_all.value
    curves = []
    for name, benefit, style in methods:
        model = benefit.model
        more = {"all": treat_all, "avoided": benefit.avoided.value}
        band = model.low, model.high
        filled = benefit is last
        curves.append(Curve(name, style, thresholds, model.value, band, more, filled))
    values = np.concatenate([curve.y for curve in curves])
    top = 1.15 * max(float(values.max()), float(last.event_rate.value)) or 1.0
    floor = min(-0.15 * top, 1.05 * float(values.min()))
    inside = (treat_all >= floor) & (treat_all <= top)
    if inside.any():  # it may lie below all that is drawn, where events are rare
        line = thresholds[inside], treat_all[inside]
        curves.insert(0, Curve("act on all", DOTTED, *line, more={"all": line[1]}))
    fig = line_chart(
        curves,
        ("threshold", "benefit"),
        {
            "tickformat": ".0%",
            "range": [0, max(float(thresholds[-1]), cut or 0.0)],
            "title_text": "threshold: act where the probability is at least this",
        },
        {"range": (floor, top), "title_text": "net benefit per case"},
        "Net benefit",
        f"Net benefit at thresholds from {thresholds[0]:.1%} to {thresholds[-1]:.1%}: {describe_ends(curves)}.",
        hover="threshold {threshold:.1%}<br>acting on all {all:.4f}",
        markers=0,
        height=height,
    )
    fig.add_hline(y=0.0, line={"color": GUIDE, "width": 1})
    if cut is not None:
        cut_line = {"color": GUIDE, "width": 1}
        fig.add_vline(cut, line=cut_line, annotation_text=f"threshold {100 * cut:.3g} %")
    return fig


SIZES_HEIGHT, MOST_BARS = 330, 12
"""Pixels, and how many sizes have a bar of their own; larger sets share the last one."""


def set_sizes(methods: Sequence[tuple[str, Floats, Style]]) -> go.Figure:
    """Bars of the share of rows whose set holds 0, 1, 2, ... classes.

    Parameters
    ----------
    methods : (title, (n_classes + 1,) rows by the size of their set, style) of each.
    """
    fig = go.Figure()
    largest = max(int(np.flatnonzero(counts).max(initial=0)) for _, counts, _ in methods)
    last = min(largest, MOST_BARS)
    names = [*map(str, range(last)), f"{last}+" if largest > last else str(last)]
    summary = {}
    for name, counts, style in methods:
        total = int(counts.sum())
        rows = np.append(counts[:last], counts[last:].sum())
        hover = carry(
            f"{plain(name)}<br>%{{x}} classes: {{share:.1%}} of rows ({{rows:,d}})",
            rows=rows,
            share=rows / total,
        )
        fig.add_bar(
            x=names,
            y=rows / total,
            name=plain(name),
            marker={"color": style.color, "line": {"width": 0}},
            **hover,
        )
        mean = float(counts @ np.arange(len(counts))) / total
        summary[name] = (
            f"{mean:.2f} classes on average, {counts[1] / total:.1%} of sets with one class"
        )
    alt = f"Number of classes in prediction sets: {join_named(summary)}."
    quiet(fig, SIZES_HEIGHT, alt=alt, title="Classes in a set")
    show_legend(fig)
    set_x(fig, title_text="classes in a set", type="category")
    set_y(fig, title_text="share of rows", tickformat=".0%", rangemode="tozero")
    set_layout(fig, barmode="group", bargap=0.25, bargroupgap=0.05)
    return fig


MAX_POINTS = 400
_LEAST_ROWS = 20
"""Rows answered below which the risk is too uncertain to be drawn."""


def risk_diagram(
    curves: Sequence[tuple[str, RiskCoverage, Style]],
    accepted: float,
    title: str = "",
    height: int = 420,
) -> go.Figure:
    """Risk-coverage curves: error rate among the inputs answered over their share; lower is better.

    Curves begin where 20 rows are answered: before, each row moves them by five points and more.

    Parameters
    ----------
    curves : (title, curve, style) of each method; the 95 % band and the best possible order are those of the last one.
    accepted : the error that a horizontal line marks; each method's last crossing gets its symbol.
    """
    chosen = curves[-1][1]
    drawn = []
    for name, curve, style in curves:
        at = _thinned(curve)
        more = {
            "threshold": curve.threshold[at],
            "answered": curve.answered[at],
            "wrong": curve.wrong[at],
        }
        band = curve.low[at], curve.high[at]
        filled = curve is chosen
        drawn.append(Curve(name, style, curve.coverage[at], curve.risk[at], band, more, filled))
    top = max(accepted, *(float(curve.y.max()) for curve in drawn), chosen.high[-1]) or 1.0
    summary = join_named({name: _describe_curve(curve, accepted) for name, curve, _ in curves})
    fig = line_chart(
        drawn,
        ("coverage", "error"),
        {
            "range": [0, 1.005],
            "title_text": "coverage: share of inputs answered",
            "tickformat": ".0%",
        },
        {
            "range": (-0.02 * top, 1.08 * top),
            "title_text": "risk: error rate among them",
            "tickformat": ".3~p",
        },
        title,
        f"Error among the inputs answered against their share: {summary}.",
        hover="answers {coverage:.1%} ({answered:,d} rows)<br>where confidence ≥ {threshold:.4r}",
        markers=0,
        height=height,
    )
    shares = np.linspace(0.0, 1.0, 201)
    draw_line(fig, shares, chosen.best_risk(shares), DOTTED, "best possible order", width=1.5)
    named = {"annotation_text": f"accepted: {100 * accepted:.3g} %"}
    place = {"annotation_position": "top left"}
    fig.add_hline(accepted, line={"color": GUIDE, "width": 1}, **named, **place)
    for _, curve, style in curves:
        entry = curve.last_within(accepted)
        if entry is not None:
            crossing = [curve.coverage[entry]], [curve.risk[entry]]
            draw_marks(fig, *crossing, style, size=11, cliponaxis=False)
    return fig


def _describe_curve(curve: RiskCoverage, accepted: float) -> str:
    entry = curve.last_within(accepted)
    share = 0.0 if entry is None else 100 * float(curve.coverage[entry])
    error = f"{three_digits(100 * float(curve.risk[-1]))} % error on all"
    return f"{error}, answers {share:.1f} % at {100 * accepted:.3g} % error"


def _thinned(curve: RiskCoverage) -> Ints:
    """Entries at even steps of coverage, from 20 rows on, the last always among them."""
    first = int(np.searchsorted(curve.answered, min(_LEAST_ROWS, curve.n)))
    if len(curve.answered) - first <= MAX_POINTS:
        return np.arange(first, len(curve.answered))
    steps = np.linspace(curve.answered[first], curve.n, MAX_POINTS)
    return np.unique(np.searchsorted(curve.answered, steps))


THRESHOLD_HEIGHT = 340
_FADED = 0.35
"""Opacity of the rows on which nothing is done."""


def threshold_chart(
    counts: ThresholdCounts,
    style: Style,
    view: View,
    action: str,
    useful: tuple[float, float] | None = None,
) -> go.Figure:
    """Rows by probability, in which it came true upwards and the others downwards, with the threshold as a line.

    Rows on which nothing is done are faded. Both sides have one square-root scale, as events are few. The line is
    the only shape, ``shapes[0]``, and lies at the threshold in the units of the axis.

    Parameters
    ----------
    counts : of one method.
    style : of the method.
    view : whose words are used.
    action : what is done at the threshold and above, such as "act".
    useful : ends of the thresholds at which the method is of use, which a bar beneath the rows marks.
    """
    edges, reached = counts.edges, counts.reached
    scale: Scale = "logit" if counts.scale == "logit" else "linear"
    at = counts.at
    fig = go.Figure()
    done = [int(part[reached].sum()) for part in (counts.right, counts.wrong)]
    words = f"{action} at or above {100 * counts.threshold:.4g} %"
    wording = view.wording
    rows = wording.describe_outcomes(counts.right.sum(), counts.wrong.sum())
    alt = f"{rows}; {words}: {done[0]:,} and {done[1]:,} of them lie there."
    quiet(fig, THRESHOLD_HEIGHT, alt=alt)
    groups = [
        Counted(
            name,
            part,
            [color if there else fade(color, _FADED) for there in reached],
            f"rows {name}",
        )
        for name, part, color in (
            (wording.positive_label, counts.right, style.color),
            (wording.negative_label, counts.wrong, NEUTRAL),
        )
    ]
    early = at < (edges[0] + edges[-1]) / 2
    clear: Literal["left", "right"] = "right" if early else "left"
    unit = wording.predicted_label
    draw_counts(fig, edges, from_scale(edges, scale), groups, unit, names_at=clear, lift=8)
    fig.add_vline(at, line={"color": style.color, "width": 3}, name="threshold")
    place = {"yref": "paper", "yanchor": "bottom", "yshift": 2}
    write(fig, f"<b>{words} ⇔</b>", at, 1, xanchor="left" if early else "right", **place)
    ticks = logit_ticks(edges[0], edges[-1]) if scale == "logit" else {"nticks": 8}
    room = 0.01 * (edges[-1] - edges[0])
    ends = [edges[0] - room, edges[-1] + room]
    set_x(fig, title_text=axis_title(view), range=ends, fixedrange=True, **ticks)
    if useful is not None:
        _mark_useful(fig, useful, scale, style)
    set_layout(fig, dragmode=False)
    return fig


def _mark_useful(fig: go.Figure, useful: tuple[float, float], scale: Scale, style: Style) -> None:
    """Draw the range of useful thresholds as a bar at the foot of the plot."""
    ends = fig.layout.xaxis.range
    places = np.clip(on_scale(np.array(useful), scale, (1e-4, 1 - 1e-4)), *ends)
    foot = fig.layout.yaxis.range[0]
    low, high = (f"{100 * end:.2g} %" for end in useful)
    hover = f"of use at thresholds from {low} to {high}:<br>more net benefit than acting on all and on none"
    carried = {"hovertemplate": f"{hover}<extra></extra>"}
    bar: dict[str, Any] = {"width": 9, "cliponaxis": False}
    draw_line(fig, places, [foot, foot], Style(style.color), carried=carried, **bar)
    key = key_entry("▬", "of use", style.color)
    set_x(fig, title_text=f"{fig.layout.xaxis.title.text}   {key}")


def dragged_to(place: float, scale: str) -> float:
    """The probability to which the line was dragged, inside 0.01 to 99.99 %."""
    return float(
        np.clip(
            from_scale(np.array(place), "logit" if scale == "logit" else "linear"), 1e-4, 1 - 1e-4
        )
    )
