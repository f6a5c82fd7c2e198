"""Forest plot of groups: the gap of each with its joint interval, its rows and its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from calib.evaluation.view import View
from calib.formatting import points, points_between
from calib.plots.annotations import carry, note
from calib.plots.rows import RowLabel, draw_row, frame_rows, line_through_rows
from calib.plots.style import (
    COLORS,
    DOTTED,
    GUIDE,
    THIN,
    TOOL_BAR,
    Style,
    plain,
    set_layout,
    set_x,
)

if TYPE_CHECKING:
    from calib.auditing.findings import GroupFinding

PIXELS = 32
"""Height of a row."""
DROP = 0.08
"""Marks are drawn at ``place + DROP``, beneath the row's text."""
COLUMNS = (("points", 50), ("rows", 102), ("events", 154))
"""Columns of numbers right of the axis, with the distance of their right end from it in pixels."""
TOO_LOW = Style(COLORS[1])
TOO_HIGH = Style(COLORS[3])
FINE = Style(GUIDE)


def forest(
    groups: Sequence[GroupFinding], n_judged: int, view: View, overall: float = 0.0
) -> go.Figure:
    """Draw a row for each group: its gap in points with its joint interval; coloured by its side of all rows.

    Parameters
    ----------
    groups : from the top of the figure to its foot.
    n_judged : number of groups for which the intervals hold together.
    view : of the gaps, predicted - observed.
    overall : gap of all rows, from which groups that are off differ; drawn as a dotted line.
    """
    fig = go.Figure()
    line_through_rows(fig, 0, len(groups), THIN, DROP)
    line_through_rows(fig, 100 * overall, len(groups), DOTTED, DROP)
    texts = []
    labels = []
    for place, group in enumerate(groups):
        style = style_of(group, overall)
        interval = tuple(100 * end for end in group.gap)
        symbol = "circle-open" if group.severity == "caution" else None
        look: dict[str, Any] = {"size": 9, "symbol": symbol, "drop": DROP}
        draw_row(fig, place, interval, style, group.name, _hover(group, view), **look)
        labels.append(RowLabel(group.name, color=None if style is FINE else style.color))
        cells = points(group.gap.value), f"{group.rows:,}", f"{group.events:,}"
        texts += [
            _text(cell, place, shift)
            for cell, (_, shift) in zip(cells, _columns(view), strict=False)
        ]
    off = [group for group in groups if group.severity != "fine"]
    named = "; ".join(f"{group.name} {points(group.gap.value)} points" for group in off[:6])
    title = view.wording.group_gap_label
    alt = f"{title} of {len(groups)} groups with joint intervals. Off: {named or 'none'}."
    frame_rows(fig, labels, alt=alt, pixels=PIXELS, drop=DROP)
    texts += [_text(name, -1, shift) for name, shift in _columns(view)]
    fig.layout.annotations = [*fig.layout.annotations, *texts]
    right = _columns(view)[-1][1] + 8  # pixels
    height = fig.layout.height + 16 + TOOL_BAR
    set_layout(fig, margin_t=30 + TOOL_BAR, margin_r=right, margin_b=72, height=height)
    text = f"{title}, points   ┊ all rows<br>(95\u00a0% joint over {n_judged:,} groups)"
    set_x(fig, title_text=text, title_standoff=14)
    return fig


def style_of(group: GroupFinding, overall: float) -> Style:
    """Return the colour of a group: predictions too low or too high compared with all rows, or fine."""
    if group.severity == "fine":
        return FINE
    return TOO_LOW if is_too_low(group, overall) else TOO_HIGH


def is_too_low(group: GroupFinding, overall: float) -> bool:
    """Return whether a group's predictions are too low compared with those of all rows, whose gap is ``overall``."""
    return group.gap.value < overall


def _columns(view: View) -> tuple[tuple[str, int], ...]:
    return COLUMNS if view.is_event else COLUMNS[:2]


def _text(text: str, place: float, shift: int) -> dict[str, Any]:
    head = place < 0
    at: dict[str, Any] = {"xref": "paper", "xanchor": "right", "yanchor": "middle"}
    at |= {"xshift": shift, "yshift": 28 if head else 12}
    return note(text, 1, max(place, 0), color=GUIDE if head else None, **at)


def _hover(group: GroupFinding, view: View) -> dict[str, Any]:
    low, high = group.gap.low, group.gap.high
    means = view.wording.describe_means(group.predicted, group.observed)
    hover = (
        f"{plain(group.name)} · {group.rows:,} rows<br>{means}<br>"
        f"gap {points(group.gap.value)} points ({points_between(low, high)})"
    )
    return carry(
        hover,
        columns=[" × ".join(group.columns)],
        group=[group.name],
        rows=[group.rows],
        events=[group.events],
        predicted=[group.predicted],
        observed=[group.observed],
        gap=[group.gap.value],
        gap_low=[low],
        gap_high=[high],
    )
