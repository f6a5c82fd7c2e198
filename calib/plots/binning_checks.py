"""Figures of shared against class-wise maps, and of calibration errors against bins and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.binning import SharingDivergence
from calib.diagnostics.verifiability import ErrorByBins, ErrorByRows
from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, fill_between, key_of, label_line_ends, write_key
from calib.plots.axes import log10_ticks
from calib.plots.style import COLORS, Limits, Style, fade, one_each, plain, quiet, set_x, set_y, three_digits

KINDS = (("class-wise", COLORS[0], "dash"), ("shared map", COLORS[10], "solid"))
HEIGHT = 380


def sharing_chart(sharing: SharingDivergence, class_names: Sequence[str], chosen: int | None = None) -> go.Figure:
    """Distance of class-wise and of shared calibration sets from the truth of a class (Patel et al. 2020, figure S1).

    Parameters
    ----------
    sharing : the distances.
    class_names : (n_classes,)
    chosen : the class drawn thick; None for the mean over the classes, with each class faint.
    """
    fig = go.Figure()
    x = np.log10(sharing.n_rows)
    places = list(sharing.classes)
    said = {}

    def draw(distances: Floats, name: str, style: Style, width: int) -> None:
        hover = f"{plain(name)}<br>{{distance:.3r}} with {{rows:,d}} rows"
        told = carry(hover, rows=sharing.n_rows, distance=distances)
        draw_line(fig, x, distances, style, name, told, width=width)

    for (kind, color, dash), distances in zip(KINDS, (sharing.classwise, sharing.shared), strict=True):
        for row, k in enumerate(places):
            if k != chosen:
                draw(distances[row], f"{class_names[k]}, {kind}", Style(fade(color, 0.3), dash=dash), 1)
        thick = distances[places.index(chosen)] if chosen in places else _mean(distances)
        whose = str(class_names[chosen]) if chosen in places and chosen is not None else "mean of the classes"
        draw(thick, f"{whose}, {kind}", Style(color, dash=dash), 3)
        said[kind] = f"from {three_digits(thick[0])} to {three_digits(thick[-1])}"
    alt = f"Distance from the truth over {sharing.n_rows[0]:,} to {sharing.n_rows[-1]:,} rows: {one_each(said)}."
    quiet(fig, HEIGHT, alt=alt, left=52, right=14)
    set_x(fig, **log10_ticks(SIZES, *sharing.n_rows[[0, -1]]), title_text="calibration rows", tickangle=0)
    set_y(fig, rangemode="tozero", title_text="√ Jensen-Shannon divergence", nticks=6)
    write_key(fig, key_of([(kind, color) for kind, color, _ in KINDS], "━"))
    return fig


def _mean(distances: Floats) -> Floats:
    """Mean over the classes that have rows."""
    known = np.isfinite(distances)
    count = known.sum(axis=0)
    return np.where(known, distances, 0.0).sum(axis=0) / np.where(count, count, np.nan)


_BANDS = 0.3
"""Opacity of all bands together: of many, each is fainter."""
SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 1_000_000)


def error_by_bins_chart(errors: ErrorByBins, styles: Mapping[str, Style]) -> go.Figure:
    """ECE of each method against the number of evaluation bins (Patel et al. 2020, figure 1a).

    The error of a level line can be verified; that of a line that keeps rising cannot.
    """
    fig = go.Figure()
    x = errors.n_bins
    for name, error in errors.ece.items():
        told = carry(f"{plain(name)}: ECE {{ECE:.3r}} {{bins}} bins", bins=x, ECE=error)
        draw_line(fig, x, error, styles[name], name, told, markers=6)
    title = "ECE against evaluation bins"
    _frame(fig, errors.ece, styles, f"ECE with {x[0]} to {x[-1]} evaluation bins", title, list(errors.ece.values()))
    set_x(fig, title_text="evaluation bins", range=[0, float(x[-1]) * 1.01])
    return fig


def error_by_rows_chart(errors: ErrorByRows, styles: Mapping[str, Style]) -> go.Figure:
    """ECE of each method against the number of evaluation rows, by bootstrap (Patel et al. 2020, figure 1b)."""
    fig = go.Figure()
    x = np.log10(errors.n_rows)
    alpha = _BANDS / max(len(errors.ece), 2)
    for name in errors.ece:
        fill_between(fig, x, errors.low[name], errors.high[name], fade(styles[name].color, alpha))
    for name, error in errors.ece.items():
        told = carry(f"{plain(name)}: ECE {{ECE:.3r}} ({{low:.3r}} to {{high:.3r}})<br>{{rows:,d}} rows",
                     rows=errors.n_rows, ECE=error, low=errors.low[name], high=errors.high[name])  # fmt: skip
        draw_line(fig, x, error, styles[name], name, told, markers=6)
    what = f"ECE of samples of {errors.n_rows[0]:,} to {errors.n_rows[-1]:,} rows"
    _frame(fig, errors.ece, styles, what, "ECE against evaluation rows", list(errors.high.values()))
    set_x(fig, **log10_ticks(SIZES, *errors.n_rows[[0, -1]]), title_text="evaluation rows", tickangle=0)
    return fig


def _frame(
    fig: go.Figure, errors: Mapping[str, Floats], styles: Mapping[str, Style], what: str, title: str,
    drawn: Sequence[Floats],
) -> None:  # fmt: skip
    said = {name: f"from {three_digits(error[0])} to {three_digits(error[-1])}" for name, error in errors.items()}
    quiet(fig, HEIGHT, alt=f"{what}: {one_each(said)}.", title=title, left=56)
    limits: Limits = 0.0, 1.06 * max((float(part.max()) for part in drawn), default=1.0) or 1.0
    set_y(fig, range=limits, title_text="ECE (top label)", nticks=6)
    label_line_ends(fig, [(name, float(error[-1]), styles[name].color) for name, error in errors.items()], limits)
