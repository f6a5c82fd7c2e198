"""Bins as rails: where each scheme puts its edges, and how much lies between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from calib.calibrators.imax.bins import BinnedPairs
from calib.calibrators.imax.density import LogOddsDensity
from calib.numerics import Floats, Ints
from calib.plots.data import carry
from calib.plots.layout import set_layout
from calib.plots.style import COLORS, NEUTRAL, Limits, Style, fade, method_style, plain

Rail = tuple[str, BinnedPairs, Style]
"""Name, bins and style of one scheme."""

SCHEME_NAMES = {"imax": "I-Max", "equal_mass": "equal mass", "equal_size": "equal size"}
SCHEME_STYLES = {
    "imax": method_style("imax"),
    "equal_mass": Style(COLORS[1], "square", "dash"),
    "equal_size": Style(COLORS[5], "triangle-up", "longdash"),
}
LABEL_COLORS = (NEUTRAL, COLORS[2])
"""Of y = 0 and of y = 1."""

RAIL_PIXELS = 42
_LINE = 44
"""Letters in a line of a key that fit a window of 420 pixels."""
_LINE_PIXELS = 17
_THICK = 0.34
_DROP = 0.22
"""How far beneath the middle of its row a rail lies; its name stands above it."""
_TAIL = 0.002
"""Share of the pairs of each outcome that may lie beyond each end of the axis."""
_PAD = 0.03


def span_of(density: LogOddsDensity, edges: Sequence[Floats] = ()) -> Limits:
    """Ends of the axis of log-odds: nearly all pairs of both outcomes, and every edge."""
    ends = [float(end) for inner in edges if len(inner) for end in (inner[0], inner[-1])]
    for count in (density.count_label, density.count_other):
        if count.sum():
            below = np.cumsum(count) / count.sum()
            ends += [float(density.middles[below.searchsorted(share)]) for share in (_TAIL, 1 - _TAIL)]
    pad = max(_PAD * (max(ends) - min(ends)), density.cell_width)
    return min(ends) - pad, max(ends) + pad


def draw_rails(fig: go.Figure, rails: Sequence[Rail], span: Limits, yaxis: str = "y2", named: bool = True) -> None:
    """Draw one rail per scheme on an axis whose row i is at y = i; the darker a bin, the more pairs lie in it.

    Parameters
    ----------
    span : ends of the axis of log-odds, where the outermost bins end in the picture.
    yaxis : in plotly's short form.
    named : whether each name and its information stand above the rail.
    """
    for row, (name, bins, style) in enumerate(rails):
        _draw_rail(fig, name, bins, style, span, row + (_DROP if named else 0), yaxis)
        if not named:
            continue
        note = f"{bins.label_information:.3g} nats · fullest bin {100 * bins.mass.max():.3g} %"
        for text, x, anchor, color in ((plain(short(name)), 0, "left", style.color), (note, 1, "right", None)):
            fig.add_annotation(
                text=text, x=x, xref="paper", xanchor=anchor, y=row - 0.22, yref=yaxis, yanchor="middle",
                showarrow=False, font={"size": 12} | ({"color": color} if color else {}),
            )  # fmt: skip


def short(name: str, longest: int = 24) -> str:
    """A name that leaves room for the note at the other end of its row."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def rail_axis(n_rails: int, domain: Limits) -> dict:
    """The axis on which :func:`draw_rails` places its rows, the first on top."""
    return {"domain": domain, "range": [n_rails - 0.5, -0.5], "visible": False, "fixedrange": True}


def _draw_rail(fig: go.Figure, name: str, bins: BinnedPairs, style: Style, span: Limits, y: float, yaxis: str) -> None:
    low, high = np.r_[-np.inf, bins.edges], np.r_[bins.edges, np.inf]
    drawn_low, drawn_high = np.clip(low, *span), np.clip(high, *span)
    fig.add_bar(
        base=drawn_low, x=drawn_high - drawn_low, y=np.full(len(low), y), width=_THICK, orientation="h", yaxis=yaxis,
        name=name, marker={"color": [fade(style.color, 0.05 + 0.9 * np.sqrt(share)) for share in bins.mass],
                           "line_width": 0},
        **carry(
            low=low, high=high, width=bins.width, pairs=bins.count, share=bins.mass, positives=bins.positives,
            representative=bins.representatives, model_says=bins.predicted,
        ),
        text=[f"{_end(a)} to {_end(b)}" + (f" (width {b - a:.3g})" if np.isfinite(b - a) else "")
              for a, b in zip(low, high, strict=True)],
        textposition="none",
        hovertemplate=f"{plain(name)}: log-odds %{{text}}<br>%{{customdata[3]:,d}} pairs (%{{customdata[4]:.3p}}), "
        "%{customdata[5]:,d} with y = 1<br>representative %{customdata[6]:.3r}, the model says %{customdata[7]:.3r}"
        "<extra></extra>",
    )  # fmt: skip
    fig.add_scatter(
        x=np.repeat(bins.edges, 3), y=[y - _THICK * 0.75, y + _THICK * 0.75, None] * len(bins.edges), yaxis=yaxis,
        mode="lines", line={"color": style.color, "width": 1.8}, hoverinfo="skip",
    )  # fmt: skip


def draw_edges(fig: go.Figure, edges: Floats, style: Style, top: float) -> None:
    """Thin vertical lines through the plot above the rails."""
    fig.add_scatter(
        x=np.repeat(edges, 3), y=[0, top, None] * len(edges), mode="lines", hoverinfo="skip",
        line={"color": fade(style.color, 0.45), "width": 1},
    )  # fmt: skip


KeyEntry = tuple[str, str, str]
"""Mark, name and colour."""


def key_of(names: Iterable[tuple[str, str]], mark: str = "■") -> list[KeyEntry]:
    """Entries of a key for (name, colour), all with one mark."""
    return [(mark, name, color) for name, color in names]


def write_key(fig: go.Figure, entries: Sequence[KeyEntry]) -> None:
    """Name the colours above the plot, in as many lines as a narrow window asks for; the figure grows by them."""
    lines: list[list[str]] = [[]]
    length = 0
    for mark, name, color in entries:
        length += len(name) + 4
        if lines[-1] and length > _LINE:
            lines, length = [*lines, []], len(name) + 4
        lines[-1].append(f'<span style="color:{color}">{mark} {plain(name)}</span>')
    text = "<br>".join("   ".join(line) for line in lines)
    room = _LINE_PIXELS * (len(lines) - (0 if fig.layout.title.text else 1))
    set_layout(fig, height=fig.layout.height + room, margin_t=fig.layout.margin.t + room)
    fig.add_annotation(
        text=text, x=0, xref="paper", xanchor="left", y=1, yref="paper", yanchor="bottom", yshift=4, showarrow=False,
        font={"size": 12}, align="left",
    )  # fmt: skip


def grouped(count: Floats | Ints, edges: Floats, cells: Floats) -> Floats:
    """Counts of narrow cells in wider ones between ``cells``, (n_cells,); what lies beyond them is left out."""
    below = np.interp(cells, edges, np.concatenate([[0.0], np.cumsum(count)]))
    return np.array([high - low for low, high in pairwise(below)])


def _end(value: float) -> str:
    return f"{value:.3g}".replace("-", "−") if np.isfinite(value) else ("−∞" if value < 0 else "∞")
