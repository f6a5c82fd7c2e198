"""Figure of GPcalib's latent function over logits or probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.latent import LatentCurve
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
from calib.plots.axes import span
from calib.plots.style import NEUTRAL, Limits, Style, plain, quiet, set_layout, three_digits

_TOP = 0.27
"""Where the plot of the function begins, as a share of the height; the data lie beneath."""

Line = tuple[str, LatentCurve, Style]
"""Name, function and style of one fit."""


def latent_function(lines: Sequence[Line], temperature_style: Style, height: int = 480) -> go.Figure:
    """Posterior means with bands at 1 and 2 standard deviations, over the data they were learned from.

    The first fit has filled bands and whiskers on its inducing points; of the others, the outline of the wider band
    and the places of the inducing points. A wide band is cut where the lines end.

    Parameters
    ----------
    lines : the fits, at least one, all in the same space; references and data are those of the first.
    temperature_style : of temperature scaling.
    """
    fig = go.Figure()
    _, curve, style = lines[0]
    references = {
        name: values
        for name, values in ((curve.prior_name, curve.prior), ("temperature", curve.temperature),
                             ("truth", curve.truth))
        if values is not None
    }  # fmt: skip
    drawn = [values for _, each, _ in lines for values in (each.mean, _at_inducing(each)[0])]
    limits = span(*drawn, *references.values(), pad=0.06)
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        draw_bands(fig, seen.inputs, _bands(seen.mean, seen.sd), look, filled=not later, ends=limits)
    ends = [_draw_reference(fig, curve, name, references[name], temperature_style)
            for name in references if name != "truth"]  # fmt: skip
    ends += [_draw_mean(fig, *line) for line in lines]
    if "truth" in references:  # last: a good fit would hide it
        ends.append(_draw_reference(fig, curve, "truth", references["truth"], temperature_style))
    for line in reversed(lines):
        _draw_inducing_points(fig, *line, first=line is lines[0], limits=limits)
    x_title = "logit z" if curve.space == "logits" else "probability p"
    y_title = f"latent g({x_title[-1]}), up to a shift"
    quiet(fig, height, alt=_described(lines, x_title, y_title))
    of = "inputs" if curve.every == 1 else f"inputs, of one row in {curve.every},"
    groups = [
        Counted("true class", curve.density_label, style.color, f"{of} that are the true class"),
        Counted("other classes", curve.density_other, NEUTRAL, f"{of} that are other classes"),
    ]
    draw_counts(fig, curve.density_edges, curve.density_edges, groups, x_title, "y2", domain=[0, 0.17])
    across = [float(curve.inputs[0]), float(curve.inputs[-1])]
    set_layout(
        fig,
        xaxis={"anchor": "y2", "title_text": x_title, "range": across},
        yaxis={"domain": [_TOP, 1], "title_text": y_title, "range": limits},
    )
    label_line_ends(fig, ends, limits)
    return fig


def _bands(mean: Floats, sd: Floats) -> tuple[tuple[Floats, Floats], ...]:
    return tuple((mean - width * sd, mean + width * sd) for width in (2, 1))


def _at_inducing(curve: LatentCurve) -> tuple[Floats, Floats]:
    """Mean and standard deviation at the inducing points, between those of the curve."""
    mean, sd = (np.interp(curve.inducing, curve.inputs, values) for values in (curve.mean, curve.sd))
    return mean, sd


def _described(lines: Sequence[Line], x_title: str, y_title: str) -> str:
    """The picture in one sentence."""
    name, curve, _ = lines[0]
    place, mean, low, high, given = (
        three_digits(float(value))
        for value in (curve.inputs[-1], curve.mean[-1], curve.mean[-1] - curve.sd[-1], curve.mean[-1] + curve.sd[-1],
                      curve.prior[-1])
    )  # fmt: skip
    beside = f", beside {', '.join(name for name, _, _ in lines[1:])}" if len(lines) > 1 else ""
    return (
        f"{y_title.capitalize()}, over {x_title} for {name}{beside}: at {place} it gives {mean} (1 sd: {low} to {high})"
        f" where {curve.prior_name} gives {given}; {len(curve.inducing)} inducing points in the picture."
    )


def _draw_reference(
    fig: go.Figure, curve: LatentCurve, name: str, values: Floats, temperature_style: Style
) -> tuple[str, float, str]:
    style = reference_style(name, temperature_style)
    told = carry(f"{name} {{value:.3r}}<br>at {{input:.3r}}", input=curve.inputs, value=values)
    draw_line(fig, curve.inputs, values, style, name, told, width=1.8)
    return name, float(values[-1]), style.color


def _draw_mean(fig: go.Figure, name: str, curve: LatentCurve, style: Style) -> tuple[str, float, str]:
    (low2, high2), (low, high) = _bands(curve.mean, curve.sd)
    told = carry(
        f"{plain(name)} {{value:.3r}} (1 sd: {{low:.3r}} to {{high:.3r}})<br>at {{input:.3r}}",
        input=curve.inputs, value=curve.mean, low=low, high=high, low_2_sd=low2, high_2_sd=high2,
    )  # fmt: skip
    draw_line(fig, curve.inputs, curve.mean, style, name, told, width=2.6)
    return name, float(curve.mean[-1]), style.color


def _draw_inducing_points(
    fig: go.Figure, name: str, curve: LatentCurve, style: Style, *, first: bool, limits: Limits
) -> None:
    x, (y, sd) = curve.inducing, _at_inducing(curve)
    (low2, high2), (low, high) = _bands(y, sd)
    narrow, wide = (
        whiskers(y, a, b, style.color, thickness, width, limits)
        for a, b, thickness, width in ((low, high, 3, 0), (low2, high2, 1, 5))
    )
    if first:
        draw_marks(fig, x, y, style, size=1, error_y=wide)
    told = carry(
        f"inducing point of {plain(name)} at {{input:.3r}}<br>{{value:.3r}}<br>1 sd: {{low:.3r}} to {{high:.3r}}"
        "<br>2 sd: {low_2_sd:.3r} to {high_2_sd:.3r}",
        input=x, value=y, low=low, high=high, low_2_sd=low2, high_2_sd=high2,
    )  # fmt: skip
    draw_marks(
        fig, x, y, style, f"inducing points of {name}", told, size=10 if first else 7,
        symbol="diamond-open" if first else f"{style.symbol}-open", error_y=narrow if first else None,
    )  # fmt: skip
