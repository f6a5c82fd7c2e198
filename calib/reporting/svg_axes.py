"""Where things are in a plotly figure of a known width: margins, domains, ranges and ticks, as plotly lays them out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_PADDING = 0.06
"""What plotly leaves, about, between the outermost marks and the ends of an axis whose range is not given."""
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Axis:
    """One axis on the page.

    Attributes
    ----------
    layout : plotly's description of it.
    range : its ends as they are drawn (logarithms where ``log``), left or bottom first.
    start, end : pixels of these ends.
    log : whether values are drawn by their decimal logarithm.
    """

    layout: Any
    range: tuple[float, float]
    start: float
    end: float
    log: bool

    def place(self, value: Any) -> float:
        """Pixel of a value; NaN where it has no place."""
        value = float(value) if value is not None else math.nan
        if self.log:
            value = math.log10(value) if value > 0 else math.nan
        low, high = self.range
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def share(self, part: float) -> float:
        """Pixel of a share of the axis's own length."""
        return self.start + part * (self.end - self.start)

    @property
    def visible(self) -> bool:
        """Whether it is drawn at all."""
        return self.layout.visible is not False

    def ticks(self) -> list[tuple[float, str]]:
        """(pixel, text) of each tick within the range."""
        low, high = sorted(self.range)
        if self.layout.tickvals is not None:
            values = [float(value) for value in self.layout.tickvals]
            texts = list(self.layout.ticktext) if self.layout.ticktext is not None else [f"{v:g}" for v in values]
            known = zip(values, texts, strict=True)
            drawn = [
                (value, name) for value, name in known if low <= (math.log10(value) if self.log else value) <= high
            ]
            return [(self.place(value), str(name)) for value, name in drawn]
        step = self.layout.dtick or round_step(high - low, self.layout.nticks or 6)
        first = math.ceil(low / step - 1e-9)
        values = [count * step for count in range(first, math.floor(high / step + 1e-9) + 1)]
        return [(self.place(value), _tick(value, step, self.layout.tickformat)) for value in values]


@dataclass(frozen=True)
class Frame:
    """The plot area of a figure and its axes by plotly's names (``x``, ``y``, ``y2``)."""

    left: float
    top: float
    right: float
    bottom: float
    axes: dict[str, Axis]


def frame(fig: Any, width: float) -> Frame:
    """Lay out a figure with one x axis, as many y axes as it has, and margins that are given."""
    margin, height = fig.layout.margin, fig.layout.height
    left, right, top, bottom = margin.l, width - margin.r, margin.t, height - margin.b
    axes: dict[str, Axis] = {}
    for layout in _axis_layouts(fig):
        name = layout.plotly_name.replace("axis", "")
        across = name.startswith("x")
        low, high = layout.domain or (0.0, 1.0)
        ends = (left, right) if across else (bottom, top)
        start, end = (ends[0] + share * (ends[1] - ends[0]) for share in (low, high))
        axes[name] = Axis(layout, _range(fig, name, layout), start, end, layout.type == "log")
    for name, axis in list(axes.items()):
        if axis.layout.scaleanchor:
            axes[axis.layout.scaleanchor], axes[name] = _same_unit(axes[axis.layout.scaleanchor], axis)
    return Frame(left, top, right, bottom, axes)


def _axis_layouts(fig: Any) -> Iterator[Any]:
    yield fig.layout.xaxis
    yield fig.layout.yaxis
    if any(trace.yaxis == "y2" for trace in fig.data):
        yield fig.layout.yaxis2


def _same_unit(x: Axis, y: Axis) -> tuple[Axis, Axis]:
    """Both axes with as many pixels for a unit, by shortening the one that has more: x towards its middle, y down."""
    units = [abs(axis.end - axis.start) / abs(axis.range[1] - axis.range[0]) for axis in (x, y)]
    smaller = min(units)
    spare = (x.end - x.start) * (1 - smaller / units[0]) / 2
    x = Axis(x.layout, x.range, x.start + spare, x.end - spare, x.log)
    y = Axis(y.layout, y.range, y.start, y.start + (y.end - y.start) * smaller / units[1], y.log)
    return x, y


def _range(fig: Any, name: str, layout: Any) -> tuple[float, float]:
    if layout.range is not None:
        return float(layout.range[0]), float(layout.range[1])
    values = np.concatenate([_extent(trace, name) for trace in fig.data] or [np.empty(0)])
    if layout.type == "log":
        values = np.log10(values[values > 0])
    values = values[np.isfinite(values)]
    if not values.size:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    pad = _PADDING * (high - low) or 0.05 * abs(high) or 1.0
    return low - pad, high + pad


def _extent(trace: Any, name: str) -> Any:
    """All values of a trace along an axis, with the ends of its intervals."""
    if (name.startswith("y") and (trace.yaxis or "y") != name) or trace[name[0]] is None:
        return np.empty(0)
    values = np.asarray(trace[name[0]], dtype=float)
    error = getattr(trace, f"error_{name[0]}", None)
    parts = [values]
    if error is not None and error.array is not None:
        parts += [values + numbers(error.array), values - numbers(error.arrayminus)]
    return np.concatenate(parts)


def numbers(values: Sequence[Any] | Any) -> Any:
    """As floats, NaN for None."""
    return np.array([math.nan if value is None else float(value) for value in values])


def round_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5, 10, ... times a power of ten that divides a span into no more than ``most`` parts."""
    rough = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * step for step in _STEPS if power * step >= rough * (1 - 1e-9))


def _tick(value: float, step: float, tickformat: str | None) -> str:
    if tickformat == ".0%":
        return f"{100 * value:.0f}%"
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value + 0.0:.{decimals}f}".replace("-", "−") if abs(value) > step / 1e6 else "0"
