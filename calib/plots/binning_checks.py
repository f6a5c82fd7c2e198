"""Figures of shared against class-wise maps, and of calibration errors against bins and rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.binning import SharingDivergence
from calib.diagnostics.verifiability import ErrorByBins, ErrorByRows
from calib.numerics import Floats, Ints
from calib.plots.annotations import carry, fill_between, label_line_ends
from calib.plots.axes import log10_ticks
from calib.plots.binning import key_of, write_key
from calib.plots.style import COLORS, Style, fade, plain, quiet, set_x, set_y, shorten, three_digits

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
    said = []
    for (kind, color, dash), distances in zip(KINDS, (sharing.classwise, sharing.shared), strict=True):
        for row, k in enumerate(places):
            if k != chosen:
                _draw(fig, x, sharing, distances[row], f"{class_names[k]}, {kind}", fade(color, 0.3), dash, 1)
        thick = distances[places.index(chosen)] if chosen in places else _mean(distances)
        whose = str(class_names[chosen]) if chosen in places and chosen is not None else "mean of the classes"
        _draw(fig, x, sharing, thick, f"{whose}, {kind}", color, dash, 3)
        said.append(f"{kind} from {three_digits(thick[0])} to {three_digits(thick[-1])}")
    alt = f"Distance from the truth over {sharing.n_rows[0]:,} to {sharing.n_rows[-1]:,} rows: {'; '.join(said)}."
    quiet(fig, HEIGHT, alt=alt, left=52, right=14)
    set_x(fig, **log10_ticks(SIZES, *sharing.n_rows[[0, -1]]), title_text="calibration rows", tickangle=0)
    set_y(fig, rangemode="tozero", title_text="√ Jensen-Shannon divergence", nticks=6)
    write_key(fig, key_of([(kind, color) for kind, color, _ in KINDS], "━"))
    return fig


def _draw(
    fig: go.Figure, x: Floats, sharing: SharingDivergence, y: Floats, name: str, color: str, dash: str, width: int
) -> None:
    fig.add_scatter(
        x=x, y=y, name=name, mode="lines", line={"color": color, "width": width, "dash": dash},
        **carry(rows=sharing.n_rows, distance=y),
        hovertemplate=f"{plain(name)}<br>%{{customdata[1]:.3r}} with %{{customdata[0]:,d}} rows<extra></extra>",
    )  # fmt: skip


def _mean(distances: Floats) -> Floats:
    """Mean over the classes that have rows."""
    known = np.isfinite(distances)
    count = known.sum(axis=0)
    return np.where(known, distances, 0.0).sum(axis=0) / np.where(count, count, np.nan)


_LONGEST_NAME = 18
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
        _line(fig, x, error, name, styles[name], carry(bins=x, ECE=error), "%{customdata[0]} bins")
    _frame(fig, errors.ece, styles, f"ECE with {x[0]} to {x[-1]} evaluation bins", "ECE against evaluation bins")
    set_x(fig, title_text="evaluation bins", range=[0, float(x[-1]) * 1.01])
    return fig


def error_by_rows_chart(errors: ErrorByRows, styles: Mapping[str, Style]) -> go.Figure:
    """ECE of each method against the number of evaluation rows, by bootstrap (Patel et al. 2020, figure 1b)."""
    fig = go.Figure()
    x = np.log10(errors.n_rows)
    for name in errors.ece:
        fill_between(
            fig, x, errors.low[name], errors.high[name], fade(styles[name].color, _BANDS / max(len(errors.ece), 2))
        )
    for name, error in errors.ece.items():
        columns = carry(rows=errors.n_rows, ECE=error, low=errors.low[name], high=errors.high[name])
        after = "(%{customdata[2]:.3r} to %{customdata[3]:.3r})<br>%{customdata[0]:,d} rows"
        _line(fig, x, error, name, styles[name], columns, after)
    what = f"ECE of samples of {errors.n_rows[0]:,} to {errors.n_rows[-1]:,} rows"
    _frame(fig, errors.ece, styles, what, "ECE against evaluation rows")
    set_x(fig, **log10_ticks(SIZES, *errors.n_rows[[0, -1]]), title_text="evaluation rows", tickangle=0)
    return fig


def _line(fig: go.Figure, x: Floats | Ints, y: Floats, name: str, style: Style, columns: dict, after: str) -> None:
    fig.add_scatter(
        x=x, y=y, name=name, mode="lines+markers",
        line={"color": style.color, "width": 2, "dash": style.dash}, marker={"symbol": style.symbol, "size": 6},
        **columns, hovertemplate=f"{plain(name)}: ECE %{{customdata[1]:.3r}} {after}<extra></extra>",
    )  # fmt: skip


def _frame(fig: go.Figure, errors: Mapping[str, Floats], styles: Mapping[str, Style], what: str, title: str) -> None:
    said = "; ".join(
        f"{name} from {three_digits(error[0])} to {three_digits(error[-1])}" for name, error in errors.items()
    )
    quiet(fig, HEIGHT, alt=f"{what}: {said}.", title=title, left=56)
    top = 1.06 * max((float(error.max()) for error in errors.values()), default=1.0) or 1.0
    set_y(fig, range=[0, top], title_text="ECE (top label)", nticks=6)
    ends = [(shorten(name, _LONGEST_NAME), float(error[-1]), styles[name].color) for name, error in errors.items()]
    label_line_ends(fig, ends, (0, top))
