"""A measure in each group with its interval, as a forest plot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.formatting import with_interval
from calib.metrics.bootstrap import Interval
from calib.plots.annotations import whiskers
from calib.plots.data import carry
from calib.plots.rows import RowLabel, frame_labelled_rows, line_through_rows
from calib.plots.style import GUIDE, Style, plain, set_x, three_digits

DROP = 0.2
"""Marks lie so far beneath the row's middle, under its text."""
ALL = "all rows"


def forest(
    groups: Sequence[tuple[str, Interval]],
    overall: Interval,
    style: Style,
    title: str,
    ideal: float | None = None,
    ratio: bool = False,
) -> go.Figure:
    """A dot with its interval for each group and, last, for all rows.

    Parameters
    ----------
    groups : (name, value with its interval), from the top.
    overall : of all rows.
    style : of the method.
    title : of the measure.
    ideal : where a calibrated model lies; a line is drawn there, or else at the value of all rows.
    ratio : whether the axis is logarithmic.
    """
    fig = go.Figure()
    named = [*groups, (ALL, overall)]
    value, low, high = (np.array([one[end] for _, one in named]) for end in range(3))
    line_through_rows(fig, overall.value if ideal is None else ideal, len(named), GUIDE, DROP)
    fig.add_scatter(
        x=value, y=np.arange(len(named)) + DROP, mode="markers", name=title,
        marker={"color": style.color, "symbol": [style.symbol] * len(groups) + ["diamond"], "size": 9},
        error_x=whiskers(value, low, high, style.color),
        **carry(group=np.array([name for name, _ in named], dtype=object), value=value, low=low, high=high),
        text=[plain(name) for name, _ in named],
        hovertemplate=f"%{{text}}<br>{plain(title)} %{{customdata[1]:.3r}} (%{{customdata[2]:.3r}} to"
        " %{customdata[3]:.3r})<extra></extra>",
    )  # fmt: skip
    said = "; ".join(f"{name} {three_digits(one.value)}" for name, one in named[:5])
    labels = [RowLabel(name, with_interval(one)) for name, one in named]
    alt = f"{title} of {len(groups)} groups with simultaneous intervals, and of all rows: {said}."
    frame_labelled_rows(fig, labels, alt=alt, title=title, drop=DROP)
    set_x(fig, nticks=6)
    if ratio:
        set_x(fig, type="log", tickformat="~g", dtick="D2")
    return fig
