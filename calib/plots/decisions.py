"""Figures of decisions: net benefit over the threshold, and how many classes prediction sets hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Ints
from calib.plots.annotations import fill_between, label_line_ends, write
from calib.plots.data import carry
from calib.plots.style import GUIDE, Style, fade, key_entry, plain, quiet, set_layout, set_x, set_y, shorten

if TYPE_CHECKING:
    from calib.metrics.net_benefit import NetBenefit

_LONGEST_NAME = 20


def decision_curves(
    methods: Sequence[tuple[str, NetBenefit, Style]], cut: float | None = None, height: int = 380
) -> go.Figure:
    """Net benefit of each method; higher is better, and a method is of use where it is above both references.

    Parameters
    ----------
    methods : (title, net benefit at the same thresholds, style); the 95 % band is that of the last one.
    cut : threshold that a vertical line marks.
    """
    fig = go.Figure()
    _, banded, style = methods[-1]
    thresholds, treat_all = banded.thresholds, banded.treat_all.value
    fill_between(fig, thresholds, banded.model.low, banded.model.high, fade(style.color, 0.14))
    top = max(float(found.model.value.max()) for _, found, _ in methods)
    top = 1.15 * max(top, float(banded.event_rate.value)) or 1.0
    floor = -0.15 * top
    shown = treat_all >= floor
    fig.add_scatter(
        x=thresholds[shown], y=treat_all[shown], mode="lines", name="act on all",
        line={"color": GUIDE, "dash": "dot", "width": 1.5}, hoverinfo="skip",
    )  # fmt: skip
    fig.add_hline(y=0.0, line={"color": GUIDE, "width": 1})
    for name, found, line in methods:
        model = found.model
        fig.add_scatter(
            x=thresholds, y=model.value, name=name, mode="lines",
            line={"color": line.color, "dash": line.dash, "width": 2},
            **carry(threshold=thresholds, benefit=model.value, low=model.low, high=model.high, all=treat_all,
                    avoided=found.avoided.value),
            hovertemplate=f"{plain(name)}<br>threshold %{{customdata[0]:.1%}}<br>net benefit %{{customdata[1]:.4f}} "
            "(%{customdata[2]:.4f} to %{customdata[3]:.4f})<br>acting on all %{customdata[4]:.4f}<extra></extra>",
        )  # fmt: skip
    if cut is not None:
        fig.add_vline(x=cut, line={"color": GUIDE, "width": 1})
        write(fig, f"cut {100 * cut:.3g} %", cut, 1.0, yref="paper", xanchor="left", yanchor="top", xshift=4)
    at = 0 if cut is None else int(np.argmin(np.abs(thresholds - cut)))
    said = "; ".join(
        f"{name} {found.model.value[at]:.4f} at {thresholds[at]:.1%} (acting on all {treat_all[at]:.4f}, on none 0)"
        for name, found, _ in methods
    )
    quiet(fig, height, alt=f"Net benefit over the threshold: {said}.", title="Net benefit")
    ends = [(shorten(name, _LONGEST_NAME), float(found.model.value[-1]), line.color) for name, found, line in methods]
    label_line_ends(fig, ends, (floor, top))
    if shown.any():  # it may lie below all that is drawn, where events are rare
        last = int(np.flatnonzero(shown)[-1])
        write(fig, "act on all", float(thresholds[last]), float(treat_all[last]), xanchor="left", yanchor="bottom")
    set_x(fig, title={"text": "threshold: act where the probability is at least this"}, tickformat=".0%",
          range=[0, float(thresholds[-1])])  # fmt: skip
    set_y(fig, title={"text": "net benefit per case"}, range=[floor, top])
    return fig


SIZES_HEIGHT, MOST_BARS = 330, 12
"""Pixels, and how many sizes have a bar of their own; larger sets share the last one."""
_LONGEST_KEY = 24


def set_sizes(methods: Sequence[tuple[str, Ints, Style]]) -> go.Figure:
    """Bars of the share of rows whose set holds 0, 1, 2, ... classes.

    Parameters
    ----------
    methods : (title, (n_classes + 1,) rows by the size of their set, style) of each.
    """
    fig = go.Figure()
    largest = max(int(np.flatnonzero(counts).max(initial=0)) for _, counts, _ in methods)
    last = min(largest, MOST_BARS)
    names = [*map(str, range(last)), f"{last} or more" if largest > last else str(last)]
    said = []
    for name, counts, style in methods:
        total = int(counts.sum())
        rows = np.append(counts[:last], counts[last:].sum())
        fig.add_bar(
            x=names, y=rows / total, name=name, marker={"color": style.color, "line": {"width": 0}},
            **carry(rows=rows, share=rows / total),
            hovertemplate=f"{plain(name)}<br>%{{x}} classes: %{{customdata[1]:.1%}} of rows (%{{customdata[0]:,d}})"
            "<extra></extra>",
        )  # fmt: skip
        mean = float(counts @ np.arange(len(counts))) / total
        said.append(f"{name} {mean:.2f} classes on average, {counts[1] / total:.1%} of sets with one class")
    quiet(fig, SIZES_HEIGHT, alt=f"Number of classes in prediction sets: {'; '.join(said)}.", title="Classes in a set")
    keys = [key_entry("■", shorten(name, _LONGEST_KEY), style.color) for name, _, style in methods]
    set_x(fig, title={"text": f"classes in a set    {'   '.join(keys)}"}, type="category")
    set_y(fig, title={"text": "share of rows"}, tickformat=".0%", rangemode="tozero")
    set_layout(fig, barmode="group", bargap=0.25, bargroupgap=0.05)
    return fig
