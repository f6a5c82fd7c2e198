"""Figures of one input among the training data: planes through it, and images side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.separation import DecidingPlane
from calib.numerics import Floats, Ints
from calib.plots.annotations import carry, draw_line, draw_marks, write
from calib.plots.geometry_success import DANGER, RIGHT
from calib.plots.style import (
    GUIDE,
    NEUTRAL,
    Style,
    add_lines,
    fade,
    key_entry,
    label,
    plain,
    quiet,
    set_x,
    set_y,
)

SAFE = "#009E73"
INPUT = "#8C6BD8"
HEIGHT = 460
LONGEST = 14
_ANGLES = np.linspace(0, 2 * np.pi, 181)


@dataclass(frozen=True)
class Zone:
    """Radii of an input's zones: its fast and its exact separation, whose sign says safe or dangerous."""

    fast: float
    exact: float

    @property
    def color(self) -> str:
        """Green where the input is safe, else vermilion."""
        return SAFE if self.fast > 0 else DANGER

    @property
    def side(self) -> str:
        """In a word, on which side of 0 the separation lies."""
        return "safe" if self.fast > 0 else "dangerous"


@dataclass(frozen=True)
class Neighbour:
    """A training input that decides: its row, the name of its class, and its true distance from the input."""

    row: int
    class_name: str
    distance: float


@dataclass(frozen=True, eq=False)
class Crowd:
    """Training inputs (m,) on a plane.

    Attributes
    ----------
    places : (m, 2)
    rows : (m,) row numbers.
    class_names : (m,)
    same : (m,) whether their class is the one predicted for the input.
    """

    places: Floats
    rows: Ints
    class_names: np.ndarray
    same: np.ndarray


def deciding_picture(plane: DecidingPlane, zone: Zone, same: Neighbour, other: Neighbour) -> go.Figure:
    """An input, the pair that decides its exact separation and the line half-way between them, at true distances.

    Chouraqui et al. (2023), figures 1 and 3.

    Parameters
    ----------
    plane : where the pair lies, the input at the origin.
    zone : radii of the zones.
    same, other : the pair.
    """
    fig = go.Figure()
    _add_zones(fig, np.zeros(2), zone)
    fig.add_vline(x=plane.border, line={"color": GUIDE, "width": 1.5, "dash": "dash"})
    for place, who, color, symbol in (
        (plane.same, same, RIGHT, "circle"), (plane.other, other, NEUTRAL, "square"),
    ):  # fmt: skip
        draw_line(fig, [0, place[0]], [0, place[1]], Style(fade(color, 0.5)))
        _add_neighbour(fig, place, who, Style(color, symbol))
        is_same = who is same
        write(
            fig, label(who.class_name, LONGEST), place[0], place[1], color=color if is_same else None,
            yanchor="bottom", yshift=8,
        )  # fmt: skip
    _add_input(fig, np.zeros(2))
    write(fig, "input", 0, 0, color=INPUT, yanchor="top", yshift=-9)
    radius = max(abs(zone.exact), abs(zone.fast))
    left, right = min(-radius, plane.same[0]), max(radius, plane.other[0])
    low, high = -radius, max(radius, plane.same[1], plane.other[1])
    alt = (
        f"The input between training rows {same.row:,} ({same.class_name}, at {same.distance:.3g}) and {other.row:,} "
        f"({other.class_name}, at {other.distance:.3g}); their half-way line is {abs(zone.exact):.3g} away: the input"
        f" is {zone.side}."
    )
    quiet(fig, HEIGHT, alt=alt, right=14)
    _equal_axes(fig, (left, right), (low, high))
    set_x(fig, title_text="distance along the line between the two<br>" + _zone_key(zone))
    return fig


def principal_picture(crowd: Crowd, place: Floats, zone: Zone, deciding: list[tuple[Floats, Neighbour]]) -> go.Figure:
    """An input among training inputs on their principal components, where all distances look shorter than they are.

    Parameters
    ----------
    crowd : training inputs.
    place : (2,) of the input.
    zone : radii of its zones.
    deciding : training inputs that decide, with their places (2,).
    """
    fig = go.Figure()
    for name, rows, color, symbol in (
        ("other classes", ~crowd.same, NEUTRAL, "square"), ("predicted class", crowd.same, RIGHT, "circle"),
    ):  # fmt: skip
        told = carry(
            "training row {training_row:,d}<br>%{text}",
            first_component=crowd.places[rows, 0], second_component=crowd.places[rows, 1],
            training_row=crowd.rows[rows], class_name=crowd.class_names[rows],
        )  # fmt: skip
        draw_marks(
            fig, crowd.places[rows, 0], crowd.places[rows, 1], Style(color, symbol), name, told, size=5,
            text=[plain(name) for name in crowd.class_names[rows]],
        )  # fmt: skip
    _add_zones(fig, place, zone)
    for spot, who in deciding:
        draw_line(fig, [place[0], spot[0]], [place[1], spot[1]], Style(INPUT), width=1)
        _add_neighbour(fig, spot, who, Style(INPUT, "circle-open"))
    _add_input(fig, place)
    radius = max((abs(one) for one in (zone.exact, zone.fast) if np.isfinite(one)), default=0.0)
    circle = np.stack([place - radius, place + radius])
    everywhere = np.concatenate([crowd.places, circle, *(spot[None] for spot, _ in deciding)])
    alt = (
        f"{len(crowd.rows):,} training inputs on two principal components, {int(crowd.same.sum()):,} of them of the "
        f"predicted class; the zone of the input has the radius {abs(zone.exact):.3g} and is {zone.side}."
    )
    quiet(fig, HEIGHT, alt=alt, right=14)
    _equal_axes(
        fig, *((float(everywhere[:, axis].min()), float(everywhere[:, axis].max())) for axis in (0, 1))
    )  # fmt: skip
    marks = (("●", "predicted class", RIGHT), ("■", "others", NEUTRAL), ("★", "input", INPUT), ("○", "decide", INPUT))
    key = "  ".join(key_entry(*mark) for mark in marks)
    set_x(fig, title_text=f"first component<br>{key}")
    set_y(fig, title_text="second component", title_standoff=8)
    return fig


