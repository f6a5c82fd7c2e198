"""The figure of ranks: observed against predicted frequency of each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.ranks import RankReliability
from calib.formatting import number
from calib.plots.annotations import carry, draw_line, draw_marks, key_of, whiskers, write_key
from calib.plots.style import DOTTED, Style, one_each, plain, quiet, set_x, set_y

RANKS_HEIGHT = 400
FARTHEST = 8.0
"""Ratios beyond this, and below one over it, lie at the end of the axis."""
_RATIOS = (0.125, 0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0, 8.0)
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
