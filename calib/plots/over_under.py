"""Figures of the ratio of over- and underconfidence, its bound, and of the gap by band and by class or group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Ints
from calib.plots.annotations import (
    carry,
    draw_line,
    draw_marks,
    whiskers,
)
from calib.plots.axes import log_axis, span
from calib.plots.lines import Curve, describe_ends, line_chart
from calib.plots.rows import DROP, RowLabel, draw_row, frame_rows, line_through_rows, name_colors
from calib.plots.style import (
    GUIDE,
    THIN,
    Style,
    fade,
    join_named,
    plain,
    set_x,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.gaps import GroupGaps
    from calib.diagnostics.over_under import OverUnder, TheoremOne


Row = tuple[str, "OverUnder", Style]
"""Title, result and style of a method; the first row, by custom the raw model, is what others are compared with."""


def ratio_to_odds(rows: Sequence[Row], view: View = TOP_LABEL) -> go.Figure:
    """The ratio o / u of each method with its interval, beside the odds of its accuracy: where a calibrated one lies.

    Parameters
    ----------
    rows : methods.
    view : whose words are used.
    """
    fig = go.Figure()
    labels = []
    first = rows[0][1].ratio.value if rows else np.nan
    if np.isfinite(first):
        line_through_rows(fig, first, len(rows), Style(rows[0][2].color))
    for place, (name, result, style) in enumerate(rows):
        ratio, odds = result.ratio, result.odds
        defined = np.isfinite(ratio.value)
        note = f"{three_digits(ratio.value)}, odds {three_digits(odds.value)}"
        labels.append(RowLabel(name, note if defined else _missing(result, view), style.color))
        if np.isfinite(odds.value) and odds.value > 0:
            interval = "{odds:.3r} ({odds_low:.3r} to {odds_high:.3r})"
            hover = f"{plain(name)}<br>{view.wording.odds_label} {interval}"
            told = carry(hover, odds=[odds.value], odds_low=[odds.low], odds_high=[odds.high])
            tick = {"size": 15, "symbol": "line-ns-open"}
            at = [odds.value], [place + DROP]
            draw_marks(fig, *at, Style(GUIDE), f"{name}, odds", told, **tick)
        if defined:
            _way(fig, odds.value, ratio.value, place, style)
            carried = carry(
                f"{plain(name)}<br>o / u {{value:.3r}} ({{low:.3r}} to {{high:.3r}})<br>"
                f"{three_digits(result.ratio_over_odds.value)} times the odds",
                value=[ratio.value],
                low=[ratio.low],
                high=[ratio.high],
            )
            draw_row(fig, place, ratio, style, name, carried)
    alt = f"Ratio o / u beside the odds it should equal. {join_named({row.name: row.note for row in labels})}."
    frame_rows(fig, labels, alt=alt, title="Ratio o / u")
    ends = np.array([[result.ratio, result.odds] for _, result, _ in rows])
    powers = np.log10(ends[np.isfinite(ends) & (ends > 0)])
    low, high = (float(powers.min()), float(powers.max())) if powers.size else (0.0, 1.0)
    pad = 0.03 * (high - low) + 0.1
    title = f"o / u   ( | {view.wording.odds_label})"
    set_x(fig, **log_axis(low - pad, high + pad), title_text=title)
    return fig


def _way(fig: go.Figure, start: float, end: float, place: int, style: Style) -> None:
    """A broad faint line from one value to another in a row."""
    if np.isfinite(start) and start != end and min(start, end) >= 0:
        draw_line(fig, [start, end], [place + DROP] * 2, Style(fade(style.color, 0.3)), width=5)


def _missing(result: OverUnder, view: View) -> str:
    if not result.n_wrong:
        return f"none {view.wording.negative_label}"
    return f"none {view.wording.positive_label}" if not result.n_right else "u = 0"


_APART = 0.12
"""Marks of two methods lie so far above and below the middle of a row's lower part."""

Gaps = Sequence[tuple[str, "GroupGaps", Style]]
"""Title, gaps by group and style of the raw model, and of one method to set beside it."""


def band_name(low: float, high: float) -> str:
    """A band in words: "below 0.5", "0.5 to 0.7", "0.99 to 1"."""
    return f"{low:g} to {high:g}" if low > 0 else f"below {high:g}"


def band_chart(methods: Gaps, view: View = TOP_LABEL) -> go.Figure:
    """Draw the contribution of each band to the gap: its share of the rows times its confidence minus accuracy.

    Parameters
    ----------
    methods : gaps by band.
    view : whose bands and words are used.
    """
    wording = view.wording
    bands = [band_name(low, high) for low, high in pairwise(view.bands)]
    nonempty = [k for k in range(len(bands)) if any(gaps.rows[k] for _, gaps, _ in methods)]
    name, gaps, _ = methods[-1]
    labels = [RowLabel(bands[k], _band_note(name, gaps, k, view)) for k in nonempty]
    adds = join_named({bands[k]: three_digits(gaps.contribution[k]) for k in nonempty})
    alt = f"{wording.band_title} to the gap of {name}: {adds}."
    x_title = "adds to the gap"
    return _draw_gaps(methods, nonempty, labels, "band", view, alt, wording.band_title, x_title)


