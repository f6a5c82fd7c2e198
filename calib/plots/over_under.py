"""Figures of over- and underconfidence, of their ratio, of confidences, and of the gap by band and by class."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import percent
from calib.numerics import Ints
from calib.plots.annotations import Half, carry, draw_mirrored, whiskers
from calib.plots.axes import Scale, from_scale, histogram_median, log_axis, logit_ticks
from calib.plots.reliability_frame import said_axis
from calib.plots.rows import DROP, RowLabel, frame_labelled_rows, frame_rows, line_through_rows, name_colors
from calib.plots.style import GUIDE, NEUTRAL, Style, fade, overlapping, plain, quiet, set_layout, set_x, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.over_under import OverUnder
    from calib.diagnostics.reliability import ConfidenceHistogram
    from calib.diagnostics.subgroups import GroupGaps
    from calib.metrics.bootstrap import Interval


Row = tuple[str, "OverUnder", Style]
"""Title, result and style of a method; the first row, by custom the raw model, is what others are compared with."""

_HOVER = " (%{customdata[1]:.3r} to %{customdata[2]:.3r})"


def before_after(rows: Sequence[Row], quantity: str, view: View = TOP_LABEL) -> go.Figure:
    """Overconfidence or underconfidence of each method: a dot with its interval, and the way from the raw model to it.

    Parameters
    ----------
    rows : methods.
    quantity : "over" or "under".
    view : whose words are used.
    """
    word = {"over": view.overconfidence, "under": view.underconfidence}[quantity]
    values: list[Interval] = [getattr(result, quantity) for _, result, _ in rows]
    fig = go.Figure()
    _reference_line(fig, rows, values)
    for place, ((name, result, style), value) in enumerate(zip(rows, values, strict=True)):
        if not np.isfinite(value.value):
            continue
        change: Interval | None = getattr(result.change, quantity, None)
        _way(fig, values[0].value, value.value, place, style)
        fig.add_trace(_dot(
            name, value, place, style, word,
            f"mean of {result.n_wrong if quantity == 'over' else result.n_right:,} rows"
            + (f"<br>change {_signed(change.value)} ({_signed(change.low)} to {_signed(change.high)})"
               if change and np.isfinite(change.value) else ""),
            **_changed(change),
        ))  # fmt: skip
    notes = [_note(row[1], value, view) for row, value in zip(rows, values, strict=True)]
    labels = [RowLabel(row[0], note, row[2].color) for row, note in zip(rows, notes, strict=True)]
    said = "; ".join(f"{label.name} {label.note}" for label in labels)
    title = f"{word.capitalize()} {quantity[0]}"
    frame_labelled_rows(fig, labels, alt=f"{word.capitalize()} of each method. {said}.", title=title)
    set_x(
        fig,
        nticks=6,
        range=None if any(np.isfinite(value.value) for value in values) else [0, 1],
        title_text=view.over_axis if quantity == "over" else view.under_axis,
    )
    return fig


def ratio_to_odds(rows: Sequence[Row], view: View = TOP_LABEL) -> go.Figure:
    """The ratio o / u of each method with its interval, beside the odds of its accuracy: where a calibrated one lies.

    Parameters
    ----------
    rows : methods.
    view : whose words are used.
    """
    fig = go.Figure()
    _reference_line(fig, rows, [result.ratio for _, result, _ in rows])
    for place, (name, result, style) in enumerate(rows):
        ratio, odds = result.ratio, result.odds
        if np.isfinite(odds.value) and odds.value > 0:
            fig.add_scatter(
                x=[odds.value], y=[place + DROP], name=f"{name}, odds", mode="markers",
                marker={"symbol": "line-ns-open", "size": 15, "line_width": 3, "color": GUIDE},
                **carry(odds=[odds.value], odds_low=[odds.low], odds_high=[odds.high]),
                hovertemplate=f"{plain(name)}<br>{view.odds} %{{customdata[0]:.3r}}{_HOVER}<extra></extra>",
            )  # fmt: skip
        if np.isfinite(ratio.value):
            _way(fig, odds.value, ratio.value, place, style)
            times, low, high = result.ratio_over_odds
            fig.add_trace(_dot(
                name, ratio, place, style, "o / u",
                f"{three_digits(times)} times the odds ({three_digits(low)} to {three_digits(high)})",
                ratio_over_odds=[times], ratio_over_odds_low=[low], ratio_over_odds_high=[high],
            ))  # fmt: skip
    labels = [RowLabel(name, _ratio_note(result, view), style.color) for name, result, style in rows]
    said = "; ".join(f"{label.name} {label.note}" for label in labels)
    alt = f"Ratio o / u beside the odds it should equal. {said}."
    frame_labelled_rows(fig, labels, alt=alt, title="Ratio o / u")
    _log_axis(fig, rows, view)
    return fig


def _dot(
    name: str, value: Interval, place: int, style: Style, word: str, more: str, **columns: list[float]
) -> go.Scatter:
    return go.Scatter(
        x=[value.value], y=[place + DROP], name=name, mode="markers",
        marker={"color": style.color, "symbol": style.symbol, "size": 10},
        error_x=whiskers(value.value, value.low, value.high, style.color),
        **carry(value=[value.value], low=[value.low], high=[value.high], **columns),
        hovertemplate=f"{plain(name)}<br>{word} %{{customdata[0]:.3r}}{_HOVER}<br>{more}<extra></extra>",
    )  # fmt: skip


def _reference_line(fig: go.Figure, rows: Sequence[Row], values: Sequence[Interval]) -> None:
    """The first method's value through all rows."""
    if rows and np.isfinite(values[0].value):
        line_through_rows(fig, values[0].value, len(rows), rows[0][2].color)


