"""A row for each member of an automatic mean: its loss with the interval, and its weight."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from calib.calibrators.auto import Judged
from calib.formatting import percent
from calib.plots.annotations import carry
from calib.plots.rows import RowLabel, draw_row, frame_rows, line_through_rows
from calib.plots.style import THIN, method_style, one_each, plain, set_x, three_digits

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
            nll=[member.nll],
            error=[member.error],
            behind=[member.behind],
            low=[low],
            high=[high],
            weight=[member.weight],
        )
        symbol = style.symbol if member.weight else f"{style.symbol}-open"
        draw_row(
            fig,
            place,
            (member.behind, low, high),
            style,
            member.title,
            told,
            size=11,
            symbol=symbol,
        )
        note = f"weight {percent(member.weight, 0)}" if member.weight else "not in the mean"
        labels.append(RowLabel(member.title, note, style.color))
    line_through_rows(fig, 0.0, len(members), THIN)
    behind = {
        m.title: f"{three_digits(m.behind)} above the best, weight {percent(m.weight, 0)}"
        for m in members
    }
    alt = f"NLL outside the folds, by member: {one_each(behind)}."
    frame_rows(fig, labels, alt=alt, title="NLL on rows outside the fit")
    set_x(fig, title_text="NLL above the best member's, in nats   ← better", nticks=5)
    return fig
