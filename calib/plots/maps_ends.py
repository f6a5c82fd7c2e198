"""Over- and underconfidence at one end of the ranking: what each map says beside how often the class occurs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.data import carry
from calib.plots.labelled_rows import DROP, RowLabel, frame_labelled_rows, line_through_rows
from calib.plots.layout import set_x
from calib.plots.maps_axes import probability_text
from calib.plots.style import NEUTRAL, Style, fade, plain, three_digits

if TYPE_CHECKING:
    from calib.metrics.bootstrap import Interval


@dataclass(frozen=True)
class EndRow:
    """One method at one end: its mean probability there, and the verdict in a word or two."""

    name: str
    style: Style
    mean: float
    verdict: str


def end_rows(rows: Sequence[EndRow], share: Interval, n_rows: int, title: str = "") -> go.Figure:
    """Mean probabilities as dots over the interval of the share they should equal (Allikivi and Kull 2019, figure 3).

    Parameters
    ----------
    rows : methods.
    share : of the rows at this end whose label is the class, with its interval.
    n_rows : how many rows that is.
    """
    fig = go.Figure()
    middle = (len(rows) - 1) / 2 + DROP
    fig.add_shape(
        type="rect", x0=share.low, x1=share.high, y0=-0.5, y1=len(rows) - 0.5, line_width=0,
        fillcolor=fade(NEUTRAL, 0.18), layer="below",
    )  # fmt: skip
    line_through_rows(fig, share.value, len(rows), NEUTRAL)
    fig.add_scatter(
        x=[share.value], y=[middle], name="share", mode="markers", marker={"color": "rgba(0,0,0,0)", "size": 14},
        **carry(value=[share.value], low=[share.low], high=[share.high], rows=[n_rows]),
        hovertemplate="%{customdata[0]:.3r} of %{customdata[3]:,d} rows (95 %: %{customdata[1]:.3r} to"
        " %{customdata[2]:.3r})<extra></extra>",
    )  # fmt: skip
    for place, row in enumerate(rows):
        fig.add_scatter(
            x=[row.mean], y=[place + DROP], name=row.name, mode="markers",
            marker={"color": row.style.color, "symbol": row.style.symbol, "size": 10},
            **carry(value=[row.mean]),
            hovertemplate=f"{plain(row.name)} says %{{customdata[0]:.3r}} on average<br>{row.verdict}<extra></extra>",
        )  # fmt: skip
    labels = [RowLabel(row.name, f"{probability_text(row.mean)}, {row.verdict}", row.style.color) for row in rows]
    said = "; ".join(f"{label.name} {label.note}" for label in labels)
    frame_labelled_rows(fig, labels, title=title, alt=(
        f"{title}: {three_digits(share.value)} of {n_rows:,} rows ({three_digits(share.low)} to"
        f" {three_digits(share.high)}) are of the class. {said}."
    ))  # fmt: skip
    values = np.array([share.low, share.high, *(row.mean for row in rows)])
    pad = 0.06 * max(float(np.ptp(values)), 1e-6)
    set_x(fig, range=[values.min() - pad, values.max() + pad], nticks=5,
                     title_text="mean probability   (| share of the class, band 95 %)")  # fmt: skip
    return fig
