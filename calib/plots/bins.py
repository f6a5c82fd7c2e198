"""Figures of I-Max's iterations, of information against rate, of pairs, and of the ECE by bins and by test rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.binning import InformationByBins
from calib.diagnostics.bins import BinningLimits, ErrorByBins, SetDivergence
from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, fill_between, label_line_ends, write
from calib.plots.axes import log10_ticks, log_axis, span
from calib.plots.binning import HEIGHT, SCHEME_NAMES, SCHEME_STYLES
from calib.plots.style import (
    COLORS,
    DOTTED,
    FRAME,
    NEUTRAL,
    Style,
    fade,
    method_style,
    one_each,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    show_legend,
    three_digits,
)


def steps_chart(limits: BinningLimits) -> go.Figure:
    """Information over I-Max's iterations from both starts, beneath its bound (Patel et al. 2020, figure 4a)."""
    fig = go.Figure()
    most = limits.model_information
    n_steps = len(next(iter(limits.steps.values()))) - 1
    reach = span(most, *limits.steps.values())
    draw_line(fig, (0, n_steps), (most, most), DOTTED, width=1.5)
    ends = [("log-odds", most, NEUTRAL)]
    for start, information in limits.steps.items():
        name = f"from {SCHEME_NAMES[start]}"
        style = SCHEME_STYLES[start]
        steps = np.arange(n_steps + 1)
        told = carry(
            f"{name}, step {{step}}<br>{{information:.4r}} nats",
            step=steps,
            information=information,
        )
        draw_line(fig, steps, information, style, name, told)
        ends.append((name, float(information[-1]), style.color))
    gains = {
        name: f"{three_digits(each[0])} to {three_digits(each[-1])}"
        for name, each in limits.steps.items()
    }
    alt = f"Nats kept over the iterations, of {three_digits(most)}: {one_each(gains)}."
    quiet(fig, HEIGHT, alt=alt, title="Iterations of I-Max", left=62)
    set_x(fig, range=span(0, n_steps, pad=0.02), title_text="step")
    set_y(fig, range=reach, title_text="label information, nats", nticks=6)
    label_line_ends(fig, ends, reach)
    return fig


def information_rate_chart(found: InformationByBins, limits: BinningLimits) -> go.Figure:
    """Label information against the rate of the bins, beneath the bottleneck limit (figure 4b)."""
    fig = go.Figure()
    rates = np.concatenate([limits.rate, *found.rate.values()])
    reach = 0.0, 1.08 * found.information or 1.0
    rate = np.r_[limits.rate, rates.max()]
    most = np.r_[limits.label_information, limits.label_information[-1]]
    told = carry(
        "at most {label_information:.3r} nats at {rate:.3r} nats", rate=rate, label_information=most
    )
    draw_line(fig, rate, most, DOTTED, "bottleneck limit", told, width=1.5)
    ends = [("bottleneck limit", float(most[-1]), NEUTRAL)]
    for scheme in reversed(SCHEME_NAMES):
        name = SCHEME_NAMES[scheme]
        style = SCHEME_STYLES[scheme]
        if scheme == "imax":
            style = Style(style.color, style.symbol)
        kept = found.label_information[scheme]
        told = carry(
            f"{name}, {{bins}} bins<br>{{label_information:.3r}} nats at {{rate:.3r}} nats",
            bins=found.n_bins,
            rate=found.rate[scheme],
            label_information=kept,
        )
        draw_line(fig, found.rate[scheme], kept, style, name, told, width=1.8, markers=7)
        ends.append((name, float(kept[-1]), style.color))
    kept_of = {
        name: three_digits(float(found.label_information[scheme][-1]))
        for scheme, name in SCHEME_NAMES.items()
    }
    alt = f"Label information by rate, at most {three_digits(found.information)} nats: {one_each(kept_of)}."
    quiet(fig, HEIGHT, alt=alt, title="Information against rate", left=62)
    set_x(fig, range=span(0.0, rates), title_text="rate I(bin; log-odds), nats")
    set_y(fig, range=reach, title_text="label information, nats", nticks=6)
    label_line_ends(fig, ends, reach)
    return fig


def set_divergence_chart(found: SetDivergence) -> go.Figure:
    """Mean distance from the classes' own log-odds, of class-wise and shared sets, with 80 % of classes as a band."""
    fig = go.Figure()
    x = np.log10(found.n_rows)
    reach = 0.0, 1.0
    ends = []
    means = {}
    sets: tuple[tuple[str, Floats, Style], ...] = (
        ("class-wise", found.class_wise, Style(COLORS[5], "square", "dash")),
        ("shared", found.shared, Style(method_style("imax").color)),
    )
    for name, distance, style in sets:
        low, high = np.quantile(distance, [0.1, 0.9], axis=1)
        mean = distance.mean(axis=1)
        fill_between(fig, x, low, high, fade(style.color, 0.12))
        told = carry(
            f"{name}: {{mean:.3r}} ({{low:.3r}} to {{high:.3r}})<br>{{rows:,d}} rows",
            rows=found.n_rows,
            mean=mean,
            low=low,
            high=high,
        )
        draw_line(fig, x, mean, style, name, told, markers=7)
        ends.append((name, float(mean[-1]), style.color))
        means[name] = f"{three_digits(mean[0])} to {three_digits(mean[-1])}"
    alt = (
        f"Distance of sets of {found.n_rows[0]:,} to {found.n_rows[-1]:,} rows: {one_each(means)}."
    )
    quiet(fig, HEIGHT, alt=alt, title="Shared and class-wise sets", left=52)
    across = span(x, least=0.2)
    set_x(fig, title_text="rows of the set", **log_axis(*across, typed=False))
    set_y(fig, range=reach, title_text="√ Jensen-Shannon divergence", nticks=6)
    label_line_ends(fig, ends, reach)
    return fig


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
