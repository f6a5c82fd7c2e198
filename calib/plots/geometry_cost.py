"""What separations cost: fast against exact, and what reductions of the training set gain and lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from calib.numerics import Floats, Ints
from calib.plots.annotations import label_line_ends
from calib.plots.data import carry
from calib.plots.geometry_success import RIGHT
from calib.plots.layout import set_layout, set_x, set_y
from calib.plots.log_axis import log_axis
from calib.plots.overlay import label_margin
from calib.plots.style import COLORS, DASHES, FRAME, GUIDE, NEUTRAL, SYMBOLS, fade, quiet, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.reduction_cost import Tradeoff

NAMES = {
    "none": "none", "mean_pool": "mean pool", "max_pool": "max pool", "pca": "PCA", "bilinear": "bilinear",
    "random_pixels": "random pixels", "kmeans": "k-means", "random_set": "random rows",
}  # fmt: skip
_DODGE = 0.05


def fast_against_exact(
    rows: Ints, fast: Floats, exact: Floats, right: npt.NDArray[np.bool_], height: int = 400
) -> go.Figure:
    """Exact separation of each row over its fast one, with the line on which they agree.

    Parameters
    ----------
    rows : (n,) their numbers.
    fast, exact : (n,) finite separations.
    right : (n,) whether the prediction was right.
    """
    fig = go.Figure()
    ends = float(min(fast.min(), exact.min(), 0.0)), float(max(fast.max(), exact.max(), 0.0))
    fig.add_scatter(x=ends, y=ends, mode="lines", hoverinfo="skip",
                    line={"color": GUIDE, "width": 1.5, "dash": "dot"})  # fmt: skip
    for name, group, color, symbol in (("right", right, RIGHT, "circle"), ("wrong", ~right, NEUTRAL, "x")):
        fig.add_scatter(
            x=fast[group], y=exact[group], name=name, mode="markers",
            marker={"color": fade(color, 0.45 if symbol == "circle" else 1.0), "size": 7, "symbol": symbol},
            **carry(test_row=rows[group], fast=fast[group], exact=exact[group]),
            hovertemplate=f"test row %{{customdata[0]:,d}}, {name}<br>fast %{{customdata[1]:.3r}}, exact"
            " %{customdata[2]:.3r}<extra></extra>",
        )  # fmt: skip
    quiet(fig, height, alt=f"Exact over fast separation of {len(fast):,} test rows.", right=16)
    key = f'<span style="color:{RIGHT}">● right</span>   <span style="color:{NEUTRAL}">✕ wrong</span>'
    set_layout(fig, margin_b=fig.layout.margin.b + 16, height=height + 16)
    set_x(fig, title_text=f"fast separation<br>{key}", showgrid=True, nticks=7)
    set_y(fig, title_text="exact separation", nticks=7)
    return fig


def tradeoff_speed(measured: Sequence[Tradeoff], height: int = 380) -> go.Figure:
    """Predictions for each second of processor time over t, one line per reduction (figure 6)."""
    values = np.log10([one.per_second for one in measured])
    low, high = float(values.min()), float(values.max())
    margin = max(0.25, 0.1 * (high - low))
    span = low - margin, high + margin
    fig, ends = go.Figure(), []
    for name, color, symbol, dash, line in _lines(measured):
        y = [float(np.log10(one.per_second)) for one in line]
        fig.add_scatter(
            x=[one.factor for one in line], y=y, name=name, mode="lines+markers", marker={"symbol": symbol, "size": 8},
            line={"color": color, "dash": dash, "width": 2},
            **carry(t=[one.factor for one in line], predictions_per_second=[one.per_second for one in line],
                    training_rows=[one.rows for one in line], numbers_per_row=[one.numbers for one in line]),
            hovertemplate=f"{name}, t = %{{customdata[0]}}<br>%{{customdata[1]:,.3r}} predictions per second"
            "<br>%{customdata[2]:,d} training rows of %{customdata[3]:,d} numbers<extra></extra>",
        )  # fmt: skip
        ends.append((name, y[-1], color))
    _frame(fig, measured, ends, span, height, "Predictions per second of processor time", _said_speed(measured))
    set_y(fig, **log_axis(*span, typed=False), title_text="per second")
    return fig


def tradeoff_ece(measured: Sequence[Tradeoff], height: int = 380) -> go.Figure:
    """ECE with its interval over t, one line per reduction, and a line where there is none (figures 7 and 8)."""
    top = 1.08 * max(max(one.ece.high for one in measured), 1e-3)
    fig, ends = go.Figure(), []
    lines = _lines(measured)
    for place, (name, color, symbol, dash, line) in enumerate(lines):
        shift = _DODGE * (place - (len(lines) - 1) / 2) if len(line) > 1 or line[0].reduction != "none" else 0.0
        value, low, high = (np.array([one.ece[i] for one in line]) for i in range(3))
        fig.add_scatter(
            x=[one.factor + shift for one in line], y=value, name=name, mode="lines+markers",
            marker={"symbol": symbol, "size": 8}, line={"color": color, "dash": dash, "width": 1.6},
            error_y={"type": "data", "symmetric": False, "array": high - value, "arrayminus": value - low,
                     "color": fade(color, 0.45), "thickness": 1.2, "width": 2},
            **carry(t=[one.factor for one in line], ECE=value, low=low, high=high),
            hovertemplate=f"{name}, t = %{{customdata[0]}}<br>ECE %{{customdata[1]:.3r}} (95 %: %{{customdata[2]:.3r}}"
            " to %{customdata[3]:.3r})<extra></extra>",
        )  # fmt: skip
        if line[0].reduction == "none":
            fig.add_hline(y=float(value[0]), line={"color": GUIDE, "width": 1.5, "dash": "dot"})
        ends.append((name, float(value[-1]), color))
    said = "; ".join(f"{NAMES[one.reduction]} t={one.factor} {three_digits(one.ece.value)}" for one in measured)
    _frame(fig, measured, ends, (0.0, top), height, "Calibration error", f"ECE by reduction: {said}.")
    set_y(fig, range=[0, top], title_text="ECE", nticks=6)
    return fig


def _lines(measured: Sequence[Tradeoff]) -> list[tuple[str, str, str, str, list[Tradeoff]]]:
    """Name, colour, marker, dash and values by t of each reduction; its look does not depend on which are shown."""
    found = []
    for place, name in enumerate(NAMES):
        line = sorted((one for one in measured if one.reduction == name), key=lambda one: one.factor)
        if line:
            found.append((NAMES[name], COLORS[place], SYMBOLS[place], DASHES[place % len(DASHES)], line))
    return found


def _said_speed(measured: Sequence[Tradeoff]) -> str:
    return "Predictions per second: " + "; ".join(
        f"{NAMES[one.reduction]} t={one.factor} {three_digits(one.per_second)}" for one in measured
    )


def _frame(
    fig: go.Figure, measured: Sequence[Tradeoff], ends: list[tuple[str, float, str]], span: tuple[float, float],
    height: int, title: str, alt: str,
) -> None:  # fmt: skip
    factors = sorted({one.factor for one in measured})
    quiet(fig, height, alt=alt, title=title, right=label_margin([name for name, _, _ in ends]), left=60)
    label_line_ends(fig, ends, span, height - FRAME)
    set_x(
        fig, tickvals=factors, range=[factors[0] - 0.35, factors[-1] + 0.35],
        title_text="t (numbers, or rows, fall by t²)",
    )  # fmt: skip
