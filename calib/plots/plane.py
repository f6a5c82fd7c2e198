"""The plane of weighted under- and overconfidence, in which every calibrated method lies on the diagonal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import spread
from calib.plots.data import carry
from calib.plots.layout import set_x, set_y
from calib.plots.over_under import Row
from calib.plots.style import GUIDE, NEUTRAL, fade, plain, quiet, three_digits

HEIGHT = 400
_LABEL_PIXELS = 17


def balance_plane(rows: Sequence[Row], title: str = "") -> go.Figure:
    """u P(right) against o P(wrong) of each method, with arrows from the raw model.

    The axes are weighted so that one diagonal serves methods of any accuracy: a method's vertical distance from it is
    the gap that no calibration error is below. On the diagonal, nearer to the origin means that confidence tells right
    from wrong predictions better.

    Parameters
    ----------
    rows : methods, the first of which arrows start from.
    title : heading.
    """
    fig = go.Figure()
    under = np.array([balance.weighted_under for _, balance, _ in rows])
    over = np.array([balance.weighted_over for _, balance, _ in rows])
    end = 1.08 * max(float(under.max(initial=0.01)), float(over.max(initial=0.01)))
    fig.add_scatter(
        x=[0, end], y=[0, end], mode="lines", hoverinfo="skip", line={"color": GUIDE, "width": 1.5, "dash": "dot"}
    )
    # Where a point is in the corner, its word moves towards the middle.
    high = 0.86 if np.any((over > 0.85 * end) & (under < 0.4 * end)) else 0.98
    low = 0.14 if np.any((under > 0.55 * end) & (over < 0.15 * end)) else 0.02
    for text, x, y, xanchor, yanchor in (
        ("overconfident", 0.02, high, "left", "top"), ("underconfident", 0.98, low, "right", "bottom"),
    ):  # fmt: skip
        fig.add_annotation(
            text=text, x=x, y=y, xref="paper", yref="paper", xanchor=xanchor, yanchor=yanchor, showarrow=False,
            font={"size": 12, "color": NEUTRAL},
        )  # fmt: skip
    for i, (name, balance, style) in enumerate(rows):
        x, y, gap = under[i], over[i], balance.gap
        if i and np.hypot(x - under[0], y - over[0]) > 0.02 * end:
            fig.add_annotation(
                x=x, y=y, ax=under[0], ay=over[0], axref="x", ayref="y", text="", showarrow=True, arrowhead=2,
                arrowsize=1, arrowwidth=1.5, arrowcolor=fade(style.color, 0.55), standoff=6, startstandoff=6,
            )  # fmt: skip
        fig.add_scatter(
            x=[x], y=[y], name=name, mode="markers",
            marker={"color": style.color, "symbol": style.symbol, "size": 11},
            **carry(under_times_p_right=[x], over_times_p_wrong=[y], gap=[gap.value], gap_low=[gap.low],
                    gap_high=[gap.high]),
            hovertemplate=f"{plain(name)}<br>o·P(wrong) %{{customdata[1]:.3r}}, u·P(right) %{{customdata[0]:.3r}}"
            "<br>gap %{customdata[2]:+.2r} (%{customdata[3]:+.2r} to %{customdata[4]:+.2r})<extra></extra>",
        )  # fmt: skip
    said = "; ".join(f"{name} {three_digits(balance.gap.value)}" for name, balance, _ in rows)
    alt = f"Weighted over- against underconfidence; gaps to the diagonal of calibrated models: {said}."
    longest = max((len(name) for name, _, _ in rows), default=0)
    quiet(fig, HEIGHT, alt=alt, title=title, left=64, right=26 + 7 * min(longest, 20))
    _name_points(fig, rows, over, end)
    set_x(fig, range=[0, end], nticks=5, showgrid=True, title_text="doubt where right, u·P(right)")
    set_y(fig, range=[0, end], nticks=5, title_text="confidence where wrong, o·P(wrong)", title_standoff=12)
    return fig


def _name_points(fig: go.Figure, rows: Sequence[Row], heights: Floats, end: float) -> None:
    """Names at the right edge, each at the height of its point as far as the others leave room."""
    pixels = fig.layout.height - fig.layout.margin.t - fig.layout.margin.b
    places = spread(heights, _LABEL_PIXELS / pixels * end, 0.0, end)
    for (name, balance, style), place in zip(rows, places, strict=True):
        x, y = balance.weighted_under, balance.weighted_over
        fig.add_shape(
            type="path", layer="below", line={"color": fade(style.color, 0.35), "width": 1},
            path=f"M {x:.6g},{y:.6g} L {end:.6g},{place:.6g}",
        )  # fmt: skip
        short = name if len(name) <= 20 else name[:19] + "…"
        fig.add_annotation(
            text=plain(short), x=1, xref="paper", xshift=4, y=place, xanchor="left", yanchor="middle",
            showarrow=False, font={"size": 12, "color": style.color},
        )  # fmt: skip