def _band_note(name: str, gaps: GroupGaps, k: int, view: View) -> str:
    if not gaps.rows[k]:
        return f"no rows of {name}"
    return f"{gaps.rows[k]:,} rows: {view.wording.describe_group(gaps.confidence[k], gaps.accuracy[k])}"


def per_class_chart(
    class_names: Sequence[str],
    order: Ints,
    methods: Gaps,
    title: str = "",
    view: View = TOP_LABEL,
) -> go.Figure:
    """Draw mean confidence minus accuracy of classes or groups.

    Parameters
    ----------
    class_names : (n_classes,)
    order : numbers of the classes to show, from the top; each with at least one row of the last method.
    methods : gaps by class.
    title : heading.
    view : whose words are used.
    """
    wording = view.wording
    name, gaps, _ = methods[-1]
    labels = [RowLabel(str(class_names[k]), f"{gaps.rows[k]:,} rows") for k in order]
    worst = join_named({str(class_names[k]): three_digits(gaps.gap[k]) for k in order[:5]})
    alt = f"Mean {wording.gap_label} of {len(order)} rows, {name}, the worst first: {worst}."
    alt = alt if len(order) else "No class has enough rows."
    x_title = f"{wording.predicted_label} − {wording.observed_label}"
    return _draw_gaps(methods, order, labels, "class", view, alt, title, x_title)


def _draw_gaps(
    methods: Gaps,
    groups: Any,
    labels: Sequence[RowLabel],
    kind: str,
    view: View,
    alt: str,
    title: str,
    x_title: str,
) -> go.Figure:
    """Draw a dot with its interval for each group, and the raw model's above it: its gap, or what a band adds to it."""
    fig = go.Figure()
    wording = view.wording
    names = [row.name for row in labels]
    line_through_rows(fig, 0, len(labels), THIN)
    offsets = (-_APART, _APART) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        columns = ("gap", "gap_low", "gap_high", "rows", "wrong", "confidence", "accuracy")
        hover = carry(
            f"%{{text}}, {plain(name)}<br>gap {{gap:+.2r}} ({{gap_low:+.2r}} to {{gap_high:+.2r}})<br>{{rows:,d}} rows,"
            f" {{wrong:,d}} {wording.negative_label}: {wording.mean_label} {{confidence:.3r}}, "
            f"{wording.observed_label} {{accuracy:.3r}}<br>o {{over:.3r}}, u {{under:.3r}}<br>"
            "adds {adds:+.2r} to the gap",
            **{kind: np.array(names, dtype=object)},
            **{column: getattr(gaps, column)[groups] for column in (*columns, "over", "under")},
            adds=gaps.contribution[groups],
        )
        points = 100 * (gaps.share if kind == "band" else 1.0)
        ends = (gaps.gap, gaps.gap_low, gaps.gap_high)
        gap, low, high = ((points * end)[groups] for end in ends)
        look: dict[str, Any] = {"size": 7 if offset < 0 else 9, "text": list(map(plain, names))}
        bars = whiskers(gap, low, high, style.color)
        y = np.arange(len(labels)) + DROP + offset
        draw_marks(fig, gap, y, style, name, hover, error_x=bars, **look)
    frame_rows(fig, labels, alt=alt, title=title)
    set_x(fig, title_text=f"{x_title}, in points   {wording.too_high_label} →", nticks=7)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig


_LEAST = 1e-4
LINKS = ("gap", "ECE₁", "ECE₂", "ECE∞")


def theorem_chain(chains: Sequence[tuple[str, TheoremOne, Style]]) -> go.Figure:
    """Draw the gap of each method and its calibration errors as a line that never falls.

    The axis is logarithmic because the errors differ by factors; a value below 0.0001 is drawn at its end.

    Parameters
    ----------
    chains : (title, theorem, style) of each method.
    """
    places = np.arange(len(LINKS))
    curves = [
        Curve(
            name,
            style,
            places,
            theorem.chain,
            more={"quantity": LINKS},
            at=(places, np.maximum(theorem.chain, _LEAST)),
        )
        for name, theorem, style in chains
    ]
    ends = span(*(np.log10(np.maximum(curve.y, _LEAST)) for curve in curves), pad=0.06, least=0.1)
    x_axis = {"range": span(places), "tickvals": places, "ticktext": LINKS}
    return line_chart(
        curves,
        ("place", "value"),
        x_axis,
        {**log_axis(*ends), "title_text": "difference"},
        "The gap and its bounds: no line falls",
        f"{' ≤ '.join(LINKS)}: from the first to the last, {describe_ends(curves)}.",
        hover="{quantity}",
    )
