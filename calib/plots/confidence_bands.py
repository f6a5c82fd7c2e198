"""Figures of the confidence gap by band of confidence and by class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import percent
from calib.numerics import Ints
from calib.plots.annotations import carry, whiskers
from calib.plots.rows import RowLabel, frame_labelled_rows, frame_rows, line_through_rows, name_colors
from calib.plots.style import GUIDE, Style, overlapping, plain, set_layout, set_x, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.subgroups import GroupGaps


PIXELS = 56
_MIDDLE = 0.22
_HALF = 0.1
"""Bars lie so far above (the raw model's) and below (the method's) the middle line of a row's lower part."""


def band_name(low: float, high: float) -> str:
    """A band in words: "below 0.5", "0.5 to 0.7", "0.99 to 1"."""
    return f"{low:g} to {high:g}" if low > 0 else f"below {high:g}"


def band_chart(methods: list[tuple[str, GroupGaps, Style]], view: View = TOP_LABEL) -> go.Figure:
    """What each band adds to the gap: its share of the rows times its confidence minus accuracy.

    Parameters
    ----------
    methods : (title, gaps by band, style) of the raw model, and of one method to set beside it.
    view : whose bands and words are used.
    """
    fig = go.Figure()
    bands = [band_name(low, high) for low, high in pairwise(view.bands)]
    shown = [k for k in range(len(bands)) if any(gaps.rows[k] for _, gaps, _ in methods)]
    line_through_rows(fig, 0, len(shown), GUIDE, _MIDDLE)
    offsets = (-_HALF, _HALF) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        at = np.arange(len(shown)) + _MIDDLE + offset
        low, high = (np.where(gaps.rows, gaps.share * end, 0.0)[shown] for end in (gaps.gap_low, gaps.gap_high))
        value = gaps.contribution[shown]
        fig.add_bar(
            x=value, y=at, orientation="h", width=0.17, name=name,
            marker=overlapping(style.color),
            error_x=whiskers(value, low, high, style.color, 1.5),
            **carry(
                band=np.array([bands[k] for k in shown], dtype=object), adds=value, rows=gaps.rows[shown],
                **{view.outcome: gaps.accuracy[shown], view.said: gaps.confidence[shown]}, over=gaps.over[shown],
                under=gaps.under[shown], gap=gaps.gap[shown], gap_low=gaps.gap_low[shown],
                gap_high=gaps.gap_high[shown],
            ),
            hovertemplate=f"{plain(name)}, {view.said} %{{customdata[0]}}<br>%{{customdata[2]:,d}} rows, {view.says}"
            f" %{{customdata[4]:.3r}}, {view.came_true} %{{customdata[3]:.3r}}"
            "<br>o %{customdata[5]:.3r}, u %{customdata[6]:.3r}<br>adds %{customdata[1]:+.2r} to the gap"
            "<extra></extra>",
        )  # fmt: skip
    name, gaps, style = methods[-1]
    labels = [RowLabel(bands[k], _note(gaps, k, view), None) for k in shown]
    said = "; ".join(f"{bands[k]} {three_digits(gaps.contribution[k])}" for k in shown)
    title = f"What each band of {view.said} adds"
    alt = f"{title} to the gap of {name}: {said}."
    frame_labelled_rows(fig, labels, alt=alt, title=title, pixels=PIXELS, drop=_MIDDLE)
    set_x(fig, title_text=f"← {view.too_low}     adds to the gap     {view.too_high} →", nticks=6)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig


def _note(gaps: GroupGaps, k: int, view: View) -> str:
    if not gaps.rows[k]:
        return "no rows"
    said, outcome = (percent(values[k]) for values in (gaps.confidence, gaps.accuracy))
    return f"{gaps.rows[k]:,} rows: {view.says_short} {said}, {view.came_true_short} {outcome}"


CLASS_PIXELS = 30
_CLASS_HALF = 0.17
_LINE_PIXELS = 16


def per_class_chart(
    class_names: Sequence[str],
    order: Ints,
    methods: Sequence[tuple[str, GroupGaps, Style]],
    title: str = "",
    view: View = TOP_LABEL,
) -> go.Figure:
    """Mean confidence minus accuracy of classes or groups: a dot with its interval, and the raw model's above it.

    Parameters
    ----------
    class_names : (n_classes,)
    order : numbers of the classes to show, from the top; each with at least one row of the last method.
    methods : (title, gaps by class, style) of the raw model, and of one method to set beside it.
    title : heading.
    view : whose words are used.
    """
    fig = go.Figure()
    fig.add_vline(x=0, line={"color": GUIDE, "width": 1})
    places = np.arange(len(order))
    names = [str(class_names[k]) for k in order]
    offsets = (-_CLASS_HALF, _CLASS_HALF) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        gap, low, high = (values[order] for values in (gaps.gap, gaps.gap_low, gaps.gap_high))
        fig.add_scatter(
            x=gap, y=places + offset, name=name, mode="markers",
            marker={"color": style.color, "symbol": style.symbol, "size": 7 if offset < 0 else 9},
            error_x=whiskers(gap, low, high, style.color),
            **carry(
                **{"class": np.array(names, dtype=object)}, gap=gap, gap_low=low, gap_high=high,
                rows=gaps.rows[order], wrong=gaps.wrong[order], confidence=gaps.confidence[order],
                accuracy=gaps.accuracy[order], over=gaps.over[order], over_low=gaps.over_low[order],
                over_high=gaps.over_high[order], under=gaps.under[order], under_low=gaps.under_low[order],
                under_high=gaps.under_high[order],
            ),
            text=[plain(class_name) for class_name in names],
            hovertemplate=f"%{{text}}, {plain(name)}<br>gap %{{customdata[1]:+.2r}} (%{{customdata[2]:+.2r}} to"
            f" %{{customdata[3]:+.2r}})<br>%{{customdata[4]:,d}} rows, %{{customdata[5]:,d}} {view.wrong}: {view.says}"
            f" %{{customdata[6]:.3r}}, {view.came_true} %{{customdata[7]:.3r}}<br>o %{{customdata[8]:.3r}}, u"
            " %{customdata[11]:.3r}<extra></extra>",
        )  # fmt: skip
    alt = "No class has enough rows."
    if len(order):
        name, gaps, _ = methods[-1]
        said = "; ".join(f"{class_names[k]} {three_digits(gaps.gap[k])}" for k in order[:5])
        alt = (
            f"{view.mean_said.capitalize()} minus {view.outcome} of {len(order)} rows, {name}, the worst first: {said}."
        )
    frame_rows(fig, names, alt=alt, title=title, pixels=CLASS_PIXELS)
    # In two short lines: beside long names of classes a narrow window leaves the axis 170 pixels.
    set_x(fig, title_text=f"{view.said} − {view.outcome}<br>{view.too_high} →", nticks=7)
    set_layout(fig, height=fig.layout.height + _LINE_PIXELS, margin_b=fig.layout.margin.b + _LINE_PIXELS)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig
