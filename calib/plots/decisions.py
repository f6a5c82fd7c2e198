"""Figures of decisions: net benefit over the threshold, sizes of prediction sets, and error against coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Ints
from calib.plots.annotations import carry, fill_between, label_line_ends, whiskers, write
from calib.plots.rows import frame_rows
from calib.plots.style import (
    GUIDE,
    Style,
    fade,
    key_entry,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    shorten,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.risk_coverage import Answerable, RiskCoverage
    from calib.metrics.net_benefit import NetBenefit

_LONGEST_NAME, _LONG_NAME = 20, 24


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
        write(fig, f"threshold {100 * cut:.3g} %", cut, 1.0, yref="paper", xanchor="left", yanchor="top", xshift=4)
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
    keys = [key_entry("■", shorten(name, _LONG_NAME), style.color) for name, _, style in methods]
    set_x(fig, title={"text": f"classes in a set    {'   '.join(keys)}"}, type="category")
    set_y(fig, title={"text": "share of rows"}, tickformat=".0%", rangemode="tozero")
    set_layout(fig, barmode="group", bargap=0.25, bargroupgap=0.05)
    return fig


MAX_POINTS = 400
_LEAST_ROWS = 20
"""Rows answered below which the interval of the risk is too wide to be drawn."""


def risk_diagram(
    curves: Sequence[tuple[str, RiskCoverage, Style]],
    accepted: float,
    title: str = "",
    height: int = 420,
) -> go.Figure:
    """Risk-coverage curves: error rate among the inputs answered over their share; lower is better.

    Parameters
    ----------
    curves : (title, curve, style) of each method; the 95 % band and the best possible order are those of the last one.
    accepted : the error that a horizontal line marks; each method's last crossing gets its symbol.
    """
    fig = go.Figure()
    _, chosen, style = curves[-1]
    points = _thinned(chosen)
    points = points[chosen.answered[points] >= min(_LEAST_ROWS, chosen.n)]
    fill_between(fig, chosen.coverage[points], chosen.low[points], chosen.high[points], fade(style.color, 0.14))
    shares = np.linspace(0.0, 1.0, 201)
    fig.add_scatter(
        x=shares, y=chosen.best_risk(shares), mode="lines", name="best possible order",
        line={"color": GUIDE, "dash": "dot", "width": 1.5}, hoverinfo="skip",
    )  # fmt: skip
    fig.add_hline(y=accepted, line={"color": GUIDE, "width": 1})
    top = max(accepted, *(curve.risk[-1] for _, curve, _ in curves), chosen.high[-1])
    for name, curve, line in curves:
        at = _thinned(curve)
        fig.add_scatter(
            x=curve.coverage[at], y=curve.risk[at], name=name, mode="lines",
            line={"color": line.color, "dash": line.dash, "width": 2},
            **carry(coverage=curve.coverage[at], error=curve.risk[at], low=curve.low[at], high=curve.high[at],
                    threshold=curve.threshold[at], answered=curve.answered[at], wrong=curve.wrong[at]),
            hovertemplate=f"{plain(name)}<br>answers %{{customdata[0]:.1%}} (%{{customdata[5]:,d}} rows)"
            "<br>error %{customdata[1]:.2%} (%{customdata[2]:.2%} to %{customdata[3]:.2%})"
            "<br>where confidence ≥ %{customdata[4]:.4r}<extra></extra>",
        )  # fmt: skip
        entry = curve.last_within(accepted)
        if entry is not None:
            fig.add_scatter(
                x=[curve.coverage[entry]], y=[curve.risk[entry]], mode="markers", hoverinfo="skip", cliponaxis=False,
                marker={"color": line.color, "symbol": line.symbol, "size": 11},
            )  # fmt: skip
        large = curve.answered >= min(0.05 * curve.n, curve.n)
        top = max(top, float(curve.risk[large].max()))
    span = -0.02 * top, 1.08 * top
    said = "; ".join(_said(name, curve, accepted) for name, curve, _ in curves)
    quiet(fig, height, alt=f"Error among the inputs answered against their share: {said}.", title=title)
    ends = [(shorten(name, _LONG_NAME), float(curve.risk[-1]), line.color) for name, curve, line in curves]
    label_line_ends(fig, ends, span)
    write(
        fig, f"accepted: {100 * accepted:.3g} %", 0, accepted, xref="paper", xanchor="left", yanchor="bottom",
    )  # fmt: skip
    set_x(fig, range=[0, 1.005], title_text="coverage: share of inputs answered", tickformat=".0%")
    set_y(fig, range=span, title_text="risk: error rate among them", tickformat=".3~p", nticks=7)
    return fig


def answerable_chart(rows: Sequence[tuple[str, Answerable, Style]], accepted: float) -> go.Figure:
    """The largest coverage of each method at an accepted error, with its interval.

    Parameters
    ----------
    rows : (title, what it can answer, style) of each method, from the top; the first one's share is a dotted line.
    accepted : the error, for words.
    """
    fig = go.Figure()
    fig.add_vline(x=rows[0][1].coverage.value, line={"color": rows[0][2].color, "width": 1, "dash": "dot"})
    for place, (name, one, style) in enumerate(rows):
        share, low, high = one.coverage
        fig.add_scatter(
            x=[share], y=[place], name=name, mode="markers", cliponaxis=False,
            marker={"color": style.color, "symbol": style.symbol, "size": 10},
            error_x=whiskers(share, low, high, style.color),
            **carry(share=[share], low=[low], high=[high], threshold=[one.threshold], answered=[one.n_answered]),
            hovertemplate=f"{plain(name)}<br>answers %{{customdata[0]:.1%}} (%{{customdata[1]:.1%}} to"
            " %{customdata[2]:.1%})<br>where confidence ≥ %{customdata[3]:.4r}<extra></extra>",
        )  # fmt: skip
    said = "; ".join(f"{name} {100 * one.coverage.value:.1f} %" for name, one, _ in rows)
    alt = f"Share of inputs answered if an error of {100 * accepted:.3g} % is accepted: {said}."
    frame_rows(fig, [name for name, _, _ in rows], alt=alt, title="What each method can answer")
    set_layout(fig, margin_r=24)
    low = min(one.coverage.low for _, one, _ in rows)
    set_x(
        fig, range=[max(0.0, low - 0.05 * (1.01 - low)), 1.005], nticks=5, tickformat=".0%",
        title_text=f"answered at {100 * accepted:.3g} % error   better →",
    )  # fmt: skip
    return fig


def _said(name: str, curve: RiskCoverage, accepted: float) -> str:
    entry = curve.last_within(accepted)
    share = 0.0 if entry is None else 100 * float(curve.coverage[entry])
    error = f"{three_digits(100 * float(curve.risk[-1]))} % error on all"
    return f"{name} {error}, answers {share:.1f} % at {100 * accepted:.3g} % error"


def _thinned(curve: RiskCoverage) -> Ints:
    """Entries at even steps of coverage, the last always among them."""
    if len(curve.answered) <= MAX_POINTS:
        return np.arange(len(curve.answered))
    wanted = np.linspace(0, curve.n, MAX_POINTS + 1)[1:]
    return np.unique(np.searchsorted(curve.answered, wanted))
