"""Figures of I-Max's iterations, of information against rate, of pairs, and of the ECE by bins and by test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from calib.diagnostics.binning import InformationByBins
from calib.diagnostics.bins import BinningLimits, ErrorByBins, SetDivergence
from calib.numerics import Floats
from calib.plots.annotations import write
from calib.plots.axes import log_axis, span
from calib.plots.binning import SCHEME_NAMES, SCHEME_STYLES
from calib.plots.lines import Curve, describe_ends, draw_curves, line_chart
from calib.plots.style import (
    COLORS,
    DOTTED,
    FRAME,
    Style,
    join_named,
    method_style,
    plain,
    quiet,
    show_legend,
    three_digits,
)

INFORMATION = "label information, nats"


def steps_chart(limits: BinningLimits) -> go.Figure:
    """Information over I-Max's iterations from both starts, beneath its bound (Patel et al. 2020, figure 4a)."""
    most = limits.model_information
    n_steps = len(next(iter(limits.steps.values()))) - 1
    curves = [Curve("log-odds", DOTTED, np.array([0, n_steps]), np.full(2, most))]
    for start, information in limits.steps.items():
        name = f"from {SCHEME_NAMES[start]}"
        curves.append(Curve(name, SCHEME_STYLES[start], np.arange(n_steps + 1), information))
    return line_chart(
        curves,
        ("step", "information"),
        {"range": span(0, n_steps, pad=0.02), "title_text": "step"},
        {"range": span(most, *limits.steps.values()), "title_text": INFORMATION},
        "Iterations of I-Max",
        f"Nats kept over the iterations: {describe_ends(curves)}.",
        markers=0,
    )


def information_rate_chart(by_bins: InformationByBins, limits: BinningLimits) -> go.Figure:
    """Label information against the rate of the bins, beneath the bottleneck limit (figure 4b)."""
    rates = np.concatenate([limits.rate, *by_bins.rate.values()])
    rate = np.r_[limits.rate, rates.max()]
    most = np.r_[limits.label_information, limits.label_information[-1]]
    curves = [Curve("bottleneck limit", DOTTED, rate, most)]
    for scheme in reversed(SCHEME_NAMES):
        style = SCHEME_STYLES[scheme]
        if scheme == "imax":
            style = Style(style.color, style.symbol)
        information = by_bins.label_information[scheme]
        more = {"bins": by_bins.n_bins}
        curves.append(
            Curve(SCHEME_NAMES[scheme], style, by_bins.rate[scheme], information, more=more)
        )
    return line_chart(
        curves,
        ("rate", "label_information"),
        {"range": span(0.0, rates), "title_text": "rate I(bin; log-odds), nats"},
        {"range": (0.0, 1.08 * by_bins.information or 1.0), "title_text": INFORMATION},
        "Information against rate",
        f"Label information by rate, at most {three_digits(by_bins.information)} nats: "
        f"{describe_ends(curves)}.",
    )


def set_divergence_chart(divergence: SetDivergence) -> go.Figure:
    """Mean distance from the classes' own log-odds, of class-wise and shared sets, with 80 % of classes as a band."""
    sets: tuple[tuple[str, Floats, Style], ...] = (
        ("class-wise", divergence.class_wise, Style(COLORS[5], "square", "dash")),
        ("shared", divergence.shared, Style(method_style("imax").color)),
    )
    curves = []
    for name, distance, style in sets:
        low, high = np.quantile(distance, [0.1, 0.9], axis=1)
        curves.append(Curve(name, style, divergence.n_rows, distance.mean(axis=1), (low, high)))
    across = span(np.log10(divergence.n_rows), least=0.2)
    return line_chart(
        curves,
        ("rows", "mean"),
        {"title_text": "rows of the set", **log_axis(*across)},
        {"range": (0.0, 1.0), "title_text": "√ Jensen-Shannon divergence"},
        "Shared and class-wise sets",
        f"Distance of sets of {divergence.n_rows[0]:,} to {divergence.n_rows[-1]:,} rows: "
        f"{describe_ends(curves)}.",
    )


Line = tuple[str, ErrorByBins, Style]
"""Name, errors and style of one method."""

_PANELS, _GAP = 352, 52
"""Pixels of the height of two panels, and of the room between them."""


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
        for _, measured, _ in lines
        for values in (*measured.errors.values(), *measured.debiased.values())
    ]
    ranges = {}
    for method, measured, _ in lines:
        values = np.array(list(measured.errors.values()))
        ranges[method] = f"{three_digits(values.min())} to {three_digits(values.max())}"
    room = {"horizontal_spacing": 0.06, "vertical_spacing": _GAP / _PANELS}
    fig = make_subplots(2, 2, shared_yaxes=True, **room)
    alt = (
        f"{name} in {n_bins[0]} to {n_bins[-1]} bins of {len(titles)} kinds: {join_named(ranges)}."
    )
    quiet(fig, FRAME + _PANELS, alt=alt, left=56)
    across = {"type": "log", "range": span(np.log10(n_bins)), "tickvals": n_bins[::2]}
    look = {"gridcolor": fig.layout.yaxis.gridcolor, "zeroline": False, "title_font_size": 12}
    fig.update_xaxes(showgrid=False, tickangle=0, tickformat=",d", **across, **look)
    fig.update_xaxes(title_text="number of bins", row=2)
    fig.update_yaxes(range=span(0.0, *drawn), nticks=4, **look)
    fig.update_yaxes(title_text=plain(name), col=1)
    for place, (binning, title) in enumerate(titles.items()):
        number = place + 1 if place else ""
        domain = {"xref": f"x{number} domain", "yref": f"y{number} domain"}
        write(fig, title, 0, 1, xanchor="left", yanchor="bottom", **domain)
        curves = []
        for method, measured, style in lines:
            for errors, dash in ((measured.debiased, "dash"), (measured.errors, "solid")):
                if binning in errors:
                    line = Style(style.color, style.symbol, dash)
                    curves.append(Curve(method, line, n_bins, errors[binning]))
        first = len(fig.data)
        draw_curves(fig, curves, ("bins", "error"), hover=f"{{bins}} bins, {title}", markers=6)
        for trace in fig.data[first:]:
            named = trace.line.dash == "solid" and not place
            axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
            trace.update(name=plain(trace.name), showlegend=named, **axes)
    show_legend(fig, lift=20)
    return fig


def error_by_rows_chart(lines: Sequence[Line], name: str) -> go.Figure:
    """Mean ECE of resamples over their number of rows, with the central 95 % as a band."""
    curves = [
        Curve(
            method,
            Style(style.color, style.symbol),
            measured.n_rows,
            measured.mean,
            (measured.low, measured.high),
        )
        for method, measured, style in lines
    ]
    n_rows = lines[0][1].n_rows
    ends = [end for curve in curves for end in curve.band or ()]
    return line_chart(
        curves,
        ("rows", "mean"),
        {"title_text": "test rows", **log_axis(*span(np.log10(n_rows)))},
        {"range": span(0.0, *ends), "title_text": name},
        f"{name} by test rows",
        f"{name} of resamples of {n_rows[0]:,} to {n_rows[-1]:,} rows: {describe_ends(curves)}.",
    )
