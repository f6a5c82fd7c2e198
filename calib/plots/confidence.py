"""How sure a method is where it is right and where it is wrong, as densities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.axes import LOGIT_TICKS, from_scale, logit
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.style import GRID, NEUTRAL, Style, fade, quiet

if TYPE_CHECKING:
    from calib.diagnostics.histogram import ConfidenceHistogram


def confidence_densities(histogram: ConfidenceHistogram, style: Style, title: str = "", height: int = 260) -> go.Figure:
    """Confidence of right predictions upwards and of wrong ones downwards, each group on its own height.

    Heights are not comparable between the groups, which differ in size by far; the labels give their counts.
    A good model has its wrong predictions to the left; wrong ones at the right are the dangerous ones.

    Parameters
    ----------
    histogram : whose scale, linear or logit, is the axis's.
    style : of the method.
    """
    edges = histogram.edges
    logit_scaled = histogram.scale == "logit"
    confidence = from_scale(edges, "logit" if logit_scaled else "linear")
    groups = (
        ("right", histogram.right, histogram.density("right"), style.color, 0.75),
        ("wrong", histogram.wrong, -histogram.density("wrong"), NEUTRAL, 0.6),
    )
    fig = go.Figure()
    for name, count, density, color, alpha in groups:
        fig.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=density / (np.abs(density).max() or 1.0), width=np.diff(edges), name=name,
            marker={"color": fade(color, alpha), "line_width": 0},
            **carry(low=confidence[:-1], high=confidence[1:], count=count),
            hovertemplate=f"%{{customdata[2]:,d}} {name}<br>confidence %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
        fig.add_annotation(
            text=f"{name} ({int(count.sum()):,})", x=0.01, xref="paper", xanchor="left",
            y=1 if name == "right" else 0, yref="paper", yanchor="top" if name == "right" else "bottom",
            showarrow=False, font={"size": 12, "color": color},
        )  # fmt: skip
    alt = f"Confidence of {int(histogram.right.sum()):,} right and {int(histogram.wrong.sum()):,} wrong predictions."
    quiet(fig, height, alt=alt, title=title, left=12)
    set_y(fig, showticklabels=False, showgrid=False, range=[-1.3, 1.3], zeroline=True, zerolinecolor=GRID)
    set_x(fig, title_text="confidence", range=[edges[0], edges[-1]])
    if logit_scaled:
        ticks = [tick for tick in LOGIT_TICKS if edges[0] <= logit(tick) <= edges[-1]]
        set_x(fig, tickvals=[logit(tick) for tick in ticks], ticktext=[f"{tick:g}" for tick in ticks])
    return fig
