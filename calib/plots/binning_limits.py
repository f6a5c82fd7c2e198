"""Figures of I-Max's iterations, of information against rate, and of shared against class-wise pairs."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.binning import InformationByBins
from calib.diagnostics.binning_limits import BinningLimits, SetDivergence
from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, fill_between, label_line_ends
from calib.plots.axes import log_axis, span
from calib.plots.binning import HEIGHT, SCHEME_NAMES, SCHEME_STYLES
from calib.plots.style import (
    COLORS,
    DOTTED,
    NEUTRAL,
    Style,
    fade,
    method_style,
    one_each,
    quiet,
    set_x,
    set_y,
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
