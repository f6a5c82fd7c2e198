"""Figures of GPcalib's latent function, over logits or probabilities, and of its objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.latent import InducingPoints, LatentCurve
from calib.diagnostics.latent_pairwise import PairwiseCurve
from calib.numerics import Floats
from calib.plots.annotations import carry, draw_bands, label_line_ends, reference_look, whiskers, write
from calib.plots.axes import Scale, on_scale, probability_axis
from calib.plots.style import (
    NEUTRAL,
    Limits,
    Style,
    key_entry,
    overlapping,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    three_digits,
)

_MOST_POINTS = 140
_PAD = 0.06
"""Space above and below the curves, as a share of their range."""


@dataclass(frozen=True, eq=False)
class LatentView:
    """Curves over one axis in their natural units; those over x have shape (m,).

    Attributes
    ----------
    x : places on the horizontal axis, increasing.
    mean, bands : the posterior mean; (low, high) at 2 and at 1 standard deviations.
    references : name -> curve, the prior first and, where given, temperature and truth.
    inducing : the inducing points in the picture.
    edges, label, other : the histograms of the data beneath.
    every : 1 if all calibration rows are counted there, n if every n-th.
    x_title, y_title : names of the axes.
    label_at : index of the point by whose height the curves' names are ordered.
    scale, limits : of both axes where they are probabilities; scale is None for latents.
    piled : whether the data are probabilities, most of which lie at the ends.
    """

    x: Floats
    mean: Floats
    bands: tuple[tuple[Floats, Floats], ...]
    references: dict[str, Floats]
    inducing: InducingPoints
    edges: Floats
    label: Floats
    other: Floats
    every: int
    x_title: str
    y_title: str
    label_at: int = -1
    scale: Scale | None = None
    limits: Limits = (0.0, 1.0)
    piled: bool = False

    def place(self, values: Floats) -> Floats:
        """Where values lie on the axes."""
        return values if self.scale is None else on_scale(values, self.scale, self.limits)

    def x_axis(self) -> dict[str, Any]:
        """Range and ticks of the horizontal axis."""
        if self.scale is None:
            return {"range": [float(self.x[0]), float(self.x[-1])]}
        return probability_axis(self.scale, self.limits)

    def span(self) -> Limits:
        """Range of the vertical axis that holds the curves; a wide band may leave the picture."""
        drawn = [self.place(values) for values in (self.mean, *self.references.values())]
        low, high = min(float(part.min()) for part in drawn), max(float(part.max()) for part in drawn)
        pad = _PAD * max(high - low, 1e-9)
        return low - pad, high + pad


def latent_view(curve: LatentCurve) -> LatentView:
    """The latents themselves, thinned to at most 140 points."""
    keep = np.linspace(0, len(curve.inputs) - 1, min(len(curve.inputs), _MOST_POINTS)).astype(int)
    mean, sd = curve.mean[keep], curve.sd[keep]
    logits = curve.space == "logits"
    return LatentView(
        x=curve.inputs[keep],
        mean=mean,
        bands=tuple((mean - width * sd, mean + width * sd) for width in (2, 1)),
        references={name: values[keep] for name, values in _references(curve, curve.prior_name).items()},
        inducing=curve.inducing,
        edges=curve.density_edges,
        label=curve.density_label,
        other=curve.density_other,
        every=curve.every,
        x_title="logit z" if logits else "probability p",
        y_title=f"latent g({'z' if logits else 'p'}), up to a shift",
        piled=not logits,
    )


def probability_view(curve: PairwiseCurve) -> LatentView:
    """Two-class probability before and after calibration."""
    logit = curve.scale == "logit"
    # A usual prior is the diagonal in every space, and is then the same line for all fits.
    prior = "identity" if np.array_equal(curve.prior, curve.probs) else curve.prior_name
    return LatentView(
        x=curve.probs,
        mean=curve.mean,
        bands=curve.bands,
        references=_references(curve, prior),
        inducing=curve.inducing,
        edges=curve.density_edges,
        label=curve.density_label,
        other=curve.density_other,
        every=curve.every,
        x_title="two-class probability",
        y_title="calibrated probability",
        # All curves meet at 1; their order is seen where they are apart.
        label_at=-1 if logit else int(np.searchsorted(curve.probs, 0.85)),
        scale=curve.scale,
        limits=(float(curve.probs[0]), float(curve.probs[-1])) if logit else (0.0, 1.0),
        piled=True,
    )


def _references(curve: LatentCurve | PairwiseCurve, prior: str) -> dict[str, Floats]:
    every = {prior: curve.prior, "temperature": curve.temperature, "truth": curve.truth}
    return {name: values for name, values in every.items() if values is not None}


_TOP = 0.27
"""Where the plot of the function begins, as a share of the height; the data lie beneath."""

Line = tuple[str, LatentView, Style]
"""Name, curves and style of one fit."""


def latent_function(lines: Sequence[Line], temperature_style: Style, height: int = 480) -> go.Figure:
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
        _draw_inducing_points(fig, *line, first=line is lines[0])
    _draw_density(fig, view, style)
    span = view.span()
    for _, other, _ in lines[1:]:
        span = min(span[0], other.span()[0]), max(span[1], other.span()[1])
    quiet(fig, height, alt=describe_latent(lines))
    y_axis = {**view.x_axis(), "range": span} if view.scale is not None else {"range": span}
    set_layout(
        fig,
        xaxis={"anchor": "y2", "title_text": view.x_title, **view.x_axis()},
        yaxis={"domain": [_TOP, 1], "title_text": view.y_title, **y_axis},
        yaxis2={"domain": [0, 0.17], "range": [0, 1.05], "visible": False, "fixedrange": True},
    )
    label_line_ends(fig, ends, span)
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
    return name, float(placed[view.label_at]), color


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


def _draw_inducing_points(fig: go.Figure, name: str, view: LatentView, style: Style, first: bool) -> None:
    points = view.inducing
    x, y = view.place(points.inputs), view.place(points.mean)
    (low2, high2), (low, high) = points.bands
    if first:
        fig.add_scatter(
            x=x, y=y, mode="markers", marker={"color": style.color, "size": 1}, hoverinfo="skip",
            error_y=whiskers(y, view.place(low2), view.place(high2), style.color, 1, width=5),
        )  # fmt: skip
    fig.add_scatter(
        x=x, y=y, name=f"inducing points of {name}", mode="markers",
        marker={"symbol": "diamond-open" if first else f"{style.symbol}-open", "size": 10 if first else 7,
                "color": style.color, "line_width": 2 if first else 1.5},
        error_y=whiskers(y, view.place(low), view.place(high), style.color, 3) if first else None,
        **carry(input=points.inputs, value=points.mean, low=low, high=high, low_2_sd=low2, high_2_sd=high2),
        hovertemplate=f"inducing point of {plain(name)} at %{{customdata[0]:.3r}}<br>%{{customdata[1]:.3r}}"
        "<br>1 sd: %{customdata[2]:.3r} to %{customdata[3]:.3r}"
        "<br>2 sd: %{customdata[4]:.3r} to %{customdata[5]:.3r}<extra></extra>",
    )  # fmt: skip


def _draw_density(fig: go.Figure, view: LatentView, style: Style) -> None:
    groups = (("other classes", view.other, NEUTRAL), ("true class", view.label, style.color))
    edges = view.place(view.edges)
    of = "inputs" if view.every == 1 else f"inputs of every {view.every}th row"
    for name, counts, color in groups:
        # Each group on its own height: the others outnumber the true class by K - 1 to 1.
        fig.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=_heights(counts, view),
            width=np.diff(edges), yaxis="y2", name=name,
            marker=overlapping(color),
            **carry(low=view.edges[:-1], high=view.edges[1:], count=counts.astype(float)),
            hovertemplate=f"{name}: %{{customdata[2]:,.0f}} {of}<br>from %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    key = "   ".join(key_entry("■", name, color) for name, _, color in reversed(groups))
    write(fig, key, 0, 1.02, size=11, xref="paper", xanchor="left", yref="y2 domain", yanchor="bottom")


def _heights(counts: Floats, view: LatentView) -> Floats:
    """Shares of the tallest bar. Probabilities pile up at 0 and 1: there, bars that would hide all others are cut."""
    top = float(counts.max())
    if view.piled:
        top = max(float(counts[1:-1].max()), 0.02 * top)
    return np.minimum(counts / max(top, 1.0), 1.0)


_MOST_STEPS, _TRACES_HEIGHT = 500, 240


@dataclass(frozen=True, eq=False)
class ObjectiveTrace:
    """The objective of one fit, in nats: (n_iter + 1,) values, and whether the optimiser came to its end."""

    name: str
    values: Floats
    converged: bool
    style: Style


def objective_traces(traces: Sequence[ObjectiveTrace]) -> go.Figure:
    """Objectives over the iterations; the steep start may leave the picture below.

    A dot at the end means that the fit converged, a cross that it did not.
    """
    fig = go.Figure()
    ends: list[tuple[str, float, str]] = []
    spans = []
    said = []
    for trace in traces:
        values = np.asarray(trace.values, dtype=float)
        keep = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_STEPS)).astype(int))
        values = values[keep]
        color = trace.style.color
        fig.add_scatter(
            x=keep, y=values, name=trace.name, mode="lines",
            line={"color": color, "width": 2, "dash": trace.style.dash},
            **carry(iteration=keep, objective=values),
            hovertemplate=f"{plain(trace.name)}, iteration %{{customdata[0]:,d}}<br>%{{customdata[1]:,.1f}} nats"
            "<extra></extra>",
        )  # fmt: skip
        finite = np.flatnonzero(np.isfinite(values))
        if not len(finite):
            said.append(f"{trace.name} has no value")
            continue
        last = float(values[finite[-1]])
        fig.add_scatter(
            x=[int(keep[finite[-1]])], y=[last], mode="markers", hoverinfo="skip",
            marker={"color": color, "size": 9, "symbol": "circle" if trace.converged else "x"},
        )  # fmt: skip
        final = f"{last:,.1f} nats".replace("-", "−")
        ends.append((trace.name if len(traces) > 1 else final, last, color))
        state = "converged" if trace.converged else "stopped unconverged"
        said.append(f"{trace.name} {state} at {final} after {max(len(trace.values) - 1, 0):,} iterations")
        spans.append((float(np.quantile(values[finite], 0.1)), float(values[finite].max())))
    alt = f"Objective over the iterations: {'; '.join(said) or 'nothing to show'}."
    quiet(fig, _TRACES_HEIGHT, alt=alt, left=64)
    set_x(fig, title_text="iteration")
    set_y(fig, title_text="objective (nats)")
    if spans:
        low, high = min(low for low, _ in spans), max(high for _, high in spans)
        pad = 0.1 * (high - low) + 0.1
        span = (low - pad, high + pad)
        set_y(fig, range=span, nticks=6)
        label_line_ends(fig, ends, span)
    return fig
