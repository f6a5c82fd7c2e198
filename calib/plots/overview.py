"""A strip of all methods' differences from the raw model.

Every row of the strip is covered by invisible squares, so that a click anywhere on it chooses the method: plotly
reports clicks on points alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.comparison_table import Difference
from calib.evaluation.score_registry import Score, Unit
from calib.metrics.bootstrap import Interval
from calib.plots.annotations import carry
from calib.plots.style import (
    GLYPHS,
    GUIDE,
    NEUTRAL,
    Limits,
    Style,
    colored,
    fade,
    label,
    plain,
    quiet,
    set_layout,
)

if TYPE_CHECKING:
    pass

LONGEST_NAME = 24

ROW_PIXELS = 27
_STRIP_TOP, _STRIP_BOTTOM = 8, 52
_ACROSS = 20
"""Squares beside each other in a row of the strip."""
_NUMBERS = 0.83
"""Where numbers end and words begin, as a share of the width."""
_FAR = 4.0
"""Methods that are worse by more than so many times the usual difference are drawn open at the end of the axis."""


def name_with_glyph(title: str, style: Style) -> str:
    """A method's name in the ink of the text, behind its marker in its colour."""
    return f"{colored(GLYPHS[style.symbol], style.color)} {label(title, LONGEST_NAME)}"


def signed_text(value: float, decimals: int) -> str:
    """A difference with its sign, a true minus and so many decimals; 0 without a sign."""
    text = f"{value:+.{decimals}f}".replace("-", "−")
    return text[1:] if float(f"{value:.{decimals}f}") == 0 else text


def decimals_of(relevant: float) -> int:
    """Decimals of differences: one more than the smallest relevant one has; four where any is relevant."""
    return max(1, 1 - math.floor(math.log10(relevant) + 1e-9)) if relevant > 0 else 4


