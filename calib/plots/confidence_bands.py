"""Where the confidence gap comes from: what each band of confidence adds to it, before and after."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.data import carry
from calib.plots.labelled_rows import RowLabel, frame_labelled_rows, line_through_rows, name_colors
from calib.plots.layout import set_x
from calib.plots.style import GUIDE, Style, fade, plain, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.groups import GroupGaps

PIXELS = 56
_MIDDLE = 0.22
_HALF = 0.1
"""Bars lie so far above (the raw model's) and below (the method's) the middle line of a row's lower part."""


def band_name(low: float, high: float) -> str:
    """A band in words: "below 0.5", "0.5 to 0.7", "0.99 to 1"."""
    return f"{low:g} to {high:g}" if low > 0 else f"below {high:g}"


def band_chart(edges: tuple[float, ...], methods: list[tuple[str, GroupGaps, Style]], title: str = "") -> go.Figure:
    """What each band adds to the gap: its share of the rows times its confidence minus accuracy.

    Parameters
    ----------
    edges : ends of the bands.
    methods : (title, gaps by band, style) of the raw model, and of one method to set beside it.
    title : heading.
    """
    fig = go.Figure()
    bands = [band_name(low, high) for low, high in pairwise(edges)]
    shown = [k for k in range(len(bands)) if any(gaps.rows[k] for _, gaps, _ in methods)]
    line_through_rows(fig, 0, len(shown), GUIDE, _MIDDLE)
    offsets = (-_HALF, _HALF) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        at = np.arange(len(shown)) + _MIDDLE + offset
        low, high = (np.where(gaps.rows, gaps.share * end, 0.0)[shown] for end in (gaps.gap_low, gaps.gap_high))
        value = gaps.contribution[shown]
        fig.add_bar(
            x=value, y=at, orientation="h", width=0.17, name=name,
            marker={"color": fade(style.color, 0.8), "line_width": 0},
            error_x={"type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low,
                     "color": style.color, "thickness": 1.5, "width": 0},
            **carry(
                band=np.array([bands[k] for k in shown], dtype=object), adds=value, rows=gaps.rows[shown],
                accuracy=gaps.accuracy[shown], confidence=gaps.confidence[shown], over=gaps.over[shown],
                under=gaps.under[shown], gap=gaps.gap[shown], gap_low=gaps.gap_low[shown],
                gap_high=gaps.gap_high[shown],
            ),
            hovertemplate=f"{plain(name)}, confidence %{{customdata[0]}}<br>%{{customdata[2]:,d}} rows, says"
            " %{customdata[4]:.3r}, right %{customdata[3]:.3r}<br>o %{customdata[5]:.3r}, u %{customdata[6]:.3r}"
            "<br>adds %{customdata[1]:+.2r} to the gap<extra></extra>",
        )  # fmt: skip
    name, gaps, style = methods[-1]
    labels = [RowLabel(bands[k], _note(gaps, k), None) for k in shown]
    said = "; ".join(f"{bands[k]} {three_digits(gaps.contribution[k])}" for k in shown)
    frame_labelled_rows(fig, labels, alt=f"What each band of confidence adds to the gap of {name}: {said}.",
                        title=title, pixels=PIXELS, drop=_MIDDLE)  # fmt: skip
    set_x(fig, title_text="← underconfident     adds to the gap     overconfident →", nticks=6)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig


def _note(gaps: GroupGaps, k: int) -> str:
    if not gaps.rows[k]:
        return "no rows"
    return f"{gaps.rows[k]:,} rows: says {100 * gaps.confidence[k]:.1f} %, right {100 * gaps.accuracy[k]:.1f} %"
