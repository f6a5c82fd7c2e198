"""Figures of accuracy by separation, fast against exact separation, and reduced training sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from calib.diagnostics.separation import SeparationHistogram, SuccessRates
from calib.numerics import Floats, Ints
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_line,
    draw_marks,
    label_line_ends,
    whiskers,
    write,
)
from calib.plots.axes import histogram_median, log_axis, span
from calib.plots.style import (
    COLORS,
    DASHES,
    DOTTED,
    GUIDE,
    NEUTRAL,
    SYMBOLS,
    Limits,
    Style,
    add_lines,
    fade,
    key_entry,
    one_each,
    overlapping,
    plain,
    quiet,
    set_x,
    set_y,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.separation_study import Tradeoff


RIGHT, DANGER = "#0072B2", "#D55E00"
"""Right predictions, and what is dangerous; all else is grey."""


@dataclass(frozen=True, eq=False)
class SuccessMap:
    """One fitted map: its name, its style, and (n,) success rates at the picture's separations."""

    name: str
    style: Style
    rate: Floats


HEIGHT, DENSITIES_HEIGHT, TRADEOFF_HEIGHT = 400, 260, 380


def success_curve(rates: SuccessRates, separation: Floats, maps: Sequence[SuccessMap], kind: str) -> go.Figure:
    """Success rates of test rows in bins of separation, and maps fitted to calibration rows.

    Chouraqui et al. (2023), figure 5.

    Parameters
    ----------
    rates : of the test rows.
    separation : (n,) increasing values at which the maps are given.
    maps : fitted maps, named at their right ends.
    kind : which separation, for the axis.
    """
    fig = go.Figure()
    low = float(np.min([rates.low.min(), *(line.rate.min() for line in maps)]))
    limits = max(-0.02, 0.1 * np.floor(10 * low) - 0.02), 1.02
    across = min(separation[0], rates.separation[0]), max(separation[-1], rates.separation[-1])
    add_sides(fig, across)
    for line in maps:
        told = carry(f"{plain(line.name)}: {{success_rate:.3r}}<br>at {{separation:.3r}}", separation=separation,
                     success_rate=line.rate)  # fmt: skip
        draw_line(fig, separation, line.rate, line.style, line.name, told)
    rate = rates.rate
    told = carry(
        "{right:,d} of {rows:,d} test rows are right: {success_rate:.3r}<br>95 %: {low:.3r} to {high:.3r}"
        "<br>separation {least:.3r} to {largest:.3r}",
        separation=rates.separation, least=rates.least, largest=rates.largest, right=rates.right, rows=rates.rows,
        success_rate=rate, low=rates.low, high=rates.high,
    )  # fmt: skip
    draw_marks(
        fig, rates.separation, rate, Style(NEUTRAL), "test rows", told, size=8,
        error_y=whiskers(rate, rates.low, rates.high, NEUTRAL, 1.5, width=3),
    )  # fmt: skip
    said = f"from {rate[0]:.3g} at {rates.separation[0]:.3g} to {rate[-1]:.3g} at {rates.separation[-1]:.3g}"
    alt = f"Success rate of {int(rates.rows.sum()):,} test rows in {len(rates.rows)} bins of separation, {said}."
    quiet(fig, HEIGHT, alt=alt)
    label_line_ends(fig, [(line.name, float(line.rate[-1]), line.style.color) for line in maps], limits)
    set_x(fig, title_text=kind, range=across, nticks=7)
    set_y(fig, title_text="share of right predictions", range=limits, tickformat=".3~g", nticks=7)
    return fig


def separation_densities(histogram: SeparationHistogram, kind: str) -> go.Figure:
    """Separations of right predictions upwards and of wrong ones downwards, each group on its own height."""
    fig = go.Figure()
    edges = histogram.edges
    groups = [Counted("right", histogram.right, RIGHT, "right"), Counted("wrong", histogram.wrong, NEUTRAL, "wrong")]
    said = "; ".join(
        f"{int(one.count.sum()):,} {one.name}, median {three_digits(histogram_median(edges, one.count))}"
        for one in groups
        if one.count.sum()
    )
    quiet(fig, DENSITIES_HEIGHT, alt=f"Separations of predictions: {said}.")
    across = float(edges[0]), float(edges[-1])
    add_sides(fig, across, labels=False)
    draw_counts(fig, edges, edges, groups, "separation")
    set_x(fig, title_text=kind, range=across, nticks=7)
    return fig


def add_sides(fig: go.Figure, limits: Limits, labels: bool = True) -> None:
    """Shade where inputs are dangerous, mark 0, and say which side it is."""
    low, high = limits
    if low < 0:
        fig.add_shape(
            type="rect", x0=low, x1=min(0.0, high), y0=0, y1=1, yref="paper", layer="below",
            fillcolor=fade(DANGER, 0.08), line_width=0,
        )  # fmt: skip
    if low < 0 < high:
        fig.add_vline(x=0, line={"color": GUIDE, "width": 1.5, "dash": "dot"})
    if labels and low < 0:
        # Above the plot, where no line can be, however narrow the side is.
        write(fig, "← dangerous", 0, 1, color=DANGER, xref="paper", xanchor="left", yref="paper", yanchor="bottom")


NAMES = {
    "none": "none", "mean_pool": "mean pool", "max_pool": "max pool", "pca": "PCA", "bilinear": "bilinear",
    "random_pixels": "random pixels", "kmeans": "k-means", "random_set": "random rows",
}  # fmt: skip
_DODGE = 0.05