def _zone_key(zone: Zone) -> str:
    ends = (("──", "exact", zone.exact), ("┄", "fast", zone.fast))
    return "zones: " + ", ".join(
        key_entry(mark, f"{name} {abs(radius):.3g}", zone.color) for mark, name, radius in ends
    )


def _add_zones(fig: go.Figure, centre: Floats, zone: Zone) -> None:
    for name, radius, dash in (("exact", abs(zone.exact), "solid"), ("fast", abs(zone.fast), "dot")):
        if not np.isfinite(radius):
            continue
        fig.add_scatter(
            x=centre[0] + radius * np.cos(_ANGLES), y=centre[1] + radius * np.sin(_ANGLES), mode="lines",
            fill="toself" if name == "exact" else None, fillcolor=fade(zone.color, 0.12), hoveron="fills",
            hoverinfo="skip", line={"color": zone.color, "width": 1.8, "dash": dash},
        )  # fmt: skip


def _add_neighbour(fig: go.Figure, place: Floats, who: Neighbour, style: Style) -> None:
    told = carry(
        f"training row {{training_row:,d}}<br>{plain(who.class_name)}<br>{{distance:.3r}} away",
        training_row=[who.row], class_name=[who.class_name], distance=[who.distance],
    )  # fmt: skip
    draw_marks(fig, [place[0]], [place[1]], style, f"training row {who.row}", told, size=12, symbol=style.symbol)


def _add_input(fig: go.Figure, place: Floats) -> None:
    told = {"hovertemplate": "input<extra></extra>"}
    draw_marks(fig, [place[0]], [place[1]], Style(INPUT, "star"), "input", told, size=14)


def _equal_axes(fig: go.Figure, across: tuple[float, float], up: tuple[float, float]) -> None:
    """Ranges with room around, one unit as long across as up: circles stay circles."""
    span = max(across[1] - across[0], up[1] - up[0]) or 1.0
    margin = 0.14 * span
    add_lines(fig, 1)
    set_x(fig, range=[across[0] - margin, across[1] + margin], nticks=7, showgrid=True)
    set_y(fig, range=[up[0] - margin, up[1] + margin], scaleanchor="x", scaleratio=1, nticks=7)


GAP = 1
"""Pixels of the images between two of them; transparent, so that they fit every background."""


LARGEST = 128
"""Pixels of an image each way; of larger ones every second, third, ... is shown."""


def thinned(images: np.ndarray) -> np.ndarray:
    """Images (n, height, width, ...) of no more pixels each way than are shown."""
    step = -(-max(images.shape[1:3]) // LARGEST)
    return images[:, ::step, ::step]


def image_grid(images: np.ndarray, columns: int, pixel: int = 1) -> Ints:
    """Rows of images from left to right, on one scale of brightness.

    Parameters
    ----------
    images : (n, height, width) or (n, height, width, channels) with 1 or 3 channels; any finite numbers, of which the
        least becomes black and the largest white, for all images alike.
    columns : images in a row.
    pixel : how many pixels of the picture one of the images takes each way, so that small ones can be seen.

    Returns
    -------
    (h, w, 4) uint8: red, green, blue and opacity.
    """
    images = images[..., None] if images.ndim == 3 else images
    n, height, width, _ = images.shape
    low, high = float(images.min()), float(images.max())
    span = high - low or 1.0
    rows = -(-n // columns)
    picture = np.zeros((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 4), dtype=np.uint8)
    for i, image in enumerate(images):
        top, left = (i // columns) * (height + GAP), (i % columns) * (width + GAP)
        tile = picture[top : top + height, left : left + width]
        tile[..., :3] = np.rint(255 * ((image.astype(np.float64) - low) / span))
        tile[..., 3] = 255
    return picture.repeat(pixel, axis=0).repeat(pixel, axis=1)
