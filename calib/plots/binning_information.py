"""Figures of the label information of bins: by scheme, by rate, over I-Max's iterations, and by rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.placement import EdgeTrace
from calib.diagnostics.binning import RankHistogram
from calib.diagnostics.information_plane import InformationPlane
from calib.diagnostics.log_odds_density import NATS_PER_BIT, LogOddsDensity
from calib.formatting import percent
from calib.numerics import Floats, Ints
from calib.plots.annotations import carry, draw_line, draw_marks, fill_between, key_of, write_key
from calib.plots.axes import histogram_median, log10_ticks
from calib.plots.binning import (
    LABEL_COLORS,
    LOG_ODDS_TITLE,
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    draw_edges,
    grouped,
    span_of,
)
from calib.plots.rows import DROP, RowLabel, frame_rows, line_through_rows
from calib.plots.style import (
    FRAME,
    GRID,
    GUIDE,
    THIN,
    Limits,
    Style,
    add_lines,
    colored,
    fade,
    label,
    one_each,
    plain,
    quiet,
    set_x,
    set_y,
    three_digits,
)

PLANE_HEIGHT, STEPS_HEIGHT = 420, 360
_NAMED = (2, 4, 8, 16, 64)


def information_rows(rails: Sequence[Rail], information: float, label_entropy: float) -> go.Figure:
    """Label information of each scheme with its lower bound, beside the upper limits; in nats.

    Parameters
    ----------
    rails : name, bins and style of each scheme.
    information : I(log-odds; y), which no bins exceed, drawn as a line.
    label_entropy : H(y), which that cannot exceed; its line may lie beyond the picture, and is then said.
    """
    fig = go.Figure()
    n = len(rails)
    line_through_rows(fig, information, n, THIN)
    highest = max([information, *(max(bins.label_information, bins.bound) for _, bins, _ in rails)])
    end = 1.1 * (label_entropy if label_entropy < 1.6 * highest else highest) or 1.0
    if label_entropy < end:
        line_through_rows(fig, label_entropy, n, Style(GRID))
    labels = []
    for row, (name, bins, style) in enumerate(rails):
        kept = bins.label_information
        fig.add_bar(
            x=[kept], y=[row + DROP], width=0.16, orientation="h", hoverinfo="skip",
            marker={"color": fade(style.color, 0.45), "line_width": 0},
        )  # fmt: skip
        for what, value, symbol, size in (
            ("keeps", kept, style.symbol, 11),
            ("bound by the model's own belief", bins.bound, "line-ns-open", 16),
        ):
            hover = f"{plain(name)}: {what} {{nats:.3r}} nats ({{bits:.3r}} bits)"
            told = carry(hover, nats=[value], bits=[value / NATS_PER_BIT])
            draw_marks(fig, [value], [row + DROP], style, f"{name}, {what}", told, size=size, symbol=symbol)
        share = percent(kept / information) if information > 0 else "–"
        labels.append(RowLabel(name, f"{three_digits(kept)} nats, {share}", style.color))
    said = one_each({row.name: row.note for row in labels})
    alt = f"Label information: the log-odds carry {three_digits(information)} nats; {said}."
    frame_rows(fig, labels, alt=alt, title="What the bins keep", pixels=46)
    ends = f"line: the log-odds carry {three_digits(information)}" + (
        f", the label has {three_digits(label_entropy)}" + ("" if label_entropy < end else " (beyond the picture)")
    )
    low = min([0.0, *(1.05 * bins.bound for _, bins, _ in rails)])
    set_x(fig, range=[low, end], title_text=f"information about the label (nats)<br>{ends}")
    add_lines(fig, 1)
    return fig


def information_plane_chart(plane: InformationPlane) -> go.Figure:
    """Label information against the rate for 2 to 64 bins, beneath the bottleneck (Patel et al. 2020, figure 4b)."""
    fig = go.Figure()
    top = 1.12 * plane.information
    last = max(float(rate[-1]) for rate in plane.rate.values())
    x = np.linspace(0, 1.04 * last, 120)
    limit = np.interp(x, plane.limit_rate, plane.limit_information)
    fill_between(fig, x, limit, np.full(len(x), top), fade("#808496", 0.12))
    told = carry("at most {label_information:.3r} nats<br>at rate {rate:.3r}", rate=x, label_information=limit)
    draw_line(fig, x, limit, THIN, "limit", told)
    for scheme in reversed(SCHEME_NAMES):
        name, style = SCHEME_NAMES[scheme], SCHEME_STYLES[scheme]
        rate, kept = plane.rate[scheme], plane.label_information[scheme]
        look = style if scheme != "imax" else Style(style.color, style.symbol)
        told = carry(
            f"{name}, {{bins}} bins<br>keeps {{label_information:.3r}} nats at rate {{rate:.3r}}",
            bins=plane.n_bins, rate=rate, label_information=kept,
        )  # fmt: skip
        draw_line(fig, rate, kept, look, name, told, width=1.6, markers=8)
        if scheme == "imax":
            named = [k for k, m in enumerate(plane.n_bins) if m in _NAMED]
            fig.add_scatter(
                x=rate[named], y=kept[named], mode="text", hoverinfo="skip", textposition="bottom right",
                textfont={"size": 11}, text=[colored(str(plane.n_bins[k]), style.color) for k in named],
            )  # fmt: skip
    said = one_each({SCHEME_NAMES[key]: three_digits(plane.label_information[key][-1]) for key in SCHEME_NAMES})
    alt = f"Label information of {plane.n_bins[-1]} bins, of {three_digits(plane.information)} nats: {said}."
    quiet(fig, PLANE_HEIGHT, alt=alt, left=62, right=14)
    set_x(fig, range=[0, 1.04 * last], title_text="compression rate I(bin; log-odds), nats")
    set_y(fig, range=[0, top], title_text="label information I(bin; y), nats", nticks=6)
    names = [(SCHEME_NAMES[scheme], SCHEME_STYLES[scheme].color) for scheme in SCHEME_NAMES]
    write_key(fig, key_of(names, "●") + key_of([("limit", GUIDE)], "━"))
    return fig


START_NAMES = {"kmeans": "k-means++", **{name: SCHEME_NAMES[name] for name in ("equal_mass", "equal_width")}}
_START_COLORS = {"kmeans": SCHEME_STYLES["imax"].color} | {
    name: SCHEME_STYLES[name].color for name in ("equal_mass", "equal_width")
}
_MOST_STEPS = 60
_STEPS = (0, 1, 3, 10, 30, 100, 300, 1000)


def shown_steps(trace: EdgeTrace) -> Ints:
    """Some steps of a trace, dense where most happens: the first ones, and the last."""
    last = len(trace.edges) - 1
    return np.unique(np.r_[0, np.geomspace(1, max(last, 1), _MOST_STEPS).round().astype(int), last].clip(0, last))


def gain(traces: Sequence[EdgeTrace], kept: Sequence[Floats], information: float, chosen: int, step: int) -> go.Figure:
    """Bound and label information over the steps from every start (Patel et al. 2020, figure 4a), in nats.

    Parameters
    ----------
    traces : from each start.
    kept : I(bin; y) under the kernel densities along each trace.
    information : I(log-odds; y), which the latter cannot exceed.
    chosen, step : place of the trace and its step to mark.
    """
    fig = go.Figure()
    fig.add_hline(y=information, line={"color": GUIDE, "width": 1.5, "dash": "dot"})
    fig.add_vline(x=float(np.log10(step + 1)), line={"color": GUIDE, "width": 1})
    for place, (trace, seen) in enumerate(zip(traces, kept, strict=True)):
        steps, color = shown_steps(trace), _START_COLORS[trace.start]
        for what, values, dash in (("keeps", seen, "solid"), ("bound", trace.bound, "dash")):
            start, width = START_NAMES[trace.start], 2.6 if place == chosen else 1.4
            told = carry(f"from {start}: {what} {{nats:.4r}} nats<br>after step {{step:,d}}", step=steps,
                         nats=values[steps])  # fmt: skip
            look = Style(color, dash=dash)
            draw_line(fig, np.log10(steps + 1), values[steps], look, f"{start}, {what}", told, width=width)
        if place == chosen:
            draw_marks(fig, [np.log10(step + 1)] * 2, [seen[step], trace.bound[step]], Style(color))
    best = traces[chosen]
    alt = (
        f"From {START_NAMES[best.start]} the bound rises from {three_digits(best.bound[0])} to"
        f" {three_digits(best.bound[-1])} nats in {len(best.bound) - 1:,} steps."
    )
    quiet(fig, STEPS_HEIGHT, alt=alt, title="Information after each step, by start", left=62, right=14)
    last = max(len(trace.edges) for trace in traces) - 1
    set_x(fig, **log10_ticks(_STEPS, 0, last, offset=1), title_text="step", tickangle=0)
    set_y(fig, title_text="information (nats)", nticks=6)
    starts = {trace.start for trace in traces}
    write_key(
        fig, key_of([(name, _START_COLORS[start]) for start, name in START_NAMES.items() if start in starts], "━")
    )
    return fig


def edge_paths(trace: EdgeTrace, step: int, span: Limits) -> go.Figure:
    """Where every edge goes, from the start on top to the fixpoint at the bottom; dots mark one step."""
    steps = shown_steps(trace)
    color = SCHEME_STYLES["imax"].color
    most = max(len(edges) for edges in trace.edges)
    paths = np.full((most, len(steps)), np.nan)
    for column, at in enumerate(steps):
        paths[: len(trace.edges[at]), column] = trace.edges[at]
    depth = np.log10(steps + 1)
    gaps = np.full((most, 1), np.nan)
    fig = go.Figure()
    x, y = np.hstack([paths, gaps]).round(4).ravel(), np.tile(np.r_[depth, np.nan], most)
    draw_line(fig, np.clip(x, *span), y, Style(fade(color, 0.7)), width=1.5)
    fig.add_hline(y=float(np.log10(step + 1)), line={"color": GUIDE, "width": 1})
    edges = trace.edges[step]
    told = carry("edge at {edge:.4r}<br>after step {step:,d}", step=np.full(len(edges), step), edge=edges)
    draw_marks(fig, edges, np.full(len(edges), np.log10(step + 1)), Style(color), "edges", told, size=8)
    last = trace.edges[-1]
    reach = f"from {three_digits(last[0])} to {three_digits(last[-1])}" if len(last) else "nowhere"
    alt = (
        f"Paths of {most} edges from {START_NAMES[trace.start]}: after {len(trace.edges) - 1:,} steps they lie {reach}."
    )
    quiet(fig, STEPS_HEIGHT, alt=alt, title="Where the edges go", left=58, right=14)
    set_x(fig, range=span, title_text=LOG_ODDS_TITLE)
    ticks = log10_ticks(_STEPS, 0, len(trace.edges) - 1, offset=1)
    set_y(fig, range=[float(depth[-1]) + 0.05, -0.05], **ticks, title_text="step")
    write_key(fig, key_of([(f"{len(edges)} edges at the chosen step", color)], "●"))
    return fig


_ROW = 62
_CELLS = 120
_TALL = 0.82


def ranks_over_bins(ranks: RankHistogram, density: LogOddsDensity, rail: Rail) -> go.Figure:
    """Where the first, second, ... class of a row lies, and the label (Patel et al. 2020, figure S2).

    Each row is as tall as its highest cell: there are many more classes of low rank than first ones.

    Parameters
    ----------
    ranks : histogram of the log-odds by rank.
    density : of the same log-odds, for those of the label.
    rail : the scheme whose edges are drawn through the rows.
    """
    scheme, bins, style = rail
    span = span_of(density, [bins.edges])
    cells = np.linspace(*span, _CELLS + 1)
    rows = [("label", density.count_label, LABEL_COLORS[1])]
    rows += [(name, count, LABEL_COLORS[0]) for name, count in zip(ranks.titles, ranks.count, strict=True)]
    fig = go.Figure()
    middles = (cells[1:] + cells[:-1]) / 2
    for row, (name, count, color) in enumerate(rows):
        inside = grouped(count, density.edges, cells)
        height = _TALL * inside / max(float(inside.max()), 1e-12)
        what = "labels" if name == "label" else f"classes ranked {name}"
        fig.add_scatter(
            x=np.r_[middles[0], middles, middles[-1]], y=np.r_[row + 0.5, row + 0.5 - height, row + 0.5], mode="lines",
            fill="toself", line={"color": color, "width": 1.2, "shape": "hvh"}, fillcolor=fade(color, 0.4),
            hoverinfo="skip",
        )  # fmt: skip
        told = carry(f"{{count:,.0f}} {what}<br>from {{low:.3r}} to {{high:.3r}}", low=cells[:-1], high=cells[1:],
                     count=inside)  # fmt: skip
        draw_marks(fig, middles, row + 0.5 - height, Style("rgba(0,0,0,0)"), name, told)
    n = len(rows)
    draw_edges(fig, bins.edges, (-0.5, n - 0.5), fade(style.color, 0.45))
    medians = one_each(
        {name: three_digits(histogram_median(density.edges, count)) for name, count, _ in rows if count.sum()}
    )
    alt = f"Log-odds of the label and of the classes by rank, with the edges of {scheme}. Medians: {medians}."
    quiet(fig, FRAME + _ROW * n, alt=alt, left=88, right=14)
    set_x(fig, range=span, title_text=LOG_ODDS_TITLE)
    names = [colored(label(name, 14), color) for name, _, color in rows]
    set_y(fig, range=[n - 0.5, -0.5], showgrid=False, tickvals=list(range(n)), ticktext=names)
    return fig
