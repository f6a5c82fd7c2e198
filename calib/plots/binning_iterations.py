"""The iterations of I-Max: the information they gain, and where the edges go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.placement import EdgeTrace
from calib.numerics import Floats, Ints
from calib.plots.binning import LOG_ODDS_TITLE
from calib.plots.binning_rails import SCHEME_NAMES, SCHEME_STYLES, key_of, write_key
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.style import GUIDE, Limits, fade, quiet, three_digits

START_NAMES = {"kmeans": "k-means++", **{name: SCHEME_NAMES[name] for name in ("equal_mass", "equal_size")}}
_START_COLORS = {"kmeans": SCHEME_STYLES["imax"].color} | {
    name: SCHEME_STYLES[name].color for name in ("equal_mass", "equal_size")
}
_MOST_STEPS = 60


def shown_steps(trace: EdgeTrace) -> Ints:
    """Some steps of a trace, dense where most happens: the first ones, and the last."""
    last = len(trace.edges) - 1
    return np.unique(np.r_[0, np.geomspace(1, max(last, 1), _MOST_STEPS).round().astype(int), last].clip(0, last))


def gain(
    traces: Sequence[EdgeTrace], kept: Sequence[Floats], information: float, chosen: int, step: int,
    title: str = "", height: int = 360,
) -> go.Figure:  # fmt: skip
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
    quiet(fig, height, alt=alt, title=title, left=62, right=14)
    ticks = [tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000) if tick < max(len(trace.edges) for trace in traces)]
    set_x(
        fig,
        tickvals=np.log10(np.array(ticks) + 1),
        ticktext=[str(tick) for tick in ticks],
        title_text="step",
        tickangle=0,
    )
    set_y(fig, title_text="information (nats)", nticks=6)
    starts = {trace.start for trace in traces}
    write_key(
        fig, key_of([(name, _START_COLORS[start]) for start, name in START_NAMES.items() if start in starts], "━")
    )
    return fig


def edge_paths(trace: EdgeTrace, step: int, span: Limits, title: str = "", height: int = 360) -> go.Figure:
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
    alt = f"Paths of {most} edges over {len(trace.edges) - 1:,} steps from {START_NAMES[trace.start]}."
    quiet(fig, height, alt=alt, title=title, left=58, right=14)
    ticks = [tick for tick in (0, 1, 3, 10, 30, 100, 300, 1000) if tick < len(trace.edges)]
    set_x(fig, range=span, title_text=LOG_ODDS_TITLE)
    set_y(
        fig, range=[float(depth[-1]) + 0.05, -0.05], tickvals=np.log10(np.array(ticks) + 1),
        ticktext=[str(tick) for tick in ticks], title_text="step",
    )  # fmt: skip
    write_key(fig, key_of([(f"{len(edges)} edges at the chosen step", color)], "●"))
    return fig