def _way(fig: go.Figure, start: float, end: float, place: int, style: Style) -> None:
    """A broad faint line from one value to another in a row."""
    if np.isfinite(start) and start != end:
        fig.add_scatter(
            x=[start, end], y=[place + DROP] * 2, mode="lines", hoverinfo="skip",
            line={"color": fade(style.color, 0.3), "width": 5},
        )  # fmt: skip


def _log_axis(fig: go.Figure, rows: Sequence[Row], view: View) -> None:
    shown = np.array([end for _, b, _ in rows for interval in (b.ratio, b.odds) for end in interval])
    shown = shown[np.isfinite(shown) & (shown > 0)]
    low, high = (shown.min(), shown.max()) if shown.size else (1.0, 10.0)
    pad = 0.03 * np.log10(high / low) + 0.2
    set_x(fig, **log_axis(np.log10(low) - pad, np.log10(high) + pad), title_text=f"o / u   ( | {view.odds})")


def _changed(change: Interval | None) -> dict[str, list[float]]:
    if change is None:
        return {}
    return {"change": [change.value], "change_low": [change.low], "change_high": [change.high]}


def _note(result: OverUnder, value: Interval, view: View) -> str:
    return three_digits(value.value) if np.isfinite(value.value) else _missing(result, view)


def _ratio_note(result: OverUnder, view: View) -> str:
    if not np.isfinite(result.ratio.value):
        return _missing(result, view)
    return f"{three_digits(result.ratio.value)}, odds {three_digits(result.odds.value)}"


def _missing(result: OverUnder, view: View) -> str:
    if not result.n_wrong:
        return f"none {view.wrong}"
    return f"none {view.right}" if not result.n_right else "u = 0"


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + three_digits(value)


_DENSITIES_HEIGHT = 260


def confidence_densities(
    histogram: ConfidenceHistogram, style: Style, title: str = "", view: View = TOP_LABEL
) -> go.Figure:
    """Confidence of right predictions upwards and of wrong ones downwards, each group on its own height.

    Heights are not comparable between the groups, which differ in size by far; the labels give their counts.
    A good model has its wrong predictions at the left.

    Parameters
    ----------
    histogram : whose scale, linear or logit, is the axis's.
    style : of the method.
    view : whose words are used.
    """
    edges = histogram.edges
    logit_scaled = histogram.scale == "logit"
    scale: Scale = "logit" if logit_scaled else "linear"
    confidence = from_scale(edges, scale)
    groups = (
        (view.right, histogram.right, histogram.density("right"), style.color),
        (view.wrong, histogram.wrong, histogram.density("wrong"), NEUTRAL),
    )
    medians = from_scale(np.array([histogram_median(edges, count) for _, count, _, _ in groups]), scale)
    said = (
        f"{int(count.sum()):,} rows {name}, median {three_digits(median)}"
        for (name, count, _, _), median in zip(groups, medians, strict=True)
        if count.sum()
    )
    fig = go.Figure()
    quiet(fig, _DENSITIES_HEIGHT, alt=f"{view.said.capitalize()} of {'; '.join(said)}.", title=title, left=12)
    halves = [
        Half(
            name, f"{name} ({int(count.sum()):,})", density / (density.max() or 1.0), color,
            carry(low=confidence[:-1], high=confidence[1:], count=count),
            f"%{{customdata[2]:,d}} {name}<br>{view.said} %{{customdata[0]:.3r}} to %{{customdata[1]:.3r}}"
            "<extra></extra>",
        )
        for name, count, density, color in groups
    ]  # fmt: skip
    draw_mirrored(fig, edges, halves)
    set_x(fig, title_text=said_axis(view), range=[edges[0], edges[-1]])
    if logit_scaled:
        set_x(fig, **logit_ticks(edges[0], edges[-1]))
    return fig


BAND_PIXELS = 56
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
            hovertemplate=f"{plain(name)}, {view.said} %{{customdata[0]}}<br>%{{customdata[2]:,d}} rows, "
            f"{view.mean_said} %{{customdata[4]:.3r}}, {view.outcome} %{{customdata[3]:.3r}}"
            "<br>o %{customdata[5]:.3r}, u %{customdata[6]:.3r}<br>adds %{customdata[1]:+.2r} to the gap"
            "<extra></extra>",
        )  # fmt: skip
    name, gaps, style = methods[-1]
    labels = [RowLabel(bands[k], _band_note(gaps, k, view), None) for k in shown]
    said = "; ".join(f"{bands[k]} {three_digits(gaps.contribution[k])}" for k in shown)
    title = f"What each band of {view.said} adds"
    alt = f"{title} to the gap of {name}: {said}."
    frame_labelled_rows(fig, labels, alt=alt, title=title, pixels=BAND_PIXELS, drop=_MIDDLE)
    set_x(fig, title_text=f"← {view.too_low}     adds to the gap     {view.too_high} →", nticks=6)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig


def _band_note(gaps: GroupGaps, k: int, view: View) -> str:
    if not gaps.rows[k]:
        return "no rows"
    said, outcome = (percent(values[k]) for values in (gaps.confidence, gaps.accuracy))
    return f"{gaps.rows[k]:,} rows: {view.said_short} {said}, {view.outcome_short} {outcome}"


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
            f" %{{customdata[3]:+.2r}})<br>%{{customdata[4]:,d}} rows, %{{customdata[5]:,d}} {view.wrong}: "
            f"{view.mean_said} %{{customdata[6]:.3r}}, {view.outcome} %{{customdata[7]:.3r}}"
            "<br>o %{customdata[8]:.3r}, u %{customdata[11]:.3r}<extra></extra>",
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
