"""Pictures of over- and underconfidence: how sure the model is where it is wrong, how unsure where it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.data import carry
from calib.plots.rows import frame_rows
from calib.plots.scales import LOGIT_TICKS, from_scale, logit
from calib.plots.style import GRID, NEUTRAL, Style, fade, plain, quiet, three_digits

if TYPE_CHECKING:
    from calib.metrics.intervals import Interval
    from calib.reliability import ConfidenceHistogram


@dataclass(frozen=True)
class OverUnder:
    """Overconfidence E[confidence | wrong] and underconfidence E[1 - confidence | right] of one method.

    Their values are NaN where no row is wrong, or none right.
    """

    title: str
    style: Style
    over: Interval
    under: Interval


def over_under_chart(rows: Sequence[OverUnder], title: str = "") -> go.Figure:
    """Overconfidence and underconfidence of each method: two panels, one row each, a dot with its interval.

    The first row, by custom the raw model, is continued as a thin line through the others.
    """
    fig = go.Figure()
    panels = (
        ("underconfidence", "doubt when right, u", "x", [row.under for row in rows]),
        ("overconfidence", "confidence when wrong, o", "x2", [row.over for row in rows]),
    )
    for name, _, axis, estimates in panels:
        if rows and np.isfinite(estimates[0].value):
            fig.add_shape(
                type="line", xref=axis, yref="paper", x0=estimates[0].value, x1=estimates[0].value, y0=0, y1=1,
                line={"color": fade(rows[0].style.color, 0.7), "width": 1, "dash": "dot"},
            )  # fmt: skip
        for place, (row, (value, low, high)) in enumerate(zip(rows, estimates, strict=True)):
            if not np.isfinite(value):
                continue
            fig.add_scatter(
                x=[value], y=[place], xaxis=axis, name=row.title, mode="markers",
                marker={"color": row.style.color, "symbol": row.style.symbol, "size": 10},
                error_x={"type": "data", "symmetric": False, "array": [high - value], "arrayminus": [value - low],
                         "color": row.style.color, "thickness": 2, "width": 0},
                **carry(quantity=[name], value=[value], low=[low], high=[high]),
                hovertemplate=f"{plain(row.title)}<br>%{{customdata[0]}} %{{customdata[1]:.3r}}"
                " (%{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
            )  # fmt: skip
    said = "; ".join(f"{row.title} o {three_digits(row.over.value)}, u {three_digits(row.under.value)}" for row in rows)
    frame_rows(fig, [row.title for row in rows], alt=f"Over- and underconfidence. {said}.", title=title)
    panel = {"anchor": "y", "nticks": 5, "showgrid": True}
    fig.update_layout(
        xaxis={**panel, "domain": [0, 0.44], "title_text": panels[0][1]},
        xaxis2={**fig.layout.xaxis.to_plotly_json(), **panel, "domain": [0.56, 1], "title_text": panels[1][1]},
    )
    return fig


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
    fig.update_yaxes(showticklabels=False, showgrid=False, range=[-1.3, 1.3], zeroline=True, zerolinecolor=GRID)
    fig.update_xaxes(title_text="confidence", range=[edges[0], edges[-1]])
    if logit_scaled:
        ticks = [tick for tick in LOGIT_TICKS if edges[0] <= logit(tick) <= edges[-1]]
        fig.update_xaxes(tickvals=[logit(tick) for tick in ticks], ticktext=[f"{tick:g}" for tick in ticks])
    return fig
