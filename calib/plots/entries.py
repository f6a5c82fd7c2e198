"""One score of several models, or epochs of one, as a line for each method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from calib.plots.data import carry
from calib.plots.layout import set_layout, set_x, set_y
from calib.plots.style import Style, method_style, plain, quiet, three_digits

if TYPE_CHECKING:
    import pandas as pd

_LONGEST_NAME = 14
_OFFSET = 0.08
"""Methods stand so far apart within an entry that their intervals do not cover each other."""


def entry_lines(
    table: pd.DataFrame, score: str, styles: Mapping[str, Style] | None = None, title: str = "", height: int = 320
) -> go.Figure:
    """A line for each method across entries, with an interval at each.

    Parameters
    ----------
    table : with the columns entry, method, title, score, value, low, high; entries are drawn in their order there.
    score : which score to draw.
    styles : by the table's title; by default those of the methods.
    """
    styles = styles or {}
    entries = list(dict.fromkeys(table["entry"]))
    place = {entry: at for at, entry in enumerate(entries)}
    rows = table[(table["score"] == score) & table["value"].notna()]
    titles = list(dict.fromkeys(rows["title"]))
    fig, said = go.Figure(), []
    for number, name in enumerate(titles):
        one = rows[rows["title"] == name]
        style = styles.get(name) or method_style(str(one["method"].iloc[0]))
        shift = (number - (len(titles) - 1) / 2) * min(_OFFSET, 0.5 / max(1, len(titles)))
        fig.add_scatter(
            x=one["entry"].map(place) + shift, y=one["value"], name=name, mode="lines+markers",
            line={"color": style.color, "dash": style.dash, "width": 1.8},
            marker={"color": style.color, "symbol": style.symbol, "size": 8},
            error_y={"type": "data", "symmetric": False, "array": one["high"] - one["value"],
                     "arrayminus": one["value"] - one["low"], "color": style.color, "thickness": 1.4, "width": 0},
            **carry(entry=one["entry"].astype(object), value=one["value"], low=one["low"], high=one["high"]),
            hovertemplate=f"{plain(name)}, %{{customdata[0]}}<br>%{{customdata[1]:.3r}} (%{{customdata[2]:.3r}} to"
            " %{customdata[3]:.3r})<extra></extra>",
        )  # fmt: skip
        first, last = one["value"].iloc[0], one["value"].iloc[-1]
        said.append(f"{name} {three_digits(first)} to {three_digits(last)}")
    quiet(fig, height, alt=f"{score} from the first entry to the last: {'; '.join(said)}.", title=title, right=14)
    short = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in entries]
    set_x(
        fig, tickvals=list(range(len(entries))), ticktext=[plain(name) for name in short],
        range=[-0.5, max(len(entries), 1) - 0.5], showgrid=False, tickangle=0 if len(entries) <= 4 else -35,
    )  # fmt: skip
    if len(entries) > 4:
        set_layout(fig, height=height + 40, margin_b=fig.layout.margin.b + 40)
    set_y(fig, nticks=6)
    return fig
