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
from calib.plots.annotations import carry, fill_between
from calib.plots.axes import histogram_median, log10_ticks
from calib.plots.binning import (
    LABEL_COLORS,
    LOG_ODDS_TITLE,
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    draw_edges,
    draw_rails,
    grouped,
    key_of,
    span_of,
    write_key,
)
from calib.plots.rows import DROP, RowLabel, frame_labelled_rows, line_through_rows
from calib.plots.style import (
    FRAME,
    GRID,
    GUIDE,
    Limits,
    colored,
    fade,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    three_digits,
)

PLANE_HEIGHT, STEPS_HEIGHT = 420, 360
_NAMED = (2, 4, 8, 16, 64)
_HOVER = "%{customdata[0]:.3r} nats (%{customdata[1]:.3r} bits)"


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
    line_through_rows(fig, information, n, GUIDE)
    highest = max([information, *(max(bins.label_information, bins.bound) for _, bins, _ in rails)])
    end = 1.1 * (label_entropy if label_entropy < 1.6 * highest else highest)
    if label_entropy < end:
        line_through_rows(fig, label_entropy, n, GRID)
    for row, (name, bins, style) in enumerate(rails):
        fig.add_bar(
            x=[bins.label_information], y=[row + DROP], width=0.16, orientation="h",
            marker={"color": fade(style.color, 0.45), "line_width": 0}, hoverinfo="skip",
        )  # fmt: skip
        for what, value, symbol, size in (
            ("keeps", bins.label_information, style.symbol, 11),
            ("bound by the model's own belief", bins.bound, "line-ns-open", 16),
        ):
            fig.add_scatter(
                x=[value], y=[row + DROP], name=f"{name}, {what}", mode="markers",
                marker={"color": style.color, "symbol": symbol, "size": size,
                        "line": {"width": 2, "color": style.color}},
                **carry(nats=[value], bits=[value / NATS_PER_BIT]),
                hovertemplate=f"{plain(name)}: {what} {_HOVER}<extra></extra>",
            )  # fmt: skip
    labels = [
        RowLabel(name, f"{three_digits(bins.label_information)} nats, {_share(bins.label_information, information)}",
                 style.color)
        for name, bins, style in rails
    ]  # fmt: skip
    said = "; ".join(f"{name} {label.note}" for (name, _, _), label in zip(rails, labels, strict=True))
    alt = f"Label information: the log-odds carry {three_digits(information)} nats; {said}."
    frame_labelled_rows(fig, labels, alt=alt, title="What the bins keep", pixels=46)
    ends = f"line: the log-odds carry {three_digits(information)}" + (
        f", the label has {three_digits(label_entropy)}" + ("" if label_entropy < end else " (beyond the picture)")
    )
    set_x(fig, range=[0, end], title_text=f"information about the label (nats)<br>{ends}", nticks=6)
    set_layout(fig, height=fig.layout.height + 16, margin_b=fig.layout.margin.b + 16)
    return fig


