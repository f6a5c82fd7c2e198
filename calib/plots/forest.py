"""Forest plots: a measure with its interval, one row for each group, or for each member of an automatic mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.auto import Judged
from calib.formatting import percent, with_interval
from calib.metrics.bootstrap import Interval
from calib.plots.annotations import carry
from calib.plots.axes import log_axis, span
from calib.plots.rows import RowLabel, draw_row, frame_rows, line_through_rows
from calib.plots.style import THIN, Style, add_lines, method_style, one_each, plain, set_x, three_digits

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
    line_through_rows(fig, overall.value if ideal is None else ideal, len(named), THIN)
    for place, (name, one) in enumerate(named):
        hover = f"{plain(name)}<br>{plain(title)} {{value:.3r}} ({{low:.3r}} to {{high:.3r}})"
        told = carry(hover, group=[name], value=[one.value], low=[one.low], high=[one.high])
        draw_row(fig, place, one, style, title, told, size=9, symbol="diamond" if name == ALL else None)
    found = one_each({name: three_digits(one.value) for name, one in named[:5]})
    alt = f"{title} of {len(groups)} groups with simultaneous intervals, and of all rows: {found}."
    frame_rows(fig, [RowLabel(name, with_interval(one)) for name, one in named], alt=alt, title=title)
    add_lines(fig, -1)  # the axis has no title
    if ratio:
        ends = np.array([ideal or 1.0, *(end for _, one in named for end in one)])
        low, high = span(np.log10(ends[np.isfinite(ends) & (ends > 0)]), pad=0.06, least=0.02)
        set_x(fig, **log_axis(low, high))
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
    labels = []
    for place, member in enumerate(members):
        style = method_style(member.method)
        low, high = (member.behind + side * _TWO_SIDED * member.behind_error for side in (-1, 1))
        told = carry(
            f"{plain(member.title)}<br>NLL {{nll:.4f}} (standard error {{error:.4f}})<br>above the best {{behind:.4f}}"
            " ({low:.4f} to {high:.4f})<br>weight {weight:.1%}",
            nll=[member.nll], error=[member.error], behind=[member.behind], low=[low], high=[high],
            weight=[member.weight],
        )  # fmt: skip
        symbol = style.symbol if member.weight else f"{style.symbol}-open"
        draw_row(fig, place, (member.behind, low, high), style, member.title, told, size=11, symbol=symbol)
        note = f"weight {percent(member.weight, 0)}" if member.weight else "not in the mean"
        labels.append(RowLabel(member.title, note, style.color))
    line_through_rows(fig, 0.0, len(members), THIN)
    behind = {m.title: f"{three_digits(m.behind)} above the best, weight {percent(m.weight, 0)}" for m in members}
    alt = f"NLL outside the folds, by member: {one_each(behind)}."
    frame_rows(fig, labels, alt=alt, title="NLL on rows outside the fit")
    set_x(fig, title_text="NLL above the best member's, in nats   ← better", nticks=5)
    return fig
