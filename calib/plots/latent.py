"""The latent function of GPcalib: what it does to a logit, how sure it is, and where the data lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from calib.latent import LatentCurve
from calib.numerics import Floats
from calib.plots.data import carry
from calib.plots.labels import label_line_ends
from calib.plots.style import GUIDE, NEUTRAL, Style, fade, plain, quiet, three_digits

Space = Literal["latent", "probability"]
Place = Callable[[Floats], Floats]

_MOST_POINTS = 400


def latent_function(
    curve: LatentCurve,
    style: Style,
    temperature_style: Style,
    space: Space = "latent",
    truth: Floats | None = None,
    title: str = "",
    height: int = 480,
) -> go.Figure:
    """The posterior mean with bands at 1 and 2 standard deviations, over the data it was learned from.

    Parameters
    ----------
    curve : the latent function and its companions.
    style, temperature_style : of the method, and of temperature scaling.
    space : "probability" draws the exponentials: a class's probability before and after, ahead of the
        normalisation over the classes. Logits that exceed 0 are taken relative to the largest shown.
    truth : (n_points,) the true latent function at ``curve.inputs``, where it is known.
    """
    # exp of the input is a probability only up to the constant that normalisation removes anyway.
    shift = max(0.0, float(curve.inputs[-1])) if curve.space == "logits" else 0.0

    def place_input(values: Floats) -> Floats:
        return np.exp(values - shift) if space == "probability" and curve.space == "logits" else values

    def place_latent(values: Floats) -> Floats:
        return np.exp(np.minimum(values - shift, 50.0)) if space == "probability" else values

    keep = np.linspace(0, len(curve.inputs) - 1, min(len(curve.inputs), _MOST_POINTS)).astype(int)
    x, mean, sd = place_input(curve.inputs[keep]), curve.mean[keep], curve.sd[keep]
    lines = [("identity", curve.identity[keep], GUIDE, "dot", 1.5)]
    if curve.temperature is not None:
        lines.append(("temperature", curve.temperature[keep], temperature_style.color, "dash", 2.0))
    if truth is not None:
        lines.append(("truth", np.asarray(truth)[keep], NEUTRAL, "longdashdot", 2.0))
    lines.append((curve.title, mean, style.color, "solid", 2.6))

    fig = go.Figure()
    for width, alpha in ((2, 0.14), (1, 0.22)):
        low, high = place_latent(mean - width * sd), place_latent(mean + width * sd)
        fig.add_scatter(
            x=np.r_[x, x[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="lines", line_width=0,
            fillcolor=fade(style.color, alpha), hoverinfo="skip",
        )  # fmt: skip
    for name, values, color, dash, thickness in lines:
        spread = {"sd": sd} if name == curve.title else {}
        hover = f"{plain(name)} %{{customdata[1]:.3r}}" + (" ± %{customdata[2]:.2r}" if spread else "")
        fig.add_scatter(
            x=x, y=place_latent(values), name=name, mode="lines",
            line={"color": color, "dash": dash, "width": thickness},
            **carry(input=curve.inputs[keep], latent=values, **spread),
            hovertemplate=f"at %{{customdata[0]:.3r}}<br>{hover}<extra></extra>",
        )  # fmt: skip
    _draw_inducing_points(fig, curve, style, place_input, place_latent)
    _draw_density(fig, curve, style, place_input)

    shown = [place_latent(values) for _, values, *_ in lines]
    low, high = min(part.min() for part in shown), max(part.max() for part in shown)
    if space == "probability":
        low, high = 0.0, min(high, 1.25)
    pad = 0.06 * max(high - low, 1e-9)
    span = (low - pad, high + pad)
    quiet(fig, height, alt=describe_latent(curve), title=title, right=96)
    inputs, outputs = _axis_titles(curve, space, shift)
    fig.update_layout(
        xaxis={"anchor": "y2", "title_text": inputs, "range": [x[0], x[-1]]},
        yaxis={"domain": [0.27, 1], "title_text": outputs, "range": span},
        yaxis2={"domain": [0, 0.17], "range": [0, 1.05], "visible": False, "fixedrange": True},
    )  # fmt: skip
    ends = [(name, float(values[-1]), color) for (name, _, color, *_), values in zip(lines, shown, strict=True)]
    label_line_ends(fig, ends, span, 0.73 * (height - 78))
    return fig


def describe_latent(curve: LatentCurve) -> str:
    """The picture in one sentence."""
    top = len(curve.inputs) - 1
    return (
        f"Latent function of {curve.title} from input {three_digits(float(curve.inputs[0]))} to"
        f" {three_digits(float(curve.inputs[-1]))}: at the top it gives {three_digits(float(curve.mean[top]))} ±"
        f" {three_digits(float(curve.sd[top]))} where the identity gives {three_digits(float(curve.identity[top]))};"
        f" {len(curve.inducing_inputs)} inducing points."
    )


def objective_trace(trace: Floats, style: Style, title: str = "", height: int = 200) -> go.Figure:
    """The objective in nats over the iterations of the fit; the steep start may leave the picture below."""
    trace = np.asarray(trace, dtype=float)
    keep = np.unique(np.linspace(0, max(len(trace) - 1, 0), min(len(trace), 1000)).astype(int))
    values = trace[keep] if len(trace) else trace
    fig = go.Figure()
    fig.add_scatter(
        x=keep[: len(values)] + 1, y=values, name="objective", mode="lines", line={"color": style.color, "width": 2},
        **carry(iteration=keep[: len(values)] + 1, objective=values),
        hovertemplate="iteration %{customdata[0]:,d}<br>%{customdata[1]:,.1f} nats<extra></extra>",
    )  # fmt: skip
    finite = values[np.isfinite(values)]
    final = f"{finite[-1]:,.1f} nats" if len(finite) else "no value"
    quiet(fig, height, alt=f"Objective over {len(trace)} iterations; it ended at {final}.", title=title, right=96)
    fig.update_xaxes(title_text="iteration")
    if len(finite):
        low, high = np.quantile(finite, 0.1), finite.max()
        span = (float(low - 0.1 * (high - low) - 0.1), float(high + 0.1 * (high - low) + 0.1))
        fig.update_yaxes(range=span, nticks=4)
        label_line_ends(fig, [(final, float(finite[-1]), style.color)], span, height - 78)
    return fig


def _axis_titles(curve: LatentCurve, space: Space, shift: float) -> tuple[str, str]:
    inputs = "logit z" if curve.space == "logits" else "probability p"
    if space == "latent":
        return inputs, "latent g(z), up to a shift" if curve.space == "logits" else "latent g(p), up to a shift"
    if curve.space == "logits":
        inputs = "probability exp(z)" if shift == 0 else "weight exp(z), largest = 1"
    return inputs, "after, before normalising"


def _draw_inducing_points(
    fig: go.Figure, curve: LatentCurve, style: Style, place_input: Place, place_latent: Place
) -> None:
    x, y = place_input(curve.inducing_inputs), place_latent(curve.inducing_mean)
    high = place_latent(curve.inducing_mean + curve.inducing_sd)
    low = place_latent(curve.inducing_mean - curve.inducing_sd)
    fig.add_scatter(
        x=x, y=y, name="inducing points", mode="markers",
        marker={"symbol": "diamond-open", "size": 10, "color": style.color, "line_width": 2},
        error_y={"type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low,
                 "color": style.color, "thickness": 1.4, "width": 3},
        **carry(input=curve.inducing_inputs, latent=curve.inducing_mean, sd=curve.inducing_sd),
        hovertemplate="inducing point at %{customdata[0]:.3r}<br>%{customdata[1]:.3r} ± %{customdata[2]:.2r}"
        "<extra></extra>",
    )  # fmt: skip


def _draw_density(fig: go.Figure, curve: LatentCurve, style: Style, place_input: Place) -> None:
    edges = place_input(curve.density_edges)
    groups = (
        ("other classes", curve.density_other, NEUTRAL, 0.45),
        ("true class", curve.density_label, style.color, 0.6),
    )
    for name, counts, color, alpha in groups:
        # Each group on its own height: the others outnumber the true class by K - 1 to 1.
        fig.add_bar(
            x=(edges[:-1] + edges[1:]) / 2, y=counts / max(counts.max(), 1), width=np.diff(edges), yaxis="y2",
            name=name, marker={"color": fade(color, alpha), "line_width": 0},
            **carry(low=curve.density_edges[:-1], high=curve.density_edges[1:], count=counts),
            hovertemplate=f"{name}: %{{customdata[2]:,d}} inputs<br>from %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    key = "   ".join(f'<span style="color:{color}">■ {name}</span>' for name, _, color, _ in reversed(groups))
    fig.add_annotation(
        text=key, x=0, xref="paper", xanchor="left", y=1.02, yref="y2 domain", yanchor="bottom",
        showarrow=False, font={"size": 11},
    )  # fmt: skip
