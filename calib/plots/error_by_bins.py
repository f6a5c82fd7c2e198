"""The ECE of methods by the number of bins, of each kind, and by the number of test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.error_by_bins import ErrorByBins
from calib.plots.annotations import carry, draw_line, fill_between, write
from calib.plots.axes import log10_ticks, span
from calib.plots.style import (
    FRAME,
    Style,
    fade,
    one_each,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    show_legend,
    three_digits,
)

Line = tuple[str, ErrorByBins, Style]
"""Name, errors and style of one method."""

_PANEL = 150
_GAP = 52
"""Pixels of the height of a panel, and between two of them."""
_COLUMNS = ((0.0, 0.47), (0.53, 1.0))
"""Shares of the width that both columns of panels take."""
_TICKS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000)


def error_by_bins_chart(lines: Sequence[Line], titles: dict[str, str], name: str) -> go.Figure:
    """ECE over the number of bins, a panel for each kind of bins, with the debiased error dashed.

    Parameters
    ----------
    lines : the methods, with the same numbers of bins.
    titles : binning -> title of its panel.
    name : of the error.
    """
    n_bins = lines[0][1].n_bins
    drawn = [
        values
        for _, found, _ in lines
        for values in (*found.errors.values(), *found.debiased.values())
    ]
    limits = span(0.0, *drawn)
    across = span(np.log10(n_bins))
    height = 2 * _PANEL + _GAP
    low = (0.0, _PANEL / height)
    high = (1 - _PANEL / height, 1.0)
    fig = go.Figure()
    ranges = []
    for method, found, _ in lines:
        values = np.array(list(found.errors.values()))
        ranges.append((method, f"{three_digits(values.min())} to {three_digits(values.max())}"))
    alt = f"{name} in {n_bins[0]} to {n_bins[-1]} bins of {len(titles)} kinds: {one_each(dict(ranges))}."
    quiet(fig, FRAME + height, alt=alt, left=56)
    for place, (binning, title) in enumerate(titles.items()):
        number = "" if place == 0 else str(place + 1)
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        down, right = divmod(place, 2)
        common = {"gridcolor": fig.layout.yaxis.gridcolor, "zeroline": False, "title_font_size": 12}
        set_layout(
            fig,
            **{
                f"xaxis{number}": {
                    **common,
                    "domain": _COLUMNS[right],
                    "anchor": f"y{number}",
                    "range": across,
                    "showgrid": False,
                    "title_text": "number of bins" if down else "",
                    **log10_ticks([int(n) for n in n_bins], n_bins[0], n_bins[-1]),
                },
                f"yaxis{number}": {
                    **common,
                    "domain": low if down else high,
                    "anchor": f"x{number}",
                    "range": limits,
                    "nticks": 4,
                    "showticklabels": not right,
                    "title_text": "" if right else plain(name),
                },
            },
        )
        write(
            fig,
            title,
            0,
            1,
            xref=f"x{number} domain",
            yref=f"y{number} domain",
            xanchor="left",
            yanchor="bottom",
        )
        for method, found, style in lines:
            _draw_binning(fig, method, found, style, binning, title, axes, named=not place)
    show_legend(fig)
    set_layout(fig, legend={"y": 1 + 20 / height})
    return fig


def _draw_binning(
    fig: go.Figure,
    method: str,
    found: ErrorByBins,
    style: Style,
    binning: str,
    title: str,
    axes: dict[str, str],
    named: bool,
) -> None:
    """Draw the error of one method in one kind of bins, and dashed the debiased one; the legend names it once."""
    x = np.log10(found.n_bins)
    for kind, errors, look in (
        ("debiased", found.debiased.get(binning), Style(style.color, style.symbol, "dash")),
        ("ECE", found.errors[binning], Style(style.color, style.symbol)),
    ):
        if errors is None:
            continue
        told = carry(
            f"{plain(method)}: {kind} {{error:.3r}}<br>{{bins}} bins, {title}",
            bins=found.n_bins,
            error=errors,
        )
        main = kind == "ECE"
        draw_line(
            fig,
            x,
            errors,
            look,
            plain(method),
            told,
            width=2 if main else 1.3,
            markers=6 if main else 0,
            **axes,
        )
        fig.data[-1].showlegend = named and main


def error_by_rows_chart(lines: Sequence[Line], name: str) -> go.Figure:
    """Mean ECE of resamples over their number of rows, with the central 95 % as a band."""
    fig = go.Figure()
    limits = span(0.0, *(part for _, found, _ in lines for part in (found.low, found.high)))
    n_rows = lines[0][1].n_rows
    for method, found, style in lines:
        x = np.log10(found.n_rows)
        fill_between(fig, x, found.low, found.high, fade(style.color, 0.1))
        told = carry(
            f"{plain(method)}: mean {{mean:.3r}} ({{low:.3r}} to {{high:.3r}})<br>{{rows:,d}} rows",
            rows=found.n_rows,
            mean=found.mean,
            low=found.low,
            high=found.high,
        )
        draw_line(
            fig, x, found.mean, Style(style.color, style.symbol), plain(method), told, markers=6
        )
    ends = {
        method: f"{three_digits(found.mean[0])} to {three_digits(found.mean[-1])}"
        for method, found, _ in lines
    }
    alt = f"{name} of resamples of {n_rows[0]:,} to {n_rows[-1]:,} rows: {one_each(ends)}."
    quiet(fig, FRAME + 2 * _PANEL, alt=alt, title=f"{name} by test rows", left=56)
    across = span(np.log10(n_rows), least=0.04)
    set_x(fig, range=across, title_text="test rows", **log10_ticks(_TICKS, n_rows[0], n_rows[-1]))
    set_y(fig, range=limits, nticks=6, title_text=plain(name))
    show_legend(fig)
    return fig
