"""Figures of ranks: observed against predicted frequency of each, and the weights of the gaps between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.rank_reliability import RankReliability
from calib.formatting import number
from calib.numerics import Floats
from calib.plots.annotations import carry, label_line_ends, whiskers, write
from calib.plots.axes import log10_ticks
from calib.plots.style import GUIDE, Style, key_entry, plain, quiet, set_x, set_y, shorten

RANKS_HEIGHT, WEIGHTS_HEIGHT = 400, 300
FARTHEST = 8.0
"""Ratios beyond this, and below one over it, lie at the end of the axis."""
_RATIOS = (0.125, 0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0, 8.0)
_LONGEST_NAME = 20
_RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


def rank_chart(methods: Sequence[tuple[str, RankReliability, Style]]) -> go.Figure:
    """Observed over predicted frequency of each rank, on a logarithmic axis, with 95 % Wilson intervals.

    Parameters
    ----------
    methods : (title, what was found, style) of each, side by side at every rank.
    """
    fig = go.Figure()
    names = methods[0][1].names
    width = 0.16
    highest = 1.5
    for index, (name, found, style) in enumerate(methods):
        place = np.arange(len(names)) + width * (index - (len(methods) - 1) / 2)
        ratio, low, high = (part / found.predicted for part in (found.observed, found.low, found.high))
        ends = [ratio[ratio > 0], low[low > 0], high]
        highest = max(highest, *(float(np.exp(np.abs(np.log(part)).max(initial=0.0))) for part in ends))
        at, bottom, top = (np.log10(np.clip(part, 1 / FARTHEST, FARTHEST)) for part in (ratio, low, high))
        fig.add_scatter(
            x=place, y=at, name=name, mode="markers",
            marker={"color": style.color, "size": 9, "symbol": [
                style.symbol if 1 / FARTHEST <= value <= FARTHEST else f"{style.symbol}-open" for value in ratio
            ]},
            error_y=whiskers(at, bottom, top, style.color),
            **carry(rank=found.names, predicted=found.predicted, observed=found.observed, low=found.low,
                    high=found.high, ratio=ratio),
            hovertemplate=f"{plain(name)}, rank %{{customdata[0]}}: predicted %{{customdata[1]:.3r}}, observed "
                          "%{customdata[2]:.3r} (%{customdata[3]:.3r} to %{customdata[4]:.3r})<extra></extra>",
        )  # fmt: skip
    first = "; ".join(
        f"{name}: predicted {number(float(found.predicted[0]))}, observed {number(float(found.observed[0]))}"
        for name, found, _ in methods
    )
    alt = f"Observed over predicted frequency of {len(names)} ranks or groups of ranks. Rank 1 of {first}."
    quiet(fig, RANKS_HEIGHT, alt=alt, left=64)
    end = float(np.log10(min(highest * 1.05, FARTHEST * 1.1)))
    shown = [ratio for ratio in _RATIOS if abs(np.log10(ratio)) <= end]
    fig.add_hline(y=0, line={"color": GUIDE, "width": 1, "dash": "dot"})
    set_y(
        fig, range=[-end, end], tickvals=np.log10(shown).tolist(), ticktext=[f"{ratio:g}" for ratio in shown],
        title_text="observed / predicted frequency",
    )  # fmt: skip
    set_x(
        fig, range=[-0.6, len(names) - 0.4], tickvals=list(range(len(names))), ticktext=names,
        title_text="rank of the label among the classes",
    )  # fmt: skip
    key = [key_entry("●", shorten(name, _LONGEST_NAME), style.color) for name, _, style in methods]
    write(
        fig, "  ".join(key[:2]) + "<br>" * (len(key) > 2) + "  ".join(key[2:]), 0, 1, xref="paper", yref="paper",
        xanchor="left", yanchor="bottom", align="left", yshift=2,
    )  # fmt: skip
    return fig


def weight_chart(methods: Sequence[tuple[str, Floats, Style]]) -> go.Figure:
    """The weight of each gap between neighbouring logits of a sorted row, in units of that of temperature scaling.

    Parameters
    ----------
    methods : (title, (n_classes - 1,) weights, style) of each fit.
    """
    fig = go.Figure()
    lengths = [len(weights) for _, weights, _ in methods]
    for name, weights, style in methods:
        gap = np.arange(1, len(weights) + 1)
        fig.add_scatter(
            x=np.log10(gap), y=weights, name=name, mode="lines+markers" if len(weights) <= 30 else "lines",
            line={"color": style.color, "width": 2, "dash": style.dash, "shape": "hvh"},
            marker={"symbol": style.symbol, "size": 7},
            **carry(gap=gap, weight=weights),
            hovertemplate=f"{plain(name)}: weight %{{customdata[1]:.3r}} between ranks %{{customdata[0]}} and the next"
                          "<extra></extra>",
        )  # fmt: skip
    ranges = "; ".join(
        f"{name} from {number(float(weights.min()))} to {number(float(weights.max()))}" for name, weights, _ in methods
    )
    alt = f"Weights of {max(lengths)} gaps between neighbouring ranks, where temperature scaling has 1: {ranges}."
    quiet(fig, WEIGHTS_HEIGHT, alt=alt, title="Weights of the gaps between ranks", left=64)
    top = 1.1 * max(1.0, *(float(weights.max()) for _, weights, _ in methods))
    fig.add_hline(y=1, line={"color": GUIDE, "width": 1, "dash": "dot"})
    set_y(fig, range=[0, top], title_text="weight of the gap", nticks=6)
    set_x(
        fig, **log10_ticks(_RANKS, 1, max(lengths)), tickangle=0,
        title_text="gap, by the rank above it",
    )  # fmt: skip
    ends = [(shorten(name, _LONGEST_NAME), float(weights[-1]), style.color) for name, weights, style in methods]
    label_line_ends(fig, ends, (0, top))
    return fig
