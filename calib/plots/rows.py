"""The frame of figures with one named row per method or class."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from calib.plots.layout import set_x, set_y
from calib.plots.style import FRAME, plain, quiet

ROW_PIXELS = 34
_LONGEST_NAME = 24


def frame_rows(fig: go.Figure, names: Sequence[str], *, alt: str, title: str = "", pixels: int = ROW_PIXELS) -> None:
    """Name the rows 0, 1, ... at the left, the first on top; every row has the same height in pixels."""
    short = [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in names]
    left = 20 + 7 * max((len(name) for name in short), default=0)
    quiet(fig, FRAME + pixels * max(len(names), 1), alt=alt, title=title, left=left)
    set_y(
        fig,
        tickvals=list(range(len(names))),
        ticktext=[plain(name) for name in short],
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
    )
    set_x(fig, showgrid=True, tickangle=0)
