"""Figures of the ratio of over- and underconfidence, its bound, and of the gap by band and by class or group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats, Ints
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_line,
    draw_marks,
    note,
    whiskers,
)
from calib.plots.axes import Scale, from_scale, histogram_median, log_axis, logit_ticks
from calib.plots.reliability import axis_title
from calib.plots.rows import DROP, RowLabel, draw_row, frame_rows, line_through_rows, name_colors
from calib.plots.style import (
    GUIDE,
    NEUTRAL,
    THIN,
    Style,
    add_line,
    fade,
    join_named,
    overlapping,
    plain,
    quiet,
    set_x,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.gaps import GroupGaps
    from calib.diagnostics.histograms import ConfidenceHistogram
    from calib.diagnostics.over_under import OverUnder, TheoremOne
    from calib.metrics.bootstrap import Interval


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
    _reference_line(fig, rows, [result.ratio for _, result, _ in rows])
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
            times = f"{three_digits(result.ratio_over_odds.value)} times the odds"
            draw_row(fig, place, ratio, style, name, _hover(name, "o / u", ratio, times))
    alt = f"Ratio o / u beside the odds it should equal. {join_named({row.name: row.note for row in labels})}."
    frame_rows(fig, labels, alt=alt, title="Ratio o / u")
    ends = np.array([[result.ratio, result.odds] for _, result, _ in rows])
    powers = np.log10(ends[np.isfinite(ends) & (ends > 0)])
    low, high = (float(powers.min()), float(powers.max())) if powers.size else (0.0, 1.0)
    pad = 0.03 * (high - low) + 0.1
    title = f"o / u   ( | {view.wording.odds_label})"
    set_x(fig, **log_axis(low - pad, high + pad), title_text=title)
    return fig


def _hover(name: str, word: str, value: Interval, more: str) -> dict[str, Any]:
    columns = {"value": [value.value], "low": [value.low], "high": [value.high]}
    return carry(
        f"{plain(name)}<br>{word} {{value:.3r}} ({{low:.3r}} to {{high:.3r}})<br>{more}", **columns
    )


def _reference_line(fig: go.Figure, rows: Sequence[Row], values: Sequence[Interval]) -> None:
    """The first method's value through all rows."""
    if rows and np.isfinite(values[0].value):
        line_through_rows(fig, values[0].value, len(rows), Style(rows[0][2].color))


def _way(fig: go.Figure, start: float, end: float, place: int, style: Style) -> None:
    """A broad faint line from one value to another in a row."""
    if np.isfinite(start) and start != end and min(start, end) >= 0:
        draw_line(fig, [start, end], [place + DROP] * 2, Style(fade(style.color, 0.3)), width=5)


def _missing(result: OverUnder, view: View) -> str:
    if not result.n_wrong:
        return f"none {view.wording.negative_label}"
    return f"none {view.wording.positive_label}" if not result.n_right else "u = 0"


_BAND_PIXELS = 56
_MIDDLE = 0.22
_HALF = 0.1
"""Bars lie so far above (the raw model's) and below (the method's) the middle line of a row's lower part."""


def band_name(low: float, high: float) -> str:
    """A band in words: "below 0.5", "0.5 to 0.7", "0.99 to 1"."""
    return f"{low:g} to {high:g}" if low > 0 else f"below {high:g}"


