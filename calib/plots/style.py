"""The template of every figure: colours, marks and dashes of methods, text in both themes, and the frame.

A method's marks have one colour in both themes. No colour has a contrast of 4.5 on white and on near-black, so text in
it has a shade for each, between which the reader's browser chooses by CSS's ``light-dark()``.
Parts of a layout are set one by one: Plotly's ``update_layout`` and ``update_xaxes`` give the same result and take ten
times as long, half of the time of a page with eight figures.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from calib.formatting import number
from calib.registry import METHODS


def set_layout(fig: go.Figure, **values: Any) -> None:
    """Set parts of the layout; what a dict does not name within a part stays."""
    for name, value in values.items():
        part = fig.layout[name] if isinstance(value, Mapping) and name in fig.layout else None
        fig.layout[name] = value if part is None else _merged(part.to_plotly_json(), value)


def set_x(fig: go.Figure, **values: Any) -> None:
    """Set properties of the horizontal axis."""
    set_layout(fig, xaxis=values)


def set_y(fig: go.Figure, **values: Any) -> None:
    """Set properties of the vertical axis."""
    set_layout(fig, yaxis=values)


def _merged(part: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(part)
    for name, value in values.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


# Okabe and Ito's colour-blind-safe palette after a grey for the raw model. Their orange and sky blue are darkened
# and their yellow and black left out, so that each colour has a contrast of 3 on the page in both themes;
# the later ones fill the gaps between the hues, and marker and dash tell apart what the hue does not.
COLORS = (
    "#7A8394", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#B57F00", "#3F97CE", "#8C6BD8", "#7D8B00", "#D6457F",
    "#008B9A", "#B0662F", "#5468F0", "#4A7340", "#A846C8", "#96507F", "#FA3232", "#9933FF", "#1C8A1C", "#CC33FF",
    "#C24444", "#C7289F", "#6179C2", "#856F2E", "#B85CAC", "#CC6666", "#AC59FF", "#47748F", "#EB2FA4", "#42856C",
)  # fmt: skip
GLYPHS = {
    "circle": "●", "square": "■", "diamond": "◆", "triangle-up": "▲", "cross": "✚", "x": "✖", "triangle-down": "▼",
    "star": "★", "pentagon": "⬟", "hexagon": "⬢", "triangle-left": "◀", "triangle-right": "▶", "hourglass": "⋈",
    "triangle-ne": "◥", "triangle-sw": "◣", "star-diamond": "✦", "triangle-se": "◢", "bowtie": "⧓",
    "diamond-tall": "♦", "triangle-nw": "◤", "hexagram": "✶", "diamond-wide": "◈", "star-square": "✸",
    "octagon": "◉",
}  # fmt: skip
"""Plotly's markers, each with a letter like it, which stands before a method's name."""
SYMBOLS = tuple(GLYPHS)
# 24 symbols and 5 dashes share no factor, so that neighbours in the order differ in both.
DASHES = ("solid", "dash", "longdash", "dashdot", "longdashdot")
_DASH_OF_FIRST = {"gpcalib": "solid"}

GRID = "rgba(128,132,150,.25)"
GUIDE = "#808496"
"""Diagonals, zero lines and other references: a grey that reads on white and on near-black."""
NEUTRAL = "#7A8394"
"""Styles of things set beside a method: other classes, wrong predictions, observed frequencies."""
TRUTH = "#E52ECF"
"""The true probabilities of simulated data; no method has this colour."""
PAGES = {"light": ("#ffffff", "#f4f6fa"), "dark": ("#12151c", "#1b1f2a")}
"""Backgrounds of the app's page and of its sidebar, as in .streamlit/config.toml."""
TEXT_SHADE = 0.25
"""Share of black or white that gives text in every colour a contrast of 4.5 with its page (WCAG 2.2, 1.4.3)."""

TITLE_LETTER = 7.7
"""Pixels of a letter of a title."""
_LONGEST_TITLE = 41
"""Letters that fit beside the left margin on a phone of 420 pixels."""
_TOP = 42
_BOTTOM = 48
_LINE = 16
_PHONE = 388
TOOL_BAR = 24
_LEGEND_LINE = 19
_KEY = 40
_LETTER = 6.6
"""Pixels of a figure's width on a phone, of plotly's buttons, and of a legend's line, mark and letter."""
FRAME = _TOP + _BOTTOM
"""Pixels of every figure's height that its plot does not have."""

HIDDEN = {"visible": False, "fixedrange": True}
"""Of an axis of rows, which have names in place of ticks."""

Limits = tuple[float, float]


@dataclass(frozen=True)
class Style:
    """Style of one method, in plotly's names."""

    color: str
    symbol: str = "circle"
    dash: str = "solid"


DOTTED = Style(GUIDE, dash="dot")
THIN = Style(GUIDE)
"""Lines to compare with."""


def method_style(name: str, variant_index: int = 0) -> Style:
    """The style of a method, the same on every page.

    Parameters
    ----------
    name : a registry name; any other gets a style that depends on its letters alone.
    variant_index : 0 for the first fit of this method; later fits keep the colour and change marker and dash.
    """
    names = list(METHODS)
    if name in METHODS:
        color = symbol = dash = names.index(name)
        if name in _DASH_OF_FIRST:
            dash = DASHES.index(_DASH_OF_FIRST[name])
    else:
        letters = zlib.crc32(name.encode())
        color = 1 + letters % (len(COLORS) - 1)
        symbol = letters // 16
        dash = letters // 256
    return Style(
        color_at(color),
        SYMBOLS[(symbol + variant_index) % len(SYMBOLS)],
        DASHES[(dash + variant_index) % len(DASHES)],
    )


