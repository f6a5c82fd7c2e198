"""Forest plots: a measure with its interval, one row for each group, or for each member of an automatic mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.auto import Judged
from calib.formatting import percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.plots.annotations import carry, whiskers
from calib.plots.axes import log_axis
from calib.plots.rows import DROP, RowLabel, frame_labelled_rows, line_through_rows
from calib.plots.style import GUIDE, Style, method_style, plain, set_layout, set_x, three_digits

_DROP = 0.2
"""Marks lie so far beneath the row's middle, under its text."""
_UNTITLED = 18
"""Pixels that an axis without a title leaves free."""
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
    line_through_rows(fig, overall.value if ideal is None else ideal, len(named), GUIDE, _DROP)
    fig.add_scatter(
        x=value, y=np.arange(len(named)) + _DROP, mode="markers", name=title,
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
    frame_labelled_rows(fig, labels, alt=alt, title=title, drop=_DROP)
    set_layout(fig, height=fig.layout.height - _UNTITLED, margin_b=fig.layout.margin.b - _UNTITLED)
    set_x(fig, nticks=6)
    if ratio:
        ends = np.concatenate([value, low, high, [1.0]])
        ends = np.log10(ends[np.isfinite(ends) & (ends > 0)])
        room = max(0.06 * np.ptp(ends), 0.02)
        set_x(fig, **log_axis(float(ends.min() - room), float(ends.max() + room)))
    return fig


_TWO_SIDED = 1.96
"""Standard errors on either side of a 95 % interval."""


def member_rows(members: Sequence[Judged]) -> go.Figure:
    """One row per member: its weight in words, and how far its out-of-fold NLL is above the best member's.

    Differences are by rows, with their 95 % intervals; a member without a weight is an open mark.

    Parameters
    ----------
    members : those with the largest weight first.
    """
    fig = go.Figure()
    for place, member in enumerate(members):
        style = method_style(member.method)
        low, high = (member.behind + side * _TWO_SIDED * member.behind_error for side in (-1, 1))
        symbol = style.symbol if member.weight else f"{style.symbol}-open"
        fig.add_scatter(
            x=[member.behind], y=[place + DROP], name=member.title, mode="markers",
            marker={"color": style.color, "symbol": symbol, "size": 11},
            error_x=whiskers(member.behind, low, high, style.color),
            **carry(nll=[member.nll], error=[member.error], behind=[member.behind], low=[low], high=[high],
                    weight=[member.weight]),
            hovertemplate=f"{plain(member.title)}<br>NLL %{{customdata[0]:.4f}} (standard error %{{customdata[1]:.4f}})"
            "<br>above the best %{customdata[2]:.4f} (%{customdata[3]:.4f} to %{customdata[4]:.4f})"
            "<br>weight %{customdata[5]:.1%}<extra></extra>",
        )  # fmt: skip
    labels = [
        RowLabel(member.title, f"weight {percent(member.weight, 0)}" if member.weight else "not in the mean",
                 method_style(member.method).color)
        for member in members
    ]  # fmt: skip
    said = "; ".join(
        f"{member.title} {three_digits(member.behind)} above the best, weight {percent(member.weight, 0)}"
        for member in members
    )
    alt = f"NLL outside the folds, by member: {said}."
    frame_labelled_rows(fig, labels, alt=alt, title="NLL on rows outside the fit")
    line_through_rows(fig, 0.0, len(members), GUIDE)
    set_x(fig, title_text="NLL above the best member's, in nats   ← better", nticks=5)
    return fig
