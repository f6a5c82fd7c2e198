"""The style of every figure: one colour, marker and dash per method, and a frame for light and dark themes.

A method's marks have one colour in both themes. No colour has a contrast of 4.5 on white and on near-black, so text in
it has a shade for each, between which the reader's browser chooses by CSS's ``light-dark()``.
Parts of a layout are set one by one: Plotly's ``update_layout`` and ``update_xaxes`` give the same result and take ten
times as long, half of the time of a page with eight figures.
"""

from __future__ import annotations

import colorsys
import itertools
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.formatting import number
from calib.numerics import Floats
from calib.registry import METHODS


def set_layout(fig: go.Figure, **values: Any) -> None:
    """Set parts of the layout; what a dict does not name within a part stays."""
    for name, value in values.items():
        held = fig.layout[name] if isinstance(value, Mapping) and name in fig.layout else None
        fig.layout[name] = value if held is None else _merged(held.to_plotly_json(), value)


def set_x(fig: go.Figure, **values: Any) -> None:
    """Set properties of the horizontal axis."""
    set_layout(fig, xaxis=values)


def set_y(fig: go.Figure, **values: Any) -> None:
    """Set properties of the vertical axis."""
    set_layout(fig, yaxis=values)


def _merged(held: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(held)
    for name, value in values.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


# Okabe and Ito's colour-blind-safe palette after a grey for the raw model. Their orange and sky blue are darkened
# and their yellow and black left out, so that each colour has a contrast of 3 on the page in both themes;
# the later ones fill the gaps between the hues, and marker and dash tell apart what the hue does not.
COLORS = (
    "#7A8394", "#0072B2", "#009E73", "#D55E00", "#CC79A7", "#B57F00",
    "#3F97CE", "#8C6BD8", "#7D8B00", "#D6457F", "#008B9A", "#B0662F",
    "#5468F0", "#4A7340", "#A846C8", "#96507F",
)  # fmt: skip
# 13 symbols and 5 dashes share no factor, so that neighbours in the order differ in both.
SYMBOLS = (
    "circle", "square", "diamond", "triangle-up", "cross", "x", "triangle-down",
    "star", "pentagon", "hexagon", "triangle-left", "triangle-right", "hourglass",
)  # fmt: skip
DASHES = ("solid", "dash", "longdash", "dashdot", "longdashdot")
_DASH_OF_FIRST = {"gpcalib": "solid"}

GRID = "rgba(128,132,150,.25)"
GUIDE = "#808496"
"""Diagonals, zero lines and other references: a grey that reads on white and on near-black."""
NEUTRAL = "#7A8394"
"""What is set beside a method: other classes, wrong predictions, observed frequencies."""
TRUTH = "#E52ECF"
"""The true probabilities of simulated data; no method has this colour."""
PAGES = {"light": ("#ffffff", "#f4f6fa"), "dark": ("#12151c", "#1b1f2a")}
"""Backgrounds of the app's page and of its sidebar, as in .streamlit/config.toml."""
_TEXT_CONTRAST = 4.5
"""Least contrast of text with its background (WCAG 2.2, 1.4.3)."""

_TOP, _BOTTOM = 34, 48
FRAME = _TOP + _BOTTOM
"""Pixels of every figure's height that its plot does not have."""

Limits = tuple[float, float]


@dataclass(frozen=True)
class Style:
    """How one method is drawn, in plotly's names."""

    color: str
    symbol: str
    dash: str


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
        symbol, dash = letters // 16, letters // 256
    return Style(
        color_at(color),
        SYMBOLS[(symbol + variant_index) % len(SYMBOLS)],
        DASHES[(dash + variant_index) % len(DASHES)],
    )


@cache
def color_at(place: int) -> str:
    """The colour of the method at a place in the order: of the palette, then each as far from all before as can be."""
    if place < len(COLORS):
        return COLORS[place]
    free = _candidates()
    taken = np.array([_parts(TRUTH), *(_parts(color_at(before)) for before in range(place))])
    distance = np.linalg.norm(_oklab(free)[:, None] - _oklab(taken), axis=2).min(axis=1)
    return _written(free[np.argmax(distance)])


@cache
def _candidates() -> Floats:
    """Colours (n, 3) in sRGB with a contrast of at least 3.5 on the page in both themes; none has 4.5 on both."""
    steps = itertools.product(np.arange(48) / 48, (0.5, 0.65, 0.8), np.linspace(0.3, 1, 36))
    colors = np.array([colorsys.hsv_to_rgb(*step) for step in steps])
    luminance = _luminance(colors)
    return colors[(luminance > 0.155) & (luminance < 0.235)]


def _parts(color: str) -> Floats:
    """Red, green and blue of ``#rrggbb``, (3,) in [0, 1]."""
    return np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _written(color: Floats) -> str:
    red, green, blue = np.round(255 * color).astype(int)
    return f"#{red:02X}{green:02X}{blue:02X}"


def _luminance(colors: Floats) -> Floats:
    """Relative luminance (WCAG 2.2) of colours (..., 3)."""
    return _linear(colors) @ np.array([0.2126, 0.7152, 0.0722])


def contrast(first: str, second: str) -> float:
    """Contrast of two colours ``#rrggbb`` (WCAG 2.2), from 1 to 21."""
    low, high = sorted(float(_luminance(_parts(color))) for color in (first, second))
    return (high + 0.05) / (low + 0.05)


def _linear(colors: Floats) -> Floats:
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def _oklab(colors: Floats) -> Floats:
    """Colours in a space whose distances are those that one sees (Ottosson, A perceptual color space, 2020)."""
    cones = _linear(colors) @ np.array(
        [[0.4122214708, 0.2119034982, 0.0883024619],
         [0.5363325363, 0.6806995451, 0.2817188376],
         [0.0514459929, 0.1073969566, 0.6299787005]]
    )  # fmt: skip
    return np.cbrt(cones) @ np.array(
        [[0.2104542553, 1.9779984951, 0.0259040371],
         [0.7936177850, -2.4285922050, 0.7827717662],
         [-0.0040720468, 0.4505937099, -0.8086757660]]
    )  # fmt: skip


def fade(color: str, alpha: float) -> str:
    """``#rrggbb`` as a translucent ``rgba(...)``."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def overlapping(color: str) -> dict[str, Any]:
    """The marker of bars through which others show, with an outline as clear as any mark."""
    return {"color": fade(color, 0.5), "line": {"color": color, "width": 1}}


@cache
def text_shades(color: str) -> dict[str, str]:
    """The shades of a colour in which text has a contrast of 4.5 in the light and in the dark theme."""
    shades = {}
    for (theme, pages), end in zip(PAGES.items(), (0.0, 1.0), strict=True):
        mixed = (_written(_parts(color) * (1 - share) + end * share) for share in np.arange(0, 1, 0.01))
        shades[theme] = next(s for s in mixed if min(contrast(s, page) for page in pages) >= _TEXT_CONTRAST)
    return shades


def text_color(color: str) -> str:
    """The shade of a colour for text, as CSS that chooses by the theme of the place it stands in."""
    return "light-dark({light},{dark})".format(**text_shades(color))


def colored(text: str, color: str) -> str:
    """Text in plotly's small HTML in the shade of a colour; in that of its surroundings if a browser cannot choose."""
    return f'<span style="color:{text_color(color)}">{text}</span>'


def key_entry(mark: str, name: str, color: str) -> str:
    """An entry of a key: the mark in its colour, and the name, escaped here."""
    return f"{colored(mark, color)} {plain(name)}"


def plain(text: str) -> str:
    """A name from outside, safe inside plotly's small HTML, also where a template of its fills in values."""
    return escape(text, quote=False).replace("%{", "%&#123;")


def shorten(name: str, longest: int) -> str:
    """A name of at most ``longest`` characters."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def quiet(fig: go.Figure, height: int, *, alt: str, title: str = "", right: int = 12, left: int = 52) -> go.Figure:
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
        fig, height=height,
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
        title={"text": plain(title), "x": 0, "xref": "paper", "y": 1, "yref": "container", "yanchor": "top",
               "pad": {"t": 6}, "font": {"size": 14}},
    )  # fmt: skip
    axis = {"showline": False, "zeroline": False, "gridcolor": GRID, "gridwidth": 1, "automargin": False}
    set_x(fig, showgrid=False, title_standoff=10, title_font_size=12, **axis)
    set_y(fig, title_standoff=4, title_font_size=12, **axis)
    return fig


def alt_text(fig: go.Figure) -> str:
    """The sentence that stands for the figure where it cannot be seen."""
    return fig.layout.meta["alt"]


def three_digits(value: float) -> str:
    """A number as in tables, with a true minus, and counts in full."""
    if not np.isfinite(value):
        return str(value)
    return (number(value) if abs(value) < 1e6 else f"{value:,.0f}").replace("-", "−")
