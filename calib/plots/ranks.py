"""Figures of ranks: observed against predicted frequency of each, and the weights of the gaps between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.rank_reliability import RankReliability
from calib.formatting import number
from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, draw_marks, key_of, label_line_ends, whiskers, write_key
from calib.plots.axes import log10_ticks
from calib.plots.style import DOTTED, Style, one_each, plain, quiet, set_x, set_y

RANKS_HEIGHT, WEIGHTS_HEIGHT = 400, 300
FARTHEST = 8.0
"""Ratios beyond this, and below one over it, lie at the end of the axis."""
_RATIOS = (0.125, 0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0, 8.0)
_RANKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_APART = 0.16


def rank_chart(methods: Sequence[tuple[str, RankReliability, Style]]) -> go.Figure:
    """Observed over predicted frequency of each rank, on a logarithmic axis, with 95 % Wilson intervals.

    Parameters
    ----------
    methods : (title, what was found, style) of each, side by side at every rank.
    """
    fig = go.Figure()
    names = methods[0][1].names
    parts = [
        tuple(part / found.predicted for part in (found.observed, found.low, found.high)) for _, found, _ in methods
    ]
    drawn = np.abs(np.log10(np.clip(np.concatenate([part for one in parts for part in one]), 1 / FARTHEST, FARTHEST)))
    end = 1.05 * max(float(np.nanmax(drawn)), np.log10(1.5))
    for index, ((name, found, style), (ratio, low, high)) in enumerate(zip(methods, parts, strict=True)):
        at, bottom, top = (np.log10(np.clip(part, 1 / FARTHEST, FARTHEST)) for part in (ratio, low, high))
        told = carry(
            f"{plain(name)}, rank {{rank}}: predicted {{predicted:.3r}}, observed {{observed:.3r}} ({{low:.3r}} to"
            " {high:.3r})",
            rank=found.names, predicted=found.predicted, observed=found.observed, low=found.low, high=found.high,
            ratio=ratio,
        )  # fmt: skip
        inside = (ratio >= 1 / FARTHEST) & (ratio <= FARTHEST)
        place = np.arange(len(names)) + _APART * (index - (len(methods) - 1) / 2)
        draw_marks(
            fig, place, at, style, name, told, symbol=[style.symbol + ("" if one else "-open") for one in inside],
            error_y=whiskers(at, bottom, top, style.color),
        )  # fmt: skip
    first = one_each({
        f"{name}:": f"predicted {number(float(found.predicted[0]))}, observed {number(float(found.observed[0]))}"
        for name, found, _ in methods
    })  # fmt: skip
    alt = f"Observed over predicted frequency of {len(names)} ranks or groups of ranks. Rank 1 of {first}."
    quiet(fig, RANKS_HEIGHT, alt=alt, left=64)
    draw_line(fig, [-0.6, len(names) - 0.4], [0, 0], DOTTED, width=1)
    shown = [ratio for ratio in _RATIOS if abs(np.log10(ratio)) <= end]
    set_y(
        fig, range=[-end, end], tickvals=np.log10(shown).tolist(), ticktext=[f"{ratio:g}" for ratio in shown],
        title_text="observed / predicted frequency",
    )  # fmt: skip
    set_x(
        fig, range=[-0.6, len(names) - 0.4], tickvals=list(range(len(names))), ticktext=names,
        title_text="rank of the label among the classes",
    )  # fmt: skip
    write_key(fig, key_of([(name, style.color) for name, _, style in methods], "●"))
    return fig


def weight_chart(methods: Sequence[tuple[str, Floats, Style]]) -> go.Figure:
    """The weight of each gap between neighbouring logits of a sorted row, in units of that of temperature scaling.

    Parameters
    ----------
    methods : (title, (n_classes - 1,) weights, style) of each fit.
    """
    fig = go.Figure()
    most = max(len(weights) for _, weights, _ in methods)
    for name, weights, style in methods:
        gap = np.arange(1, len(weights) + 1)
        hover = f"{plain(name)}: weight {{weight:.3r}} between ranks {{gap}} and the next"
        draw_line(
            fig, np.log10(gap), weights, style, name, carry(hover, gap=gap, weight=weights), shape="hvh",
            markers=7 if len(weights) <= 30 else 0,
        )  # fmt: skip
    ranges = one_each(
        {name: f"from {number(float(each.min()))} to {number(float(each.max()))}" for name, each, _ in methods}
    )
    alt = f"Weights of {most} gaps between neighbouring ranks, where temperature scaling has 1: {ranges}."
    quiet(fig, WEIGHTS_HEIGHT, alt=alt, title="Weights of the gaps between ranks", left=64)
    top = 1.1 * max(1.0, *(float(weights.max()) for _, weights, _ in methods))
    bottom = min(0.0, *(float(weights.min()) for _, weights, _ in methods))
    across = -0.04 * max(np.log10(most), 1), 1.04 * np.log10(most) + 0.04
    draw_line(fig, across, [1, 1], DOTTED, width=1)
    set_y(fig, range=[bottom, top], title_text="weight of the gap", nticks=6)
    set_x(fig, range=across, **log10_ticks(_RANKS, 1, most), tickangle=0, title_text="gap, by the rank above it")
    label_line_ends(fig, [(name, float(weights[-1]), style.color) for name, weights, style in methods], (bottom, top))
    return fig