def color_at(place: int) -> str:
    """The colour of the method at a place in the order."""
    return COLORS[place % len(COLORS)]


def mixed(color: str, towards: int, share: float) -> str:
    """A share of the way from a colour to black (0) or white (255)."""
    return "#" + "".join(
        f"{round(part + share * (towards - part)):02X}" for part in hex_to_rgb(color)
    )


def fade(color: str, alpha: float) -> str:
    """``#rrggbb`` as a translucent ``rgba(...)``."""
    return f"rgba({','.join(map(str, hex_to_rgb(color)))},{alpha:g})"


def text_color(color: str) -> str:
    """A colour for text: a darker or a lighter shade, as CSS that chooses by the theme of the place it stands in."""
    return f"light-dark({mixed(color, 0, TEXT_SHADE)},{mixed(color, 255, TEXT_SHADE)})"


def colored(text: str, color: str) -> str:
    """Text in plotly's small HTML in the shade of a colour; in that of its surroundings if a browser cannot choose."""
    return f'<span style="color:{text_color(color)}">{text}</span>'


def key_entry(mark: str, name: str, color: str) -> str:
    """An entry of a key: the mark in its colour, and the name, shortened and escaped here."""
    return f"{colored(mark, color)} {label(name)}"


_ESCAPED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;", "{": "&#123;"})


def plain(text: str) -> str:
    """A name from outside as plotly shows it letter by letter: no HTML, no formula between dollars, no template."""
    return text.translate(_ESCAPED)


def shorten(name: str, longest: int) -> str:
    """A name of at most ``longest`` characters."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


LONGEST_NAME = 28


def label(name: str, longest: int = LONGEST_NAME) -> str:
    """A name from outside where room is short: :func:`shorten` and :func:`plain`. The whole belongs into the hover."""
    return plain(shorten(name, longest))


def quiet(
    fig: go.Figure, height: int, *, alt: str, title: str = "", right: int = 16, left: int = 52
) -> go.Figure:
    """Give a figure the common frame: transparent, no boxes, thin grid, no legend, ink left to the theme.

    Margins do not depend on the title, so figures side by side stay aligned.

    Parameters
    ----------
    height : pixels.
    alt : one sentence that says what the figure shows; read back by :func:`alt_text`.
    title : short heading, escaped here.
    right, left : margins in pixels; the right one holds direct labels.
    """
    set_layout(
        fig,
        height=height,
        margin={"l": left, "r": right, "t": _TOP, "b": _BOTTOM},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        hovermode="closest",
        bargap=0,
        barmode="overlay",
        # plotly derives the tool bar's colours from the paper, and from a transparent one it makes a dark box.
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GUIDE, "activecolor": NEUTRAL},
        meta={"alt": alt},
        title={
            "text": label(title, _LONGEST_TITLE),
            "x": 0,
            "xref": "paper",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 6},
            "font": {"size": 14},
        },
    )
    axis = {
        "showline": False,
        "zeroline": False,
        "gridcolor": GRID,
        "gridwidth": 1,
        "automargin": False,
    }
    set_x(fig, showgrid=False, tickangle=0, title_standoff=10, title_font_size=12, **axis)
    set_y(fig, title_standoff=4, title_font_size=12, **axis)
    return fig


def show_legend(fig: go.Figure, lift: int = 0) -> None:
    """Show plotly's legend above the plot and beneath the tool bar; a click on an entry hides its trace.

    Parameters
    ----------
    lift : pixels of texts between the plot and the legend.
    """
    names = {trace.name for trace in fig.data if trace.name and trace.showlegend is not False}
    margin, height = fig.layout.margin, fig.layout.height
    entry = _KEY + _LETTER * max(map(len, names), default=0)
    lines = -(-len(names) // max(1, int((_PHONE - margin.l - margin.r) / entry)))
    more = max(0, TOOL_BAR + _LEGEND_LINE * lines + lift - margin.t)
    above = 1 + lift / (height - margin.t - margin.b)
    set_layout(
        fig,
        height=height + more,
        margin_t=margin.t + more,
        showlegend=True,
        legend={
            "orientation": "h",
            "x": 0,
            "y": above,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
    )


def add_line(fig: go.Figure) -> None:
    """Make room beneath the plot for a second line of the axis title; the plot keeps its height."""
    set_layout(fig, height=fig.layout.height + _LINE, margin_b=fig.layout.margin.b + _LINE)


def alt_text(fig: go.Figure) -> str:
    """The sentence that stands for the figure where it cannot be seen."""
    return fig.layout.meta["alt"]


def three_digits(value: float) -> str:
    """A number as in tables, with a true minus, and counts in full."""
    if not np.isfinite(value):
        return str(value)
    return (number(value) if abs(value) < 1e6 else f"{value:,.0f}").replace("-", "−")


def join_named(named: Mapping[str, str]) -> str:
    """Names with what is found of each, for the text that stands for a figure: "raw 0.12; GPcalib 0.03"."""
    return "; ".join(f"{name} {value}" for name, value in named.items())