def information_plane_chart(plane: InformationPlane) -> go.Figure:
    """Label information against the rate for 2 to 64 bins, beneath the bottleneck (Patel et al. 2020, figure 4b)."""
    fig = go.Figure()
    top = 1.12 * plane.information
    last = max(float(rate[-1]) for rate in plane.rate.values())
    x = np.linspace(0, 1.04 * last, 120)
    limit = np.interp(x, plane.limit_rate, plane.limit_information)
    fill_between(fig, x, limit, np.full(len(x), top), fade("#808496", 0.12))
    fig.add_scatter(
        x=x, y=limit, name="limit", mode="lines", line={"color": GUIDE, "width": 2},
        **carry(rate=x, label_information=limit),
        hovertemplate="at most %{customdata[1]:.3r} nats<br>at rate %{customdata[0]:.3r}<extra></extra>",
    )  # fmt: skip
    for scheme in reversed(SCHEME_NAMES):
        name, style = SCHEME_NAMES[scheme], SCHEME_STYLES[scheme]
        rate, kept = plane.rate[scheme], plane.label_information[scheme]
        fig.add_scatter(
            x=rate, y=kept, name=name, mode="lines+markers+text",
            line={"color": style.color, "width": 1.6, "dash": style.dash if scheme != "imax" else "solid"},
            marker={"color": style.color, "symbol": style.symbol, "size": 8},
            text=[colored(str(m), style.color) if scheme == "imax" and m in _NAMED else "" for m in plane.n_bins],
            textposition="bottom right", textfont={"size": 11},
            **carry(bins=plane.n_bins, rate=rate, label_information=kept),
            hovertemplate=f"{name}, %{{customdata[0]}} bins<br>keeps %{{customdata[2]:.3r}} nats at rate"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    said = "; ".join(
        f"{SCHEME_NAMES[scheme]} {three_digits(plane.label_information[scheme][-1])}" for scheme in SCHEME_NAMES
    )
    alt = f"Label information of {plane.n_bins[-1]} bins, of {three_digits(plane.information)} nats: {said}."
    quiet(fig, PLANE_HEIGHT, alt=alt, left=62, right=14)
    set_x(fig, range=[0, 1.04 * last], title_text="compression rate I(bin; log-odds), nats")
    set_y(fig, range=[0, top], title_text="label information I(bin; y), nats", nticks=6)
    names = [(SCHEME_NAMES[scheme], SCHEME_STYLES[scheme].color) for scheme in SCHEME_NAMES]
    write_key(fig, key_of(names, "●") + key_of([("limit", GUIDE)], "━"))
    return fig


def _share(part: float, whole: float) -> str:
    return percent(part / whole) if whole > 0 else "–"


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
            fig.add_scatter(
                x=np.log10(steps + 1), y=values[steps], name=f"{START_NAMES[trace.start]}, {what}", mode="lines",
                line={"color": color, "width": 2.6 if place == chosen else 1.4, "dash": dash},
                **carry(step=steps, nats=values[steps]),
                hovertemplate=f"from {START_NAMES[trace.start]}: {what} %{{customdata[1]:.4r}} nats"
                "<br>after step %{customdata[0]:,d}<extra></extra>",
            )  # fmt: skip
        if place == chosen:
            fig.add_scatter(
                x=[np.log10(step + 1)] * 2, y=[seen[step], trace.bound[step]], mode="markers", hoverinfo="skip",
                marker={"color": color, "size": 9},
            )  # fmt: skip
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
    fig.add_scatter(
        x=np.hstack([paths, gaps]).round(4).ravel(), y=np.tile(np.r_[depth, np.nan], most), mode="lines",
        line={"color": fade(color, 0.7), "width": 1.5}, hoverinfo="skip",
    )  # fmt: skip
    fig.add_hline(y=float(np.log10(step + 1)), line={"color": GUIDE, "width": 1})
    edges = trace.edges[step]
    fig.add_scatter(
        x=edges, y=np.full(len(edges), np.log10(step + 1)), name="edges", mode="markers",
        marker={"color": color, "size": 8}, **carry(step=np.full(len(edges), step), edge=edges),
        hovertemplate="edge at %{customdata[1]:.4r}<br>after step %{customdata[0]:,d}<extra></extra>",
    )  # fmt: skip
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
_RAIL = 26
_GAP = 10
_CELLS = 120
_TALL = 0.82


def ranks_over_bins(ranks: RankHistogram, density: LogOddsDensity, rails: Sequence[Rail]) -> go.Figure:
    """Where the first, second, ... class of a row lies, and the label (Patel et al. 2020, figure S2).

    Each row is as tall as its highest cell: there are many more classes of low rank than first ones.

    Parameters
    ----------
    ranks : histogram of the log-odds by rank.
    density : of the same log-odds, for those of the label.
    rails : the schemes whose edges stand beneath; those of the first are drawn through the rows.
    """
    span = span_of(density, [bins.edges for _, bins, _ in rails])
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
        fig.add_scatter(
            x=middles, y=row + 0.5 - height, name=name, mode="markers", marker={"color": color, "opacity": 0},
            **carry(low=cells[:-1], high=cells[1:], count=inside),
            hovertemplate=f"%{{customdata[2]:,.0f}} {what}<br>from %{{customdata[0]:.3r}} to %{{customdata[1]:.3r}}"
            "<extra></extra>",
        )  # fmt: skip
    _, first, style = rails[0]
    n = len(rows)
    draw_edges(fig, first.edges, (-0.5, n - 0.5), fade(style.color, 0.45))
    draw_rails(fig, rails, span, named=False)
    above, below = _ROW * n, _RAIL * len(rails)
    plot = above + _GAP + below
    medians = "; ".join(
        f"{name} {three_digits(histogram_median(density.edges, count))}" for name, count, _ in rows if count.sum()
    )
    alt = (
        f"Log-odds of the label and of the classes by rank, with the edges of {', '.join(name for name, _, _ in rails)}"
        f". Medians: {medians}."
    )
    quiet(fig, FRAME + plot, alt=alt, left=88, right=14)
    set_layout(
        fig, xaxis={"anchor": "y2", "range": span, "title_text": LOG_ODDS_TITLE},
        yaxis={
            "domain": [1 - above / plot, 1], "range": [n - 0.5, -0.5], "showgrid": False,
            "tickvals": list(range(n)),
            "ticktext": [colored(plain(name), color) for name, _, color in rows],
        },
        yaxis2={
            "domain": [0, below / plot], "range": [len(rails) - 0.5, -0.5], "showgrid": False, "fixedrange": True,
            "tickvals": list(range(len(rails))),
            "ticktext": [colored(plain(name), style.color) for name, _, style in rails],
        },
    )  # fmt: skip
    return fig