def difference_strip(
    rows: Sequence[Difference],
    styles: Mapping[str, Style],
    score: Score,
    frequencies: float = math.nan,
) -> go.Figure:
    """One row per method: its score minus the raw model's, with the joint interval, the number and what it shows.

    What is clicked carries the row's number in ``customdata[0]``.

    Parameters
    ----------
    rows : in the order to draw.
    styles : by the method of the row.
    score : as it is seen in the view; differences below the smallest relevant one are shaded.
    frequencies : difference of class frequencies, for a dotted line; NaN for none.
    """
    unit = score.unit
    relevant = rows[0].relevant
    decimals = decimals_of(relevant * unit.scale)
    ends = _strip_range([row.difference for row in rows], relevant, score.better)
    places = list(range(len(rows)))
    told = [
        f"<b>{plain(row.title)}</b><br>{_told(row, unit, decimals)}<br>click to see its diagram"
        for row in rows
    ]
    names = [name_with_glyph(row.title, styles[row.method]) for row in rows]
    traces = [
        *(
            _strip_row(row, styles[row.method], place, unit, ends)
            for row, place in zip(rows, places, strict=True)
        ),
        _texts(names, [0.0] * len(rows), places, "middle right"),
        _texts(
            [_number(row, unit, decimals) for row in rows],
            [_NUMBERS] * len(rows),
            places,
            "middle left",
        ),
        _texts(
            [_word(row) if _known(row) else "" for row in rows],
            [_NUMBERS] * len(rows),
            places,
            "middle right",
        ),
        _texts(
            ["" if _known(row) else _word(row) for row in rows],
            [1.0] * len(rows),
            places,
            "middle left",
        ),
        _targets(told),
    ]
    for trace in traces[-5:]:
        trace["xaxis"] = "x2"
    edge = relevant * unit.scale
    whole = {"y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
    shapes = [
        {
            "type": "rect",
            "x0": -edge,
            "x1": edge,
            "fillcolor": fade(NEUTRAL, 0.18),
            "line_width": 0,
            **whole,
        },
        {"type": "line", "x0": 0, "x1": 0, "line": {"color": GUIDE, "width": 1.2}, **whole},
    ]
    low, high = sorted(ends)
    if low <= frequencies <= high:
        at = frequencies * unit.scale
        line = {"color": GUIDE, "width": 1.2, "dash": "dot"}
        label = {"text": "class frequencies", "textposition": "top center", "font": {"size": 11}}
        shapes.append({"type": "line", "x0": at, "x1": at, "line": line, "label": label, **whole})
    fig = go.Figure({"data": traces, "layout": {"shapes": shapes}})
    words = [row.verdict for row in rows if _known(row)]
    counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    first = f"first {rows[0].title} {_told(rows[0], unit, decimals)}"
    alt = f"{score.title} of {len(rows)} methods, in their order, minus that of the raw model: {counts}; {first}."
    quiet(fig, _STRIP_TOP + _STRIP_BOTTOM + ROW_PIXELS * len(rows), alt=alt)
    arrow = {"lower": "← better", "higher": "better →"}.get(score.better, "")
    name = " ".join(
        filter(None, ["difference", f"in {unit.name}" if unit.name else "", "  ", arrow])
    )
    longest = min(max(len(row.title) for row in rows), LONGEST_NAME)
    hidden = {"visible": False, "fixedrange": True}
    set_layout(
        fig,
        dragmode=False,
        margin={"l": 0, "r": 0, "t": _STRIP_TOP, "b": _STRIP_BOTTOM},
        # Between the names and the words; the figure is 350 pixels wide and more.
        xaxis={
            "domain": [min(0.06 + 0.0155 * longest, 0.38), _NUMBERS - 0.14],
            "range": [end * unit.scale for end in ends],
            "tickvals": _ticks(ends, unit),
            "fixedrange": True,
            "title_text": name,
            "showgrid": True,
        },
        xaxis2={"domain": [0, 1], "range": [0, 1], "anchor": "y", **hidden},
        yaxis={"range": [len(rows) - 0.5, -0.5], **hidden},
    )
    return fig


def _ticks(ends: Limits, unit: Unit) -> list[float]:
    """0 and the largest 1, 2 or 5 of a power of ten on either side: so few that they never collide."""
    low, high = (end * unit.scale for end in ends)
    most = max(-low, high)
    power = 10.0 ** math.floor(math.log10(most))
    step = power * max(factor for factor in (1, 2, 5) if factor * power <= most * (1 + 1e-9))
    return [tick for tick in (-step, 0.0, step) if low <= tick <= high]


def _strip_range(differences: Sequence[Interval], relevant: float, better: str) -> Limits:
    """Ends of the axis: of all values; only what is far worse than usual, and intervals far wider, are cut."""
    values = np.array([each.value for each in differences if math.isfinite(each.value)])
    ends = np.array([end for each in differences for end in each[1:] if math.isfinite(end)])
    reach = np.abs(values[values != 0])
    most = max(_FAR * float(np.median(reach)) if reach.size else 0.0, 3 * relevant)
    sides = {"lower": (-np.inf, most), "higher": (-most, np.inf)}.get(better, (-np.inf, np.inf))
    kept = np.clip(np.r_[values, 0.0], *sides)
    low = min(kept.min(), -1.5 * relevant)
    high = max(kept.max(), 1.5 * relevant)
    wide = 0.5 * (high - low)
    inside = np.clip(np.r_[ends, low, high], low - wide, high + wide)
    inside = np.clip(inside, *sides)
    low = float(inside.min())
    high = float(inside.max())
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def _strip_row(
    row: Difference, style: Style, place: int, unit: Unit, ends: Limits
) -> dict[str, Any]:
    """The marker on its interval; beyond an end of the axis it is drawn open, at the end."""
    inside = (
        np.clip([row.difference.low, row.difference.value, row.difference.high], *ends) * unit.scale
    )
    symbol = style.symbol + ("" if ends[0] <= row.difference.value <= ends[1] else "-open")
    value, low, high = ([part] for part in row.difference)
    return {
        "type": "scatter",
        "x": inside.tolist(),
        "y": [place] * 3,
        "name": row.title,
        "mode": "lines+markers",
        "line": {"color": style.color, "width": 2.5},
        "hoverinfo": "skip",
        "cliponaxis": False,
        "marker": {
            "color": style.color,
            "symbol": symbol,
            "size": [0, 10, 0],
            "line": {"width": 0},
        },
        **carry(
            value=[row.value],
            difference=value,
            low=low,
            high=high,
            shows=np.array([row.verdict], dtype=object),
        ),
    }


def _known(row: Difference) -> bool:
    return not math.isnan(row.difference.value)


def _number(row: Difference, unit: Unit, decimals: int) -> str:
    return signed_text(row.difference.value * unit.scale, decimals) if _known(row) else ""


def _word(row: Difference) -> str:
    strong = {"better": "<b>better</b>", "worse": "<b>worse</b>", "undecided": "<i>undecided</i>"}
    return f" {strong.get(row.verdict, row.verdict)}"


def _told(row: Difference, unit: Unit, decimals: int) -> str:
    """Difference, interval and word in one line."""
    value, low, high = (part * unit.scale for part in row.difference)
    if math.isnan(value):
        return row.verdict
    numbers = signed_text(value, decimals)
    if math.isfinite(low + high) and low < high:
        numbers += f" ({signed_text(low, decimals)} to {signed_text(high, decimals)})"
    return f"{numbers} {unit.name}".strip() + (f", {row.verdict}" if row.verdict else "")


def _texts(
    texts: list[str], x: Sequence[float], y: Sequence[float], position: str
) -> dict[str, Any]:
    """Texts in the ink of the theme, as one trace: plotly takes far longer over as many annotations."""
    return {
        "type": "scatter",
        "mode": "text",
        "text": texts,
        "x": list(x),
        "y": list(y),
        "textposition": position,
        "textfont": {"size": 12},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _targets(told: Sequence[str]) -> dict[str, Any]:
    """Invisible squares over each row, which carry its number, and what a pointer is told there."""
    number = np.repeat(np.arange(len(told)), _ACROSS).tolist()
    return {
        "type": "scatter",
        "mode": "markers",
        "x": np.tile((np.arange(_ACROSS) + 0.5) / _ACROSS, len(told)).tolist(),
        "y": number,
        "customdata": [[k] for k in number],
        "marker": {"size": ROW_PIXELS - 1, "symbol": "square", "opacity": 0},
        "text": [told[k] for k in number],
        "hovertemplate": "%{text}<extra></extra>",
        "cliponaxis": False,
    }
