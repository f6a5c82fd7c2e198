"""Log-odds by the rank of their class, over the edges of every scheme."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.density import LogOddsDensity
from calib.diagnostics.ranks import RankHistogram
from calib.plots.binning import LOG_ODDS_TITLE
from calib.plots.binning_rails import LABEL_COLORS, Rail, draw_rails, grouped, span_of
from calib.plots.data import carry
from calib.plots.layout import set_layout
from calib.plots.style import FRAME, fade, plain, quiet

_ROW = 62
_RAIL = 26
_GAP = 10
_CELLS = 120
_TALL = 0.82


def ranks_over_bins(ranks: RankHistogram, density: LogOddsDensity, rails: Sequence[Rail], title: str = "") -> go.Figure:
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
    fig.add_scatter(
        x=np.repeat(first.edges, 3), y=[-0.5, n - 0.5, None] * len(first.edges), mode="lines", hoverinfo="skip",
        line={"color": fade(style.color, 0.45), "width": 1},
    )  # fmt: skip
    draw_rails(fig, rails, span, named=False)
    above, below = _ROW * n, _RAIL * len(rails)
    plot = above + _GAP + below
    alt = (
        f"Log-odds of the label and of classes ranked {', '.join(ranks.titles)}, over the edges of "
        f"{', '.join(name for name, _, _ in rails)}."
    )
    quiet(fig, FRAME + plot, alt=alt, title=title, left=88, right=14)
    set_layout(
        fig, xaxis={"anchor": "y2", "range": span, "title_text": LOG_ODDS_TITLE},
        yaxis={
            "domain": [1 - above / plot, 1], "range": [n - 0.5, -0.5], "showgrid": False,
            "tickvals": list(range(n)),
            "ticktext": [f'<span style="color:{color}">{plain(name)}</span>' for name, _, color in rows],
        },
        yaxis2={
            "domain": [0, below / plot], "range": [len(rails) - 0.5, -0.5], "showgrid": False, "fixedrange": True,
            "tickvals": list(range(len(rails))),
            "ticktext": [f'<span style="color:{style.color}">{plain(name)}</span>' for name, _, style in rails],
        },
    )  # fmt: skip
    return fig
