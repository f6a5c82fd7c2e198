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
from calib.plots.annotations import (
    Counted,
    carry,
    draw_bands,
    draw_counts,
    draw_line,
    draw_marks,
    label_line_ends,
    reference_style,
    whiskers,
)
from calib.plots.axes import Scale, on_scale, probability_axis, span
from calib.plots.style import NEUTRAL, Limits, Style, one_each, plain, quiet, set_layout, set_x, set_y, three_digits

_MOST_POINTS = 140


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

    def place(self, values: Floats) -> Floats:
        """Where values lie on the axes."""
        return values if self.scale is None else on_scale(values, self.scale, self.limits)

    def x_axis(self) -> dict[str, Any]:
        """Range and ticks of the horizontal axis."""
        if self.scale is None:
            return {"range": [float(self.x[0]), float(self.x[-1])]}
        return probability_axis(self.scale, self.limits)

    def span(self) -> Limits:
        """Range of the vertical axis that holds the curves and inducing points; a wide band is cut there."""
        drawn = (self.mean, self.inducing.mean, *self.references.values())
        return span(*(self.place(each) for each in drawn), pad=0.06)


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
        label_at=-1 if logit else min(int(np.searchsorted(curve.probs, 0.85)), len(curve.probs) - 1),
        scale=curve.scale,
        limits=(float(curve.probs[0]), float(curve.probs[-1])) if logit else (0.0, 1.0),
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
    limits = span(*(other.span() for _, other, _ in lines), pad=0)
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        bands = [(seen.place(low), seen.place(high)) for low, high in seen.bands]
        draw_bands(fig, seen.place(seen.x), bands, look, filled=not later, ends=limits)
    # The truth comes last: a good fit would hide it.
    truth = [name for name in view.references if name == "truth"]
    ends = [_draw_reference(fig, view, name, temperature_style) for name in view.references if name not in truth]
    ends += [_draw_mean(fig, *line) for line in lines]
    ends += [_draw_reference(fig, view, name, temperature_style) for name in truth]
    for line in reversed(lines):
        _draw_inducing_points(fig, *line, first=line is lines[0], limits=limits)
    quiet(fig, height, alt=describe_latent(lines))
    of = "inputs" if view.every == 1 else f"inputs of every {_ordinal(view.every)} row"
    groups = [
        Counted("true class", view.label, style.color, f"{of} that are the true class"),
        Counted("other classes", view.other, NEUTRAL, f"{of} that are other classes"),
    ]
    draw_counts(fig, view.place(view.edges), view.edges, groups, view.x_title, "y2", domain=[0, 0.17])
    y_axis = {} if view.scale is None else view.x_axis()
    set_layout(
        fig,
        xaxis={"anchor": "y2", "title_text": view.x_title, **view.x_axis()},
        yaxis={"domain": [_TOP, 1], "title_text": view.y_title, **y_axis, "range": limits},
    )
    label_line_ends(fig, ends, limits)
    return fig


def _ordinal(n: int) -> str:
    """2nd, 3rd, 4th, 21st."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


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
    style, values = reference_style(name, temperature_style), view.references[name]
    placed = view.place(values)
    told = carry(f"{name} {{value:.3r}}<br>at {{input:.3r}}", input=view.x, value=values)
    draw_line(fig, view.place(view.x), placed, style, name, told, width=1.8)
    return name, float(placed[view.label_at]), style.color


def _draw_mean(fig: go.Figure, name: str, view: LatentView, style: Style) -> tuple[str, float, str]:
    (low2, high2), (low, high) = view.bands
    placed = view.place(view.mean)
    told = carry(
        f"{plain(name)} {{value:.3r}} (1 sd: {{low:.3r}} to {{high:.3r}})<br>at {{input:.3r}}",
        input=view.x, value=view.mean, low=low, high=high, low_2_sd=low2, high_2_sd=high2,
    )  # fmt: skip
    draw_line(fig, view.place(view.x), placed, style, name, told, width=2.6)
    return name, float(placed[view.label_at]), style.color


def _draw_inducing_points(
    fig: go.Figure, name: str, view: LatentView, style: Style, *, first: bool, limits: Limits
) -> None:
    points = view.inducing
    x, y = view.place(points.inputs), view.place(points.mean)
    (low2, high2), (low, high) = points.bands
    narrow, wide = (
        whiskers(y, view.place(a), view.place(b), style.color, thickness, width, limits)
        for a, b, thickness, width in ((low, high, 3, 0), (low2, high2, 1, 5))
    )
    if first:
        draw_marks(fig, x, y, style, size=1, error_y=wide)
    told = carry(
        f"inducing point of {plain(name)} at {{input:.3r}}<br>{{value:.3r}}<br>1 sd: {{low:.3r}} to {{high:.3r}}"
        "<br>2 sd: {low_2_sd:.3r} to {high_2_sd:.3r}",
        input=points.inputs, value=points.mean, low=low, high=high, low_2_sd=low2, high_2_sd=high2,
    )  # fmt: skip
    draw_marks(
        fig, x, y, style, f"inducing points of {name}", told, size=10 if first else 7,
        symbol="diamond-open" if first else f"{style.symbol}-open", error_y=narrow if first else None,
    )  # fmt: skip


_MOST_STEPS, _FEW_STEPS, _TRACES_HEIGHT = 500, 20, 240


@dataclass(frozen=True, eq=False)
class ObjectiveTrace:
    """The objective of one fit, in nats: (n_iter + 1,) values, and whether the optimiser came to its end."""

    name: str
    values: Floats
    converged: bool
    style: Style


def objective_traces(traces: Sequence[ObjectiveTrace]) -> go.Figure:
    """Objectives over the iterations, without a steep start, beside which the rest would look level.

    A dot at the end means that the fit converged, a cross that it did not.
    """
    fig = go.Figure()
    ends: list[tuple[str, float, str]] = []
    known = {trace.name: trace.values[np.isfinite(trace.values)] for trace in traces}
    late = [values if len(values) < _FEW_STEPS else np.sort(values)[len(values) // 10 :] for values in known.values()]
    limits = span(*late, pad=0.1, least=0.1)
    said = {}
    for trace in traces:
        values, color = np.asarray(trace.values, dtype=float), trace.style.color
        keep = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_STEPS)).astype(int))
        keep = keep[np.isfinite(values[keep]) & (values[keep] >= limits[0])]
        told = carry(f"{plain(trace.name)}, iteration {{iteration:,d}}<br>{{objective:,.1f}} nats", iteration=keep,
                     objective=values[keep])  # fmt: skip
        draw_line(fig, keep, values[keep], Style(color, dash=trace.style.dash), trace.name, told)
        if not len(known[trace.name]):
            said[trace.name] = "has no value"
            continue
        last = float(values[keep[-1]])
        draw_marks(fig, [int(keep[-1])], [last], Style(color), symbol="circle" if trace.converged else "x")
        final = f"{last:,.1f} nats".replace("-", "−")
        ends.append((trace.name if len(traces) > 1 else final, last, color))
        state = "converged" if trace.converged else "stopped unconverged"
        said[trace.name] = f"{state} at {final} after {max(len(trace.values) - 1, 0):,} iterations"
    alt = f"Objective over the iterations: {one_each(said) or 'nothing to show'}."
    quiet(fig, _TRACES_HEIGHT, alt=alt, left=64)
    set_x(fig, title_text="iteration")
    set_y(fig, title_text="objective (nats)", range=limits, nticks=6)
    label_line_ends(fig, ends, limits)
    return fig
