"""Direct labels at the ends of lines, moved apart so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.style import plain


def spread(positions: Sequence[float] | Floats, gap: float, low: float, high: float) -> Floats:
    """Move positions apart to at least ``gap`` where there is room, keeping their order and moving little.

    Neighbours that are too close become a block centred on its members' mean; blocks that then touch merge
    (the pooling of isotonic regression, so no position moves more than it must in the least-squares sense).

    Parameters
    ----------
    positions : (n,) wanted places.
    gap : least distance; reduced when n labels do not fit between ``low`` and ``high``.
    low, high : the room there is.

    Returns
    -------
    (n,) places in the order given.
    """
    wanted = np.asarray(positions, dtype=float)
    if len(wanted) == 0:
        return wanted
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    order = np.argsort(wanted, kind="stable")
    offsets = gap * np.arange(len(wanted))
    blocks: list[tuple[float, int]] = []
    for value in wanted[order] - offsets:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            previous, members = blocks.pop()
            mean, size = (previous * members + mean * size) / (members + size), size + members
        blocks.append((mean, size))
    placed = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    placed = np.clip(placed, low, high - offsets[-1]) + offsets
    result = np.empty_like(placed)
    result[order] = placed
    return result


def label_line_ends(
    fig: go.Figure,
    labels: Sequence[tuple[str, float, str]],
    span: tuple[float, float],
    pixels: float,
    yref: str = "y",
) -> None:
    """Write each line's name in its colour beside the right end of the plot.

    Parameters
    ----------
    labels : (text, y of the line's last point, colour) of each line.
    span : the axis range in y.
    pixels : height of the plot area, to keep 16 pixels from one label to the next.
    """
    low, high = span
    places = spread([y for _, y, _ in labels], 16 / pixels * (high - low), low, high)
    for (text, _, color), place in zip(labels, places, strict=True):
        fig.add_annotation(
            text=plain(text), x=1, xref="paper", xshift=6, y=place, yref=yref,
            xanchor="left", yanchor="middle", showarrow=False, font={"color": color, "size": 12},
        )  # fmt: skip