def band_chart(methods: list[tuple[str, GroupGaps, Style]], view: View = TOP_LABEL) -> go.Figure:
    """Draw the contribution of each band to the gap: its share of the rows times its confidence minus accuracy.

    Parameters
    ----------
    methods : (title, gaps by band, style) of the raw model, and of one method to set beside it.
    view : whose bands and words are used.
    """
    fig = go.Figure()
    wording = view.wording
    predicted, observed = wording.predicted_label, wording.observed_label
    bands = [band_name(low, high) for low, high in pairwise(view.bands)]
    nonempty = [k for k in range(len(bands)) if any(gaps.rows[k] for _, gaps, _ in methods)]
    line_through_rows(fig, 0, len(nonempty), THIN, _MIDDLE)
    offsets = (-_HALF, _HALF) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        value = gaps.contribution[nonempty]
        ends = (
            np.where(gaps.rows, gaps.share * end, 0.0)[nonempty]
            for end in (gaps.gap_low, gaps.gap_high)
        )
        at, low, high = (100 * part for part in (value, *ends))  # in points, as the table has them
        hover = carry(
            f"{plain(name)}, {predicted} {{band}}<br>{{rows:,d}} rows, {wording.mean_label} {{{predicted}:.3r}}, "
            f"{observed} {{{observed}:.3r}}<br>o {{over:.3r}}, u {{under:.3r}}<br>adds {{adds:+.2r}} to the gap",
            band=np.array([bands[k] for k in nonempty], dtype=object),
            adds=value,
            rows=gaps.rows[nonempty],
            **{observed: gaps.accuracy[nonempty], predicted: gaps.confidence[nonempty]},
            **_columns(gaps, nonempty, "over", "under", "gap", "gap_low", "gap_high"),
        )
        y = np.arange(len(nonempty)) + _MIDDLE + offset
        bars = whiskers(at, low, high, style.color, 1.5)
        look = {"orientation": "h", "width": 0.17, "marker": overlapping(style.color)}
        fig.add_bar(x=at, y=y, name=name, error_x=bars, **look, **hover)
    name, gaps, style = methods[-1]
    labels = [RowLabel(bands[k], _band_note(name, gaps, k, view)) for k in nonempty]
    title = wording.band_title
    adds = join_named({bands[k]: three_digits(gaps.contribution[k]) for k in nonempty})
    alt = f"{title} to the gap of {name}: {adds}."
    frame_rows(fig, labels, alt=alt, title=title, pixels=_BAND_PIXELS, drop=_MIDDLE)
    sides = f"← {wording.too_low_label}     {wording.too_high_label} →"
    set_x(fig, title_text=f"adds to the gap, in points<br>{sides}")
    add_line(fig)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig


def _columns(gaps: GroupGaps, groups: Any, *names: str) -> dict[str, Any]:
    """Columns of some groups for a trace."""
    return {name: getattr(gaps, name)[groups] for name in names}


def _band_note(name: str, gaps: GroupGaps, k: int, view: View) -> str:
    if not gaps.rows[k]:
        return f"no rows of {name}"
    return f"{gaps.rows[k]:,} rows: {view.wording.describe_group(gaps.confidence[k], gaps.accuracy[k])}"


_APART = 0.12
"""Marks of two methods lie so far above and below the middle of a row's lower part."""


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
    wording = view.wording
    names = [str(class_names[k]) for k in order]
    line_through_rows(fig, 0, len(order), THIN)
    offsets = (-_APART, _APART) if len(methods) > 1 else (0.0,)
    for offset, (name, gaps, style) in zip(offsets, methods, strict=True):
        gap, low, high = (values[order] for values in (gaps.gap, gaps.gap_low, gaps.gap_high))
        hover = carry(
            f"%{{text}}, {plain(name)}<br>gap {{gap:+.2r}} ({{gap_low:+.2r}} to {{gap_high:+.2r}})<br>{{rows:,d}} rows,"
            f" {{wrong:,d}} {wording.negative_label}: {wording.mean_label} {{confidence:.3r}}, "
            f"{wording.observed_label} {{accuracy:.3r}}<br>o {{over:.3r}}, u {{under:.3r}}",
            **{"class": np.array(names, dtype=object)},
            **_columns(gaps, order, "gap", "gap_low", "gap_high", "rows", "wrong"),
            **_columns(gaps, order, "confidence", "accuracy", "over", "under"),
        )
        in_points = 100 * gap
        y = np.arange(len(order)) + DROP + offset
        bars = whiskers(in_points, 100 * low, 100 * high, style.color)
        more = {"size": 7 if offset < 0 else 9, "text": [plain(name) for name in names]}
        draw_marks(fig, in_points, y, style, name, hover, error_x=bars, **more)
    name, gaps, _ = methods[-1]
    worst = join_named({str(class_names[k]): three_digits(gaps.gap[k]) for k in order[:5]})
    alt = f"Mean {wording.gap_label} of {len(order)} rows, {name}, the worst first: {worst}."
    labels = [
        RowLabel(class_name, f"{gaps.rows[k]:,} rows")
        for k, class_name in zip(order, names, strict=True)
    ]
    frame_rows(fig, labels, alt=alt if len(order) else "No class has enough rows.", title=title)
    difference = f"{wording.predicted_label} − {wording.observed_label}"
    set_x(fig, title_text=f"{difference}, in points   {wording.too_high_label} →", nticks=7)
    name_colors(fig, [(name, style) for name, _, style in methods])
    return fig


_LEFT_END = 1e-4
LINKS = ("gap", "ECE₁", "ECE₂", "ECE∞")
_SYMBOLS = ("", "1", "2", "∞")
_TOUCHING = 0.03
"""Marks nearer than this share of the axis have one label."""


def theorem_chain(
    chains: Sequence[tuple[str, TheoremOne, Style]], view: View = TOP_LABEL
) -> go.Figure:
    """The bound as four marks in a row per method, none to the left of the one before.

    The method's own marker is the gap; the ticks 1, 2 and ∞ are the calibration errors. The axis is
    logarithmic because the errors differ by factors; a value below 0.0001 is drawn at its end.

    Parameters
    ----------
    chains : (title, theorem, style) of each method.
    view : whose words are used.
    """
    lowest = min((max(theorem.chain[0], _LEFT_END) for _, theorem, _ in chains), default=_LEFT_END)
    highest = max((theorem.chain[-1] for _, theorem, _ in chains), default=1.0)
    low = np.log10(lowest) - 0.12
    high = np.log10(max(highest, 2 * lowest)) + 0.12
    fig = go.Figure()
    texts = []
    for place, (name, theorem, style) in enumerate(chains):
        x = np.maximum(theorem.chain, _LEFT_END)
        hover = carry(
            f"{plain(name)}<br>{{quantity}} = {{value:.3r}}",
            quantity=np.array(LINKS),
            value=theorem.chain,
        )
        y = np.full(4, place + DROP)
        draw_line(fig, x, y, Style(fade(style.color, 0.45)), width=3)
        ticks = {"symbol": [style.symbol] + 3 * ["line-ns-open"], "size": [11, 12, 12, 12]}
        draw_marks(fig, x, y, style, name, hover, marker_line_width=2, marker_opacity=1, **ticks)
        texts += [
            note(text, at, place + DROP, size=11, color=style.color, yshift=-13)
            for text, at in _tick_labels(np.log10(x), _TOUCHING * (high - low))
        ]
    fig.layout.annotations = texts
    values = {name: " ≤ ".join(map(three_digits, link.chain)) for name, link, _ in chains}
    alt = join_named(values)
    labels = [RowLabel(name, _side(theorem, view), style.color) for name, theorem, style in chains]
    links = " ≤ ".join(LINKS)
    title = "The chain holds in every row"
    frame_rows(fig, labels, alt=f"{links}. {alt}.", title=title, pixels=50)
    set_x(fig, **log_axis(low, high), title_text=links)
    return fig


def _tick_labels(places: Floats, touching: float) -> list[tuple[str, float]]:
    """(text, place) of the labels of the three calibration errors; marks that touch share one, in their middle."""
    clusters: list[list[int]] = []
    for i in (1, 2, 3):
        if not clusters or places[i] - places[clusters[-1][-1]] >= touching:
            clusters.append([])
        clusters[-1].append(i)
    return [
        (" ".join(_SYMBOLS[i] for i in cluster), float(places[cluster].mean()))
        for cluster in clusters
    ]


def _side(theorem: TheoremOne, view: View) -> str:
    """The gap and its sign in words."""
    gap = theorem.chain[0]
    if gap < 5e-5:
        return "gap 0.0000"
    word = view.wording.too_high_label
    if theorem.signed_gap < 0:
        word = view.wording.too_low_label
    return f"gap {gap:.4f}, {word}"


_DENSITY_HEIGHT = 260


def confidence_densities(
    histogram: ConfidenceHistogram, style: Style, title: str = "", view: View = TOP_LABEL
) -> go.Figure:
    """Confidence of right predictions upwards and of wrong ones downwards, on one square-root scale.

    A good model has its wrong predictions at the left.

    Parameters
    ----------
    histogram : whose scale, linear or logit, is the axis's.
    style : of the method.
    view : whose words are used.
    """
    edges = histogram.edges
    scale: Scale = "logit" if histogram.scale == "logit" else "linear"
    wording = view.wording
    right, wrong = wording.positive_label, wording.negative_label
    groups = [
        Counted(right, histogram.right, style.color, right),
        Counted(wrong, histogram.wrong, NEUTRAL, wrong),
    ]
    medians = [histogram_median(edges, group.count) for group in groups if group.count.sum()]
    hover = " and ".join(map(three_digits, from_scale(np.array(medians), scale)))
    counts = [int(group.count.sum()) for group in groups]
    fig = go.Figure()
    alt = f"{wording.describe_outcomes(*counts)}, median {hover}."
    quiet(fig, _DENSITY_HEIGHT, alt=alt, title=title)
    draw_counts(fig, edges, from_scale(edges, scale), groups, wording.predicted_label)
    set_x(fig, title_text=axis_title(view), range=[edges[0], edges[-1]])
    if scale == "logit":
        set_x(fig, **logit_ticks(edges[0], edges[-1]))
    return fig
