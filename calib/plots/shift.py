"""Figure of confidences or predicted risks before and now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.plots.annotations import write
from calib.plots.axes import from_scale, logit_ticks
from calib.plots.data import carry
from calib.plots.style import GRID, NEUTRAL, Style, fade, quiet, set_x, set_y

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ConfidenceHistogram


def confidence_drift(
    before: ConfidenceHistogram,
    now: ConfidenceHistogram,
    style: Style,
    title: str = "",
    height: int = 260,
    view: View = TOP_LABEL,
) -> go.Figure:
    """Share of rows over confidence: now upwards, before downwards on the same height, so that a shift breaks symmetry.

    Parameters
    ----------
    before, now : on the same grid in log-odds.
    style : of the method.
    view : for words.
    """
    edges = now.edges
    confidence = from_scale(edges, "logit")
    fig = go.Figure()
    shares = [histogram.count / max(1, histogram.count.sum()) for histogram in (now, before)]
    tallest = max(float(share.max()) for share in shares) or 1.0
    for name, share, side, color in (
        ("now", shares[0], 1, fade(style.color, 0.75)),
        ("before", shares[1], -1, fade(NEUTRAL, 0.6)),
    ):
        fig.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=side * share / tallest, width=np.diff(edges), name=name,
            marker={"color": color, "line_width": 0}, **carry(low=confidence[:-1], high=confidence[1:], share=share),
            hovertemplate=f"{name}: %{{customdata[2]:.1%}} of rows<br>{view.said} %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    for name, histogram, y, color in (("now", now, 1, style.color), ("before", before, 0, NEUTRAL)):
        write(
            fig, f"{name} ({int(histogram.count.sum()):,} rows)", 0.01, y, color=color, xref="paper", xanchor="left",
            yref="paper", yanchor="top" if y else "bottom",
        )  # fmt: skip
    held = np.flatnonzero(before.count + now.count)
    ends = float(edges[held[0]]), float(edges[held[-1] + 1])
    middles = [float(h.count @ ((edges[:-1] + edges[1:]) / 2)) / max(1, h.count.sum()) for h in (before, now)]
    moved = "up" if middles[1] > middles[0] else "down"
    quiet(
        fig,
        height,
        alt=f"{view.said.capitalize()} before and now; its mean log-odds moved {moved}.",
        title=title,
        left=12,
    )
    set_y(fig, showticklabels=False, showgrid=False, range=[-1.15, 1.15], zeroline=True, zerolinecolor=GRID)
    set_x(fig, title_text=view.said, range=list(ends), **logit_ticks(*ends))
    return fig
