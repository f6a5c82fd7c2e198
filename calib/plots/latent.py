"""The latent function of GPcalib: what it does to a logit, how sure it is, and where the data lie."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import label_line_ends
from calib.plots.data import carry
from calib.plots.latent_view import LatentView
from calib.plots.layout import set_layout
from calib.plots.overlay import draw_bands, label_margin, reference_look
from calib.plots.style import FRAME, NEUTRAL, Style, fade, plain, quiet, three_digits

_TOP = 0.27
"""Where the plot of the function begins, as a share of the height; the data lie beneath."""

Line = tuple[str, LatentView, Style]
"""Name, curves and style of one fit."""


def latent_function(lines: Sequence[Line], temperature_style: Style, title: str = "", height: int = 480) -> go.Figure:
    """Posterior means with bands at 1 and 2 standard deviations, over the data they were learned from.

    The first fit has filled bands and whiskers on its inducing points; of the others, the outline of the wider band
    and the places of the inducing points.

    Parameters
    ----------
    lines : the fits, at least one, all in the same space; references and data are those of the first.
    temperature_style : of temperature scaling.
    """
    fig = go.Figure()
    _, view, style = lines[0]
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        draw_bands(
            fig, seen.place(seen.x), [(seen.place(low), seen.place(high)) for low, high in seen.bands], look,
            filled=not later,
        )  # fmt: skip
    # The truth comes last: a good fit would hide it.
    truth = [name for name in view.references if name == "truth"]
    ends = [_draw_reference(fig, view, name, temperature_style) for name in view.references if name not in truth]
    ends += [_draw_mean(fig, *line) for line in lines]
    ends += [_draw_reference(fig, view, name, temperature_style) for name in truth]
    for line in reversed(lines):
        _draw_inducing_points(fig, *line, whiskers=line is lines[0])
    _draw_density(fig, view, style)
    span = view.span()
    for _, other, _ in lines[1:]:
        span = min(span[0], other.span()[0]), max(span[1], other.span()[1])
    quiet(fig, height, alt=describe_latent(lines), title=title, right=label_margin([text for text, _, _ in ends]))
    y_axis = {**view.x_axis(), "range": span} if view.scale is not None else {"range": span}
    set_layout(
        fig,
        xaxis={"anchor": "y2", "title_text": view.x_title, **view.x_axis()},
        yaxis={"domain": [_TOP, 1], "title_text": view.y_title, **y_axis},
        yaxis2={"domain": [0, 0.17], "range": [0, 1.05], "visible": False, "fixedrange": True},
    )
    label_line_ends(fig, ends, span, (1 - _TOP) * (height - FRAME))
    return fig


def describe_latent(lines: Sequence[Line]) -> str:
    """The picture in one sentence."""
    name, view, _ = lines[0]
    prior, values = next(iter(view.references.items()))
    at = view.label_at
    low, high = view.bands[1]
    place, mean, low_at, high_at, given = (
        three_digits(float(value)) for value in (view.x[at], view.mean[at], low[at], high[at], values[at])
    )
    beside = f", beside {', '.join(name for name, _, _ in lines[1:])}" if len(lines) > 1 else ""
    return (
        f"{view.y_title.capitalize()}, over {view.x_title} for {name}{beside}: at {place} it gives {mean} "
        f"(1 sd: {low_at} to {high_at}) where {prior} gives {given}; "
        f"{len(view.inducing.inputs)} inducing points in the picture."
    )


def _draw_reference(fig: go.Figure, view: LatentView, name: str, temperature_style: Style) -> tuple[str, float, str]:
    color, dash, width = reference_look(name, temperature_style)
    values = view.references[name]
    placed = view.place(values)
    fig.add_scatter(
        x=view.place(view.x), y=placed, name=name, mode="lines", line={"color": color, "dash": dash, "width": width},
        **carry(input=view.x, value=values),
        hovertemplate=f"{name} %{{customdata[1]:.3r}}<br>at %{{customdata[0]:.3r}}<extra></extra>",
    )  # fmt: skip
    return name, float(placed[view.label_at]), color if name == "temperature" else NEUTRAL


def _draw_mean(fig: go.Figure, name: str, view: LatentView, style: Style) -> tuple[str, float, str]:
    (low2, high2), (low, high) = view.bands
    placed = view.place(view.mean)
    fig.add_scatter(
        x=view.place(view.x), y=placed, name=name, mode="lines",
        line={"color": style.color, "width": 2.6, "dash": style.dash},
        **carry(input=view.x, value=view.mean, low=low, high=high, low_2_sd=low2, high_2_sd=high2),
        hovertemplate=f"{plain(name)} %{{customdata[1]:.3r}} (1 sd: %{{customdata[2]:.3r}} to"
        " %{customdata[3]:.3r})<br>at %{customdata[0]:.3r}<extra></extra>",
    )  # fmt: skip
    return name, float(placed[view.label_at]), style.color


def _draw_inducing_points(fig: go.Figure, name: str, view: LatentView, style: Style, whiskers: bool) -> None:
    points = view.inducing
    x, y = view.place(points.inputs), view.place(points.mean)
    (low2, high2), (low, high) = points.bands
    if whiskers:
        fig.add_scatter(
            x=x, y=y, mode="markers", marker={"color": style.color, "size": 1}, hoverinfo="skip",
            error_y=_whisker(view, y, low2, high2, {"color": style.color, "thickness": 1, "width": 5}),
        )  # fmt: skip
    fig.add_scatter(
        x=x, y=y, name=f"inducing points of {name}", mode="markers",
        marker={"symbol": "diamond-open" if whiskers else f"{style.symbol}-open", "size": 10 if whiskers else 7,
                "color": style.color, "line_width": 2 if whiskers else 1.5},
        error_y=_whisker(view, y, low, high, {"color": style.color, "thickness": 3, "width": 0}) if whiskers else None,
        **carry(input=points.inputs, value=points.mean, low=low, high=high, low_2_sd=low2, high_2_sd=high2),
        hovertemplate=f"inducing point of {plain(name)} at %{{customdata[0]:.3r}}<br>%{{customdata[1]:.3r}}"
        "<br>1 sd: %{customdata[2]:.3r} to %{customdata[3]:.3r}"
        "<br>2 sd: %{customdata[4]:.3r} to %{customdata[5]:.3r}<extra></extra>",
    )  # fmt: skip


def _whisker(view: LatentView, y: Floats, low: Floats, high: Floats, look: dict) -> dict:
    up, down = view.place(high) - y, y - view.place(low)
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **look}


def _draw_density(fig: go.Figure, view: LatentView, style: Style) -> None:
    groups = (("other classes", view.other, NEUTRAL, 0.45), ("true class", view.label, style.color, 0.6))
    edges = view.place(view.edges)
    of = "inputs" if view.every == 1 else f"inputs of every {view.every}th row"
    for name, counts, color, alpha in groups:
        # Each group on its own height: the others outnumber the true class by K - 1 to 1.
        fig.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=_heights(counts, view),
            width=np.diff(edges), yaxis="y2", name=name,
            marker={"color": fade(color, alpha), "line_width": 0},
            **carry(low=view.edges[:-1], high=view.edges[1:], count=counts.astype(float)),
            hovertemplate=f"{name}: %{{customdata[2]:,.0f}} {of}<br>from %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    key = "   ".join(f'<span style="color:{color}">■ {name}</span>' for name, _, color, _ in reversed(groups))
    fig.add_annotation(
        text=key, x=0, xref="paper", xanchor="left", y=1.02, yref="y2 domain", yanchor="bottom",
        showarrow=False, font={"size": 11},
    )  # fmt: skip


def _heights(counts: Floats, view: LatentView) -> Floats:
    """Shares of the tallest bar. Probabilities pile up at 0 and 1: there, bars that would hide all others are cut."""
    top = float(counts.max())
    if view.piled:
        top = max(float(counts[1:-1].max()), 0.02 * top)
    return np.minimum(counts / max(top, 1.0), 1.0)
