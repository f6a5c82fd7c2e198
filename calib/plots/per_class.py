"""The confidence gap of each class with its interval, the worst first, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Ints
from calib.plots.data import carry
from calib.plots.labelled_rows import name_colors
from calib.plots.layout import set_layout, set_x
from calib.plots.rows import frame_rows
from calib.plots.style import GUIDE, Style, fade, plain, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.groups import GroupGaps

PIXELS = 30
_HALF = 0.17
_LINE_PIXELS = 16


def per_class_chart(
    class_names: Sequence[str],
    order: Ints,
    methods: Sequence[tuple[str, GroupGaps, Style]],
    title: str = "",
) -> go.Figure:
    """Mean confidence minus accuracy of classes: a dot with its interval, and the raw model's above it.

    Parameters
    ----------
    class_names : (n_classes,)
    order : numbers of the classes to show, from the top; each with at least one row of the last method.
    methods : (title, gaps by class, style) of the raw model, and of one method to set beside it.
    title : heading.
    """
    fig = go.Figure()
    fig.add_vline(x=0, line={"color": GUIDE, "width": 1})
    places = np.arange(len(order))
    names = [str(class_names[k]) for k in order]
    offsets = (-_HALF, _HALF) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        gap, low, high = (values[order] for values in (gaps.gap, gaps.gap_low, gaps.gap_high))
        fig.add_scatter(
            x=gap, y=places + offset, name=name, mode="markers",
            marker={"color": style.color, "symbol": style.symbol, "size": 7 if offset < 0 else 9},
            error_x={"type": "data", "symmetric": False, "array": high - gap, "arrayminus": gap - low,
                     "color": fade(style.color, 0.5) if offset < 0 else style.color, "thickness": 2, "width": 0},
            **carry(
                **{"class": np.array(names, dtype=object)}, gap=gap, gap_low=low, gap_high=high,
                rows=gaps.rows[order], wrong=gaps.wrong[order], confidence=gaps.confidence[order],
                accuracy=gaps.accuracy[order], over=gaps.over[order], over_low=gaps.over_low[order],
                over_high=gaps.over_high[order], under=gaps.under[order], under_low=gaps.under_low[order],
                under_high=gaps.under_high[order],
            ),
            text=[plain(class_name) for class_name in names],
            hovertemplate=f"%{{text}}, {plain(name)}<br>gap %{{customdata[1]:+.2r}} (%{{customdata[2]:+.2r}} to"
            " %{customdata[3]:+.2r})<br>%{customdata[4]:,d} rows, %{customdata[5]:,d} wrong: says %{customdata[6]:.3r},"
            " right %{customdata[7]:.3r}<br>o %{customdata[8]:.3r}, u %{customdata[11]:.3r}<extra></extra>",
        )  # fmt: skip
    alt = "No class has enough rows."
    if len(order):
        name, gaps, _ = methods[-1]
        said = "; ".join(f"{class_names[k]} {three_digits(gaps.gap[k])}" for k in order[:5])
        alt = f"Confidence minus accuracy of {len(order)} classes, {name}, the worst first: {said}."
    frame_rows(fig, names, alt=alt, title=title, pixels=PIXELS)
    # In two short lines: beside long names of classes a narrow window leaves the axis 170 pixels.
    set_x(fig, title_text="confidence − accuracy<br>← too unsure     too sure →", nticks=7)
    set_layout(fig, height=fig.layout.height + _LINE_PIXELS, margin_b=fig.layout.margin.b + _LINE_PIXELS)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig
