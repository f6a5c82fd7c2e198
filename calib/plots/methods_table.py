"""HTML pictures of intervals: the comparison as a table of methods by scores, and a small one beside a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from calib.evaluation.comparison_table import (
    MARKS,
    REFERENCE,
    Difference,
    differences,
    first_scores,
    score_rows,
)
from calib.evaluation.describe import FREQUENCIES
from calib.evaluation.score_registry import SCORES, Score, Unit
from calib.evaluation.view import View
from calib.formatting import NO_BREAK, percent
from calib.metrics.bootstrap import Interval
from calib.plots.style import GLYPHS, GUIDE, NEUTRAL, Style, shorten, text_color

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = ("NLL", "Brier", "ECE", "accuracy")
"""Scores of the table; AUROC and average precision in place of the accuracy of a rare event."""
COLORS = {"better": "#009E73", "worse": "#D55E00"}
"""Colours of the marks of a difference."""
CSS = """
.methods { border-collapse: collapse; width: 100%; font-size: .9rem; font-variant-numeric: tabular-nums; }
.methods th { font-weight: 400; text-align: left; padding: 6px; }
.methods th[scope=row] { white-space: nowrap; }
.methods thead th { font-size: .8rem; }
.methods td { text-align: right; padding: 0 6px; white-space: nowrap; }
.methods thead th.score { text-align: right; }
.methods td.dots { padding: 0; width: 38%; min-width: 90px; }
.methods tbody tr { border-top: 1px solid rgba(128,132,150,.25); }
.methods tbody tr.chosen { background: rgba(63,151,206,.16); }
.methods tr[data-fit] { cursor: pointer; }
.methods tr[data-fit]:hover { background: rgba(128,132,150,.12); }
.methods tr.line { font-style: italic; }
.methods button { all: unset; cursor: pointer; white-space: nowrap; }
.methods button:focus-visible { outline: 2px solid #3F97CE; outline-offset: 2px; }
.methods svg { display: block; }
.methods .mark { display: inline-block; width: 1em; text-align: left; }
@media (max-width: 640px) { .methods .more { display: none; } .methods td, .methods th { padding-left: 4px; } }
"""
_PIXELS = 34
"""Height of a row."""
_LONGEST = 22
"""Letters of a name."""
_FAR = 4.0
"""Methods further from the best than so many times the usual distance lie beyond the axis."""
_LINES = {
    "raw": (NEUTRAL, "0", "┃ raw"),
    "frequencies": (GUIDE, "2 4", "┊ class frequencies"),
}
"""Colour, dash and name of the lines of the raw model and of class frequencies."""


@dataclass(frozen=True)
class _Axis:
    """Axis of the main score, from one end to the other in percent of the column."""

    low: float
    high: float
    lines: Mapping[str, float]

    def place(self, value: float) -> float:
        return 100 * (value - self.low) / (self.high - self.low)


def methods_table(
    table: pd.DataFrame,
    styles: Mapping[str, Style],
    view: View,
    chosen: str = "",
    clickable: bool = False,
    muted: bool = False,
) -> str:
    """Return the table of methods from the best to the worst, with class frequencies and the raw model at the end.

    Parameters
    ----------
    table : as from :func:`calib.compare`; its first method is the raw model.
    styles : by method; others are left out.
    view : names of the scores.
    chosen : method whose row is marked.
    clickable : give each row of a calibrator a button, and its method in ``data-fit``.
    muted : draw the marks without colours, where better than the raw model is no merit.
    """
    keys = first_scores(table, COLUMNS)[: len(COLUMNS)]
    main = SCORES[next(key for key in keys if SCORES[key].claims)].seen(view)
    ordered = differences(table, main.key)
    raw = next(row for row in ordered if row.verdict == REFERENCE)
    methods = [row for row in ordered if row is not raw and row.method in styles]
    cells = {row.method: row.cells for row in score_rows(table, keys)}
    by_key = {key: {row.method: row for row in differences(table, key)} for key in keys}
    decimals = {key: _decimals(by_key[key].values()) for key in keys}
    frequencies = cells[FREQUENCIES][main.key].value.value if FREQUENCIES in cells else math.nan
    axis = _axis(methods, raw.value, frequencies)
    titles = {row.method: row.title for row in ordered} | {FREQUENCIES: FREQUENCIES.capitalize()}
    order = [row.method for row in methods]
    order += [FREQUENCIES] * math.isfinite(frequencies) + [raw.method]
    rows = []
    for method in order:
        scores = []
        for place, key in enumerate(keys):
            cell, difference = cells[method][key], by_key[key].get(method)
            colors = {} if muted else COLORS
            text = _score_cell(key, cell.value, difference, decimals[key], view, colors)
            scores.append(f'<td class="{"more" if place % 2 else "score"}" {text}</td>')
        joint = next((row for row in methods if row.method == method), None)
        dots = _dots(axis, joint, styles.get(method), cells[method][main.key].value)
        head = _name(
            _short(titles[method], titles.values()),
            styles.get(method),
            clickable and joint is not None,
        )
        kind = "chosen" if method == chosen else "line" if joint is None else ""
        fit = f' data-fit="{escape(method)}"' if clickable and joint is not None else ""
        rows.append(
            f'<tr class="{kind}"{fit}><th scope="row" title="{escape(titles[method])}">{head}</th>'
            f'{"".join(scores)}<td class="dots">{dots}</td></tr>'
        )
    return (
        f'<table id="methods" class="methods"><thead><tr><th>method</th>{_heads(keys, view)}'
        f"<th>{_axis_head(main, axis)}</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _heads(keys: Sequence[str], view: View) -> str:
    heads = []
    for place, key in enumerate(keys):
        score = SCORES[key].seen(view)
        kind = "score more" if place % 2 else "score"
        heads.append(
            f'<th class="{kind}" title="{escape(score.meaning)}">{escape(score.title)}</th>'
        )
    return "".join(heads)


def _axis_head(main: Score, axis: _Axis) -> str:
    """Name the axis and its lines."""
    visible = [_LINES[line] for line, at in axis.lines.items() if 0 <= axis.place(at) <= 100]
    lines = [f'<span style="color:{text_color(color)}">{name}</span>' for color, _, name in visible]
    return f"{escape(main.title)}, 95{NO_BREAK}%{NO_BREAK}joint<br>{' '.join(lines)}"


def _decimals(rows: Iterable[Difference]) -> int:
    """Decimals by which the differences between methods have two significant digits, 2 or 3."""
    values = np.array([row.value for row in rows if math.isfinite(row.value)])
    spread = float(np.median(np.abs(values - np.median(values)))) if len(values) else 0.0
    return int(np.clip(1 - math.floor(math.log10(spread)), 2, 3)) if spread > 0 else 3


def _score_cell(
    key: str,
    value: Interval,
    difference: Difference | None,
    decimals: int,
    view: View,
    colors: Mapping[str, str],
) -> str:
    """The rest of a cell's tag with its hover, and its text: the value and the mark of its difference."""
    if math.isnan(value.value):
        return 'title="Needs the probabilities of all classes.">–'
    unit = SCORES[key].unit if key in ("NLL", "accuracy") else Unit("", 1.0)

    def write(number: float) -> str:
        return percent(number) if key == "accuracy" else f"{number:.{decimals}f}"

    hover = f"{SCORES[key].seen(view).title} {write(value.value)}"
    if math.isfinite(value.low + value.high):
        hover += f" (95{NO_BREAK}%: {write(value.low)} to {write(value.high)})"
    mark = ""
    if difference is not None and difference.verdict not in ("", REFERENCE):
        word = difference.verdict
        change = " to ".join(f"{end * unit.scale:+.2g}" for end in difference.difference[1:])
        hover += f"; against the raw model {word}, by {change} {unit.name}".rstrip()
        color = f' style="color:{text_color(colors[word])}"' if word in colors else ""
        mark = f"<span{color}>{MARKS.get(word, '')}</span>"
    return f'title="{escape(hover)}">{write(value.value)} <span class="mark">{mark}</span>'


def _short(title: str, titles: Iterable[str]) -> str:
    """Leave out what stands in brackets, "By group (column=region)", unless another title begins alike."""
    short = title.partition(" (")[0]
    return title if sum(other.partition(" (")[0] == short for other in titles) > 1 else short


def _name(title: str, style: Style | None, button: bool) -> str:
    name = escape(shorten(title, _LONGEST))
    if style is not None:
        glyph = GLYPHS[style.symbol]
        name = f'<span style="color:{text_color(style.color)}">{glyph}</span> {name}'
    return f'<button type="button">{name}</button>' if button else name


def _axis(methods: Sequence[Difference], raw: float, frequencies: float) -> _Axis:
    """Return an axis that shows the differences between the methods; one far worse than most lies beyond its end."""
    finite = [row for row in methods if math.isfinite(row.value)]
    values = np.array([row.value for row in finite]) if finite else np.array([raw])
    lines = {"raw": raw, "frequencies": frequencies}
    lines = {name: value for name, value in lines.items() if math.isfinite(value)}
    middle = float(np.median(values))
    reach = _FAR * max(float(np.median(np.abs(values - middle))), 1e-3)
    near = [row for row in finite if row.value - middle <= reach] or finite
    ends = [raw + end for row in near for end in row.difference if math.isfinite(end)] or [raw]
    low, high = min(ends), max(ends)
    room = max(high - low, 1e-6)
    inside = [value for value in lines.values() if low - room <= value <= high + room]
    low, high = min([low, *inside]), max([high, *inside])
    pad = 0.06 * max(high - low, 1e-6)
    return _Axis(low - pad, high + pad, lines)


def _dots(axis: _Axis, row: Difference | None, style: Style | None, value: Interval) -> str:
    """Draw a row: lines of the raw model and of class frequencies, and a method's dot on its joint interval."""
    x = axis.place(value.value)
    beyond = math.isfinite(x) and not 0 <= x <= 100
    parts = []
    for line, at in axis.lines.items():
        place = axis.place(at)
        under_text = beyond and abs(place - np.clip(x, 0, 100)) < 35
        if 0 <= place <= 100 and not under_text:
            color, dash, _ = _LINES[line]
            parts.append(
                f'<line x1="{place:.2f}%" x2="{place:.2f}%" y1="0" y2="{_PIXELS}" stroke="{color}" '
                f'stroke-dasharray="{dash}"/>'
            )
    if beyond:
        edge, anchor, text = ("2%", "start", "←") if x < 0 else ("98%", "end", "→")
        parts.append(
            f'<text x="{edge}" y="{_PIXELS / 2 + 4:g}" text-anchor="{anchor}" font-size="12" fill="currentColor">'
            f"{value.value:.2g} {text}</text>"
        )
    elif row is not None and style is not None and math.isfinite(x):
        raw = row.value - row.difference.value
        ends = [raw + end for end in row.difference[1:]]
        if all(map(math.isfinite, ends)):
            low, high = (float(np.clip(axis.place(end), 0, 100)) for end in sorted(ends))
            middle = f'y1="{_PIXELS / 2:g}" y2="{_PIXELS / 2:g}"'
            parts.append(
                f'<line x1="{low:.2f}%" x2="{high:.2f}%" {middle} stroke="{style.color}" stroke-width="2"/>'
            )
        parts.append(f'<circle cx="{x:.2f}%" cy="{_PIXELS / 2:g}" r="5" fill="{style.color}"/>')
    label = f"{value.value:.3g}" if math.isfinite(value.value) else "no value"
    return f'<svg width="100%" height="{_PIXELS}" role="img" aria-label="{label}">{"".join(parts)}</svg>'


WIDTH = 176
"""Pixels."""
_ROW = 30
_LINE = 15
_DOT = 9
_PAD = 8
_LONGEST_LABEL = 24


def small_intervals(
    rows: Sequence[tuple[str, Interval]], reference: float, title: str, color: str
) -> str:
    """Draw intervals in HTML, which a page may show where it removes SVG.

    Parameters
    ----------
    rows : name, which may be empty, and estimate of each.
    reference : value at which nothing is off, drawn as a line.
    title : of the reference, written beneath its line, such as "slope 1".
    color : of the marks.
    """
    ends = np.array([[*interval[1:], reference] for _, interval in rows])
    low, high = float(ends.min()), float(ends.max())
    scale = (WIDTH - 2 * _PAD) / ((high - low) or 1.0)
    heights = [_ROW if name else _LINE for name, _ in rows]
    height = sum(heights)
    line = _place(reference, low, scale)
    parts = [_box(line, 0, 1, height, GUIDE)]
    for bottom, (name, interval) in zip(np.cumsum(heights), rows, strict=True):
        value, left, right = (_place(part, low, scale) for part in interval)
        middle = bottom - _DOT
        parts.append(_text(name, bottom - _ROW, "left"))
        parts.append(_box(left, middle - 1, right - left, 2, color))
        parts.append(_box(value - _DOT / 2, middle - _DOT / 2, _DOT, _DOT, color, "50%"))
    parts.append(_text(title, height, "right" if line > WIDTH / 2 else "left"))
    description = "; ".join(
        f"{name} {value:.3g} ({a:.3g} to {b:.3g})" for name, (value, a, b) in rows
    )
    return (
        f'<div role="img" aria-label="{escape(description)}" style="position:relative;width:{WIDTH}px;'
        f'height:{height + _LINE}px;font-size:11px;line-height:{_LINE}px">{"".join(parts)}</div>'
    )


def _box(
    left: float, top: float, width: float, height: float, color: str, radius: str = "0"
) -> str:
    return (
        f'<div style="position:absolute;left:{left:.1f}px;top:{top:.1f}px;width:{width:.1f}px;'
        f'height:{height:.1f}px;background:{color};border-radius:{radius}"></div>'
    )


def _text(text: str, top: float, side: str) -> str:
    place = f"position:absolute;{side}:0;top:{top}px;white-space:nowrap"
    return f'<div style="{place}">{escape(shorten(text, _LONGEST_LABEL))}</div>'


def _place(value: float, low: float, scale: float) -> float:
    return round(_PAD + (value - low) * scale, 1)
