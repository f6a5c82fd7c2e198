"""The latent function of GPcalib: what it does to a logit, how sure it is, and where the data lie."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from calib.latent import LatentCurve
from calib.numerics import Floats
from calib.plots.data import carry
from calib.plots.labels import label_line_ends
from calib.plots.latent_view import LatentView, Space, latent_view, probability_view
from calib.plots.style import FRAME, GUIDE, NEUTRAL, Style, fade, plain, quiet, three_digits

_TOP = 0.27
"""Where the plot of the function begins, as a share of the height; the data lie beneath."""


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
    space : "probability" draws what the latents do to a probability, see
        :func:`calib.plots.latent_view.probability_view`.
    truth : (n_points,) the true latent function at ``curve.inputs``, where it is known.
    """
    view = probability_view(curve, truth) if space == "probability" else latent_view(curve, truth)
    fig = go.Figure()
    for (low, high), alpha in zip(view.bands, (0.14, 0.22), strict=True):
        fig.add_scatter(
            x=np.r_[view.x, view.x[::-1]], y=np.r_[low, high[::-1]], fill="toself", mode="lines", line_width=0,
            fillcolor=fade(style.color, alpha), hoverinfo="skip",
        )  # fmt: skip
    looks = {
        "identity": (GUIDE, "dot", 1.5),
        "temperature": (temperature_style.color, "dash", 2.0),
        "truth": (NEUTRAL, "longdashdot", 2.0),
    }
    ends = []
    for name, values in view.references.items():
        color, dash, width = looks[name]
        fig.add_scatter(
            x=view.x, y=values, name=name, mode="lines", line={"color": color, "dash": dash, "width": width},
            **carry(input=view.x, value=values),
            hovertemplate=f"{name} %{{customdata[1]:.3r}}<br>at %{{customdata[0]:.3r}}<extra></extra>",
        )  # fmt: skip
        ends.append((name, float(values[view.label_at]), color if name != "identity" else NEUTRAL))
    low, high = view.bands[1]
    fig.add_scatter(
        x=view.x, y=view.mean, name=curve.title, mode="lines", line={"color": style.color, "width": 2.6},
        **carry(input=view.x, value=view.mean, low=low, high=high),
        hovertemplate=f"{plain(curve.title)} %{{customdata[1]:.3r}} (1 sd: %{{customdata[2]:.3r}} to"
        " %{customdata[3]:.3r})<br>at %{customdata[0]:.3r}<extra></extra>",
    )  # fmt: skip
    ends.append((curve.title, float(view.mean[view.label_at]), style.color))
    if space == "latent":
        _draw_inducing_points(fig, curve, style)
    _draw_density(fig, view, style)
    span = (-0.02, 1.02) if space == "probability" else _span(view)
    longest = max(len(name) for name, _, _ in ends)
    quiet(fig, height, alt=describe_latent(curve), title=title, right=28 + 7 * min(longest, 20))
    ends_x = [0, 1] if space == "probability" else [view.x[0], view.x[-1]]
    fig.update_layout(
        xaxis={"anchor": "y2", "title_text": view.x_title, "range": ends_x},
        yaxis={"domain": [_TOP, 1], "title_text": view.y_title, "range": span},
        yaxis2={"domain": [0, 0.17], "range": [0, 1.05], "visible": False, "fixedrange": True},
    )
    label_line_ends(fig, ends, span, (1 - _TOP) * (height - FRAME))
    return fig


def describe_latent(curve: LatentCurve) -> str:
    """The picture in one sentence."""
    low, high, mean, sd, identity = (
        three_digits(float(value))
        for value in (curve.inputs[0], curve.inputs[-1], curve.mean[-1], curve.sd[-1], curve.identity[-1])
    )
    return (
        f"Latent function of {curve.title} from input {low} to {high}: at the top it gives {mean} ± {sd} where the"
        f" identity gives {identity}; {len(curve.inducing_inputs)} inducing points."
    )


def objective_trace(trace: Floats, style: Style, title: str = "", height: int = 200) -> go.Figure:
    """The objective in nats over the iterations of the fit; the steep start may leave the picture below."""
    trace = np.asarray(trace, dtype=float)
    keep = np.unique(np.linspace(0, len(trace) - 1, min(len(trace), 1000)).astype(int))
    values = trace[keep]
    fig = go.Figure()
    fig.add_scatter(
        x=keep + 1, y=values, name="objective", mode="lines", line={"color": style.color, "width": 2},
        **carry(iteration=keep + 1, objective=values),
        hovertemplate="iteration %{customdata[0]:,d}<br>%{customdata[1]:,.1f} nats<extra></extra>",
    )  # fmt: skip
    finite = values[np.isfinite(values)]
    final = f"{finite[-1]:,.1f} nats".replace("-", "−") if len(finite) else "no value"
    quiet(fig, height, alt=f"Objective over {len(trace)} iterations; it ended at {final}.", title=title, right=96)
    fig.update_xaxes(title_text="iteration")
    if len(finite):
        low, high = float(np.quantile(finite, 0.1)), float(finite.max())
        pad = 0.1 * (high - low) + 0.1
        span = (low - pad, high + pad)
        fig.update_yaxes(range=span, nticks=4)
        label_line_ends(fig, [(final, float(finite[-1]), style.color)], span, height - FRAME)
    return fig


def _span(view: LatentView) -> tuple[float, float]:
    """Range that holds the curves; a wide band may leave the picture."""
    drawn = [view.mean, *view.references.values()]
    low, high = min(float(part.min()) for part in drawn), max(float(part.max()) for part in drawn)
    pad = 0.06 * max(high - low, 1e-9)
    return low - pad, high + pad


def _draw_inducing_points(fig: go.Figure, curve: LatentCurve, style: Style) -> None:
    fig.add_scatter(
        x=curve.inducing_inputs, y=curve.inducing_mean, name="inducing points", mode="markers",
        marker={"symbol": "diamond-open", "size": 10, "color": style.color, "line_width": 2},
        error_y={"type": "data", "array": curve.inducing_sd, "color": style.color, "thickness": 1.4, "width": 3},
        **carry(input=curve.inducing_inputs, value=curve.inducing_mean, sd=curve.inducing_sd),
        hovertemplate="inducing point at %{customdata[0]:.3r}<br>%{customdata[1]:.3r} ± %{customdata[2]:.2r}"
        "<extra></extra>",
    )  # fmt: skip


def _draw_density(fig: go.Figure, view: LatentView, style: Style) -> None:
    groups = (("other classes", view.other, NEUTRAL, 0.45), ("true class", view.label, style.color, 0.6))
    for name, counts, color, alpha in groups:
        # Each group on its own height: the others outnumber the true class by K - 1 to 1.
        fig.add_bar(
            x=(view.edges[:-1] + view.edges[1:]) / 2, y=counts / max(float(counts.max()), 1.0),
            width=np.diff(view.edges), yaxis="y2", name=name,
            marker={"color": fade(color, alpha), "line_width": 0},
            **carry(low=view.edges[:-1], high=view.edges[1:], count=counts.astype(float)),
            hovertemplate=f"{name}: %{{customdata[2]:,.0f}} inputs<br>from %{{customdata[0]:.3r}} to"
            " %{customdata[1]:.3r}<extra></extra>",
        )  # fmt: skip
    key = "   ".join(f'<span style="color:{color}">■ {name}</span>' for name, _, color, _ in reversed(groups))
    fig.add_annotation(
        text=key, x=0, xref="paper", xanchor="left", y=1.02, yref="y2 domain", yanchor="bottom",
        showarrow=False, font={"size": 11},
    )  # fmt: skip
