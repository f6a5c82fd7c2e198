"""Small pictures of intervals beside a sentence: a dot on its line for each row, against a reference."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from calib.metrics.bootstrap import Interval
from calib.plots.style import GUIDE, shorten

WIDTH = 176
"""Pixels."""
_ROW = 30
_LINE = 15
_DOT = 9
_PAD = 8
_LONGEST = 24


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
    told = "; ".join(f"{name} {value:.3g} ({a:.3g} to {b:.3g})" for name, (value, a, b) in rows)
    return (
        f'<div role="img" aria-label="{escape(told)}" style="position:relative;width:{WIDTH}px;'
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
    return f'<div style="{place}">{escape(shorten(text, _LONGEST))}</div>'


def _place(value: float, low: float, scale: float) -> float:
    return round(_PAD + (value - low) * scale, 1)