def fast_against_exact(rows: Ints, fast: Floats, exact: Floats, right: npt.NDArray[np.bool_]) -> go.Figure:
    """Exact separation of each row over its fast one, with the line on which they agree.

    Parameters
    ----------
    rows : (n,) their numbers.
    fast, exact : (n,) finite separations.
    right : (n,) whether the prediction was right.
    """
    fig = go.Figure()
    ends = span(fast, exact, pad=0)
    draw_line(fig, ends, ends, DOTTED, width=1.5)
    for name, group, color, symbol in (("right", right, RIGHT, "circle"), ("wrong", ~right, NEUTRAL, "x")):
        told = carry(f"test row {{test_row:,d}}, {name}<br>fast {{fast:.3r}}, exact {{exact:.3r}}",
                     test_row=rows[group], fast=fast[group], exact=exact[group])  # fmt: skip
        fig.add_scatter(
            x=fast[group], y=exact[group], name=name, mode="markers",
            marker=overlapping(color) | {"size": 7, "symbol": symbol}, **told,
        )  # fmt: skip
    apart = np.abs(exact - fast)
    median, most = three_digits(float(np.median(apart))), three_digits(float(apart.max()))
    alt = (
        f"Exact over fast separation of {len(fast):,} test rows: they differ by {median} in the median, {most} at most."
    )
    quiet(fig, HEIGHT, alt=alt, right=16)
    key = f"{key_entry('●', 'right', RIGHT)}   {key_entry('✕', 'wrong', NEUTRAL)}"
    add_lines(fig, 1)
    set_x(fig, title_text=f"fast separation<br>{key}", showgrid=True, nticks=7)
    set_y(fig, title_text="exact separation", nticks=7)
    return fig


def tradeoff_speed(measured: Sequence[Tradeoff]) -> go.Figure:
    """Predictions for each second of processor time over t, one line per reduction (figure 6)."""
    limits = span(np.log10([one.per_second for one in measured]), pad=0.1, least=0.25)
    fig, ends = go.Figure(), []
    for name, style, line in _lines(measured):
        t, speed = [one.factor for one in line], [one.per_second for one in line]
        told = carry(
            f"{name}, t = {{t}}<br>{{predictions_per_second:,.3r}} predictions per second<br>{{training_rows:,d}}"
            " training rows of {numbers_per_row:,d} numbers",
            t=t, predictions_per_second=speed, training_rows=[one.rows for one in line],
            numbers_per_row=[one.numbers for one in line],
        )  # fmt: skip
        draw_line(fig, t, np.log10(speed), style, name, told, markers=8)
        ends.append((name, float(np.log10(speed[-1])), style.color))
    said = _by_setting(measured, [one.per_second for one in measured])
    _frame(fig, measured, ends, limits, "Predictions per second of processor time", f"Predictions per second: {said}")
    set_y(fig, **log_axis(*limits, typed=False), title_text="per second")
    return fig


def tradeoff_ece(measured: Sequence[Tradeoff]) -> go.Figure:
    """ECE with its interval over t, one line per reduction, and a line where there is none (figures 7 and 8)."""
    top = 1.08 * max(max(one.ece.high for one in measured), 1e-3)
    fig, ends = go.Figure(), []
    lines = _lines(measured)
    for place, (name, style, line) in enumerate(lines):
        alone = len(line) == 1 and line[0].reduction == "none"
        shift = 0.0 if alone else _DODGE * (place - (len(lines) - 1) / 2)
        value, low, high = (np.array([one.ece[i] for one in line]) for i in range(3))
        t = [one.factor for one in line]
        told = carry(f"{name}, t = {{t}}<br>ECE {{ECE:.3r}} (95 %: {{low:.3r}} to {{high:.3r}})", t=t, ECE=value,
                     low=low, high=high)  # fmt: skip
        draw_line(fig, np.array(t) + shift, value, style, name, told, width=1.6, markers=8,
                  error_y=whiskers(value, low, high, style.color, 1.2, width=2))  # fmt: skip
        if line[0].reduction == "none":
            fig.add_hline(y=float(value[0]), line={"color": GUIDE, "width": 1.5, "dash": "dot"})
        ends.append((name, float(value[-1]), style.color))
    said = _by_setting(measured, [one.ece.value for one in measured])
    _frame(fig, measured, ends, (0.0, top), "Calibration error", f"ECE by reduction: {said}.")
    set_y(fig, range=[0, top], title_text="ECE", nticks=6)
    return fig


def _lines(measured: Sequence[Tradeoff]) -> list[tuple[str, Style, list[Tradeoff]]]:
    """Name, style and values by t of each reduction; its look does not depend on which are shown."""
    lines = []
    for place, name in enumerate(NAMES):
        line = sorted((one for one in measured if one.reduction == name), key=lambda one: one.factor)
        if line:
            lines.append((NAMES[name], Style(COLORS[place], SYMBOLS[place], DASHES[place % len(DASHES)]), line))
    return lines


def _by_setting(measured: Sequence[Tradeoff], values: Sequence[float]) -> str:
    return one_each({
        f"{NAMES[one.reduction]} t={one.factor}": three_digits(value)
        for one, value in zip(measured, values, strict=True)
    })  # fmt: skip


def _frame(
    fig: go.Figure, measured: Sequence[Tradeoff], ends: list[tuple[str, float, str]], span: Limits, title: str, alt: str
) -> None:
    factors = sorted({one.factor for one in measured})
    quiet(fig, TRADEOFF_HEIGHT, alt=alt, title=title, left=60)
    label_line_ends(fig, ends, span)
    set_x(
        fig, tickvals=factors, range=[factors[0] - 0.35, factors[-1] + 0.35],
        title_text="t (numbers, or rows, fall by t²)",
    )  # fmt: skip
