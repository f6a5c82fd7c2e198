"""Figures of GPcalib's latent function, and of its effect on a confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go

from calib.diagnostics.latent import EffectCurve, LatentCurve
from calib.formatting import plural
from calib.numerics import Floats
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_line,
    draw_marks,
    fill_between,
    label_line_ends,
    whiskers,
    write,
)
from calib.plots.axes import on_scale, probability_axis, probability_limits, span
from calib.plots.lines import Curve, draw_curves
from calib.plots.style import (
    DOTTED,
    NEUTRAL,
    TRUTH,
    Limits,
    Style,
    fade,
    join_named,
    key_entry,
    plain,
    quiet,
    set_layout,
    set_x,
    set_y,
    three_digits,
)

_TOP = 0.27
"""Lower end of the plot of the function, as a share of the height; the data lie beneath."""

Line = tuple[str, LatentCurve, Style]
"""Name, function and style of one fit."""


def latent_function(
    lines: Sequence[Line], temperature_style: Style, height: int = 480
) -> go.Figure:
    """Posterior means with bands at 1 and 2 standard deviations, over the data they were learned from.

    The first fit has filled bands and whiskers on its inducing points; of the others, the outline of the wider band
    and the places of the inducing points. The axis holds the bands of all.

    Parameters
    ----------
    lines : the fits, at least one, all in the same space; references and data are those of the first.
    temperature_style : of temperature scaling.
    """
    fig = go.Figure()
    _, curve, style = lines[0]
    curves = []
    for name, seen, look in lines:
        wide, narrow = _bands(seen.mean, seen.sd)
        more = {"low_2_sd": wide[0], "high_2_sd": wide[1]}
        curves.append(Curve(name, look, seen.inputs, seen.mean, narrow, more))
    references = {
        curve.prior_name: curve.prior,
        "temperature": curve.temperature,
        "truth": curve.truth,
    }
    curves = _with_references(curves, references, temperature_style)
    bands = [_bands(seen.mean, seen.sd) for _, seen, _ in lines]
    limits = span(
        *(line.y for line in curves), *(edge for band in bands for edge in band[0]), pad=0.06
    )
    for (_, seen, look), edges in reversed(list(zip(lines, bands, strict=True))):
        _draw_bands(fig, seen.inputs, edges, look, filled=seen is curve, ends=limits)
    columns = "input", "value"
    ends = draw_curves(fig, curves, columns, hover="at {input:.3r}")
    for line in reversed(lines):
        _draw_inducing_points(fig, *line, first=line is lines[0])
    x_title = "logit z" if curve.space == "logits" else "probability p"
    y_title = f"latent g({x_title[-1]}), up to a shift"
    quiet(fig, height, alt=_described(lines, x_title, y_title))
    of = "inputs" if curve.every == 1 else f"inputs, of one row in {curve.every},"
    groups = [
        Counted("true class", curve.density_label, style.color, f"{of} that are the true class"),
        Counted("other classes", curve.density_other, NEUTRAL, f"{of} that are other classes"),
    ]
    cells = curve.density_edges
    draw_counts(fig, cells, cells, groups, x_title, "y2", domain=[0, 0.17])
    across = [float(curve.inputs[0]), float(curve.inputs[-1])]
    set_layout(
        fig,
        xaxis={"anchor": "y2", "title_text": x_title, "range": across},
        yaxis={"domain": [_TOP, 1], "title_text": y_title, "range": limits},
    )
    label_line_ends(fig, ends, limits)
    return fig


def _with_references(
    fits: Sequence[Curve], lines: Mapping[str, Floats | None], temperature_style: Style
) -> list[Curve]:
    """Return references, fits, and on top the truth, which a good fit would hide; all at the first fit's x."""
    styles = {"temperature": replace(temperature_style, dash="dash"), "truth": Style(TRUTH)}
    references = [
        Curve(name, styles.get(name, DOTTED), fits[0].x, values)
        for name, values in lines.items()
        if values is not None
    ]
    first = [line for line in references if line.name != "truth"]
    return [*first, *fits, *(line for line in references if line.name == "truth")]


def _bands(mean: Floats, sd: Floats) -> tuple[tuple[Floats, Floats], ...]:
    return tuple((mean - width * sd, mean + width * sd) for width in (2, 1))


def _described(lines: Sequence[Line], x_title: str, y_title: str) -> str:
    """The picture in one sentence."""
    name, curve, _ = lines[0]
    ends = curve.inputs, curve.mean, *_bands(curve.mean, curve.sd)[1], curve.prior
    place, mean, low, high, prior = (three_digits(float(values[-1])) for values in ends)
    others = f", beside {', '.join(name for name, _, _ in lines[1:])}" if len(lines) > 1 else ""
    return (
        f"{y_title.capitalize()}, over {x_title} for {name}{others}: at {place} it gives {mean} (1 sd: {low} to {high})"
        f" where {curve.prior_name} gives {prior}; {len(curve.inducing)} inducing points in the picture."
    )


def _draw_inducing_points(
    fig: go.Figure, name: str, curve: LatentCurve, style: Style, *, first: bool
) -> None:
    x = curve.inducing
    y, sd = (np.interp(x, curve.inputs, values) for values in (curve.mean, curve.sd))
    hover = carry(
        f"inducing point of {plain(name)} at {{input:.3r}}<br>{{value:.3r}} (sd {{sd:.3r}})",
        input=x,
        value=y,
        sd=sd,
    )
    look: dict[str, Any] = {"size": 7, "symbol": f"{style.symbol}-open"}
    if first:
        bars = whiskers(y, y - sd, y + sd, style.color, 3)
        look = {"size": 10, "symbol": "diamond-open", "error_y": bars}
        key = {"xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "bottom"}
        write(fig, key_entry("◇", "inducing points ± 1 sd", style.color), 0, 1, size=11, **key)
    draw_marks(fig, x, y, style, f"inducing points of {name}", hover, **look)


_BAND_ALPHAS = (0.14, 0.22)
"""Of the bands at 2 and at 1 standard deviations."""


def _draw_bands(
    fig: go.Figure,
    x: Floats,
    bands: Sequence[tuple[Floats, Floats]],
    style: Style,
    filled: bool,
    ends: Limits,
) -> None:
    """Fill the bands, cut at the ends of the axis, or draw the outline of the wider one."""
    if filled:
        for (low, high), alpha in zip(bands, _BAND_ALPHAS, strict=True):
            fill_between(fig, x, low, high, fade(style.color, alpha), ends)
        return
    for edge in bands[0]:
        inside = np.where((edge >= ends[0]) & (edge <= ends[1]), edge, np.nan)
        outline = replace(style, color=fade(style.color, 0.6))
        draw_line(fig, x, inside, outline, width=1)


EFFECT_HEIGHT = 400
_EFFECT_WIDTH = 190
"""Pixels of the plot on a phone, in a fold and beside the names of its lines."""


def effect_chart(
    lines: Sequence[tuple[str, EffectCurve, Style]], temperature_style: Style
) -> go.Figure:
    """Mean confidence after calibration over the mean before, in bins of rows, against the diagonal.

    The first fit has filled bands that hold 68 and 95 % of the drawn functions, the others the outline of the wider.
    Grey dots are the shares of right predictions with Wilson intervals: where a calibrated confidence should lie.

    Parameters
    ----------
    lines : (name, curve, style) of each fit, at least one, over the same rows and bins.
    temperature_style : of temperature scaling.
    """
    curve = lines[0][1]
    scale = curve.scale
    references = {"temperature": curve.temperature, "truth": curve.truth}
    fits = []
    for name, seen, style in lines:
        wide, narrow = seen.bands
        more = {"sd": seen.sd, "low_2_sd": wide[0], "high_2_sd": wide[1], "rows": seen.count}
        fits.append(Curve(name, style, seen.before, seen.after, narrow, more))
    curves = _with_references(fits, references, temperature_style)
    after = [curve.accuracy, *(line.y for line in curves)]
    x_limits = probability_limits(curve.before, scale)
    y_limits = probability_limits(np.concatenate([curve.before, *after]), scale)
    x_axis = probability_axis(scale, x_limits, 0.03, pixels=_EFFECT_WIDTH)
    y_axis = probability_axis(scale, y_limits, 0.03)
    across, up = (partial(on_scale, scale=scale, limits=limits) for limits in (x_limits, y_limits))
    ends = tuple(y_axis["range"])
    fig = go.Figure()
    shared = np.linspace(max(x_limits[0], y_limits[0]), min(x_limits[1], y_limits[1]), 50)
    identity = across(shared), up(shared)
    labels = [draw_line(fig, *identity, DOTTED, "identity", width=1.5)]
    x = across(curve.before)
    hover = carry(
        "right {accuracy:.3r} (95 %: {low:.3r} to {high:.3r})<br>of {rows:,d} rows at confidence {before:.3r}",
        before=curve.before,
        accuracy=curve.accuracy,
        low=curve.accuracy_low,
        high=curve.accuracy_high,
        rows=curve.count,
    )
    y, low, high = map(up, (curve.accuracy, curve.accuracy_low, curve.accuracy_high))
    bars = whiskers(y, low, high, NEUTRAL, 1)
    draw_marks(fig, x, y, Style(NEUTRAL), "right", hover, size=5, error_y=bars)
    for _, seen, style in reversed(lines):
        edges = [(up(low), up(high)) for low, high in seen.bands]
        _draw_bands(fig, x, edges, style, filled=seen is curve, ends=ends)
    placed = [replace(line, at=(x, up(line.y))) for line in curves]
    few = 7 if len(x) <= 3 else 0
    columns = "before", "after"
    labels += draw_curves(fig, placed, columns, hover="at {before:.3r}", markers=few)
    quiet(fig, EFFECT_HEIGHT, alt=_effects_described(lines), left=62)
    set_x(fig, title_text="confidence of the raw model", **x_axis)
    set_y(fig, title_text="calibrated confidence", **y_axis)
    label_line_ends(fig, labels, ends)
    return fig


def _effects_described(lines: Sequence[tuple[str, EffectCurve, Style]]) -> str:
    effects = {}
    for name, curve, _ in lines:
        middle = len(curve.before) // 2
        before, after, sd = (
            three_digits(float(v[middle])) for v in (curve.before, curve.after, curve.sd)
        )
        effects[name] = f"makes {after} ± {sd} of {before}"
    bins = plural(len(lines[0][1].before), "bin")
    return f"Calibrated over raw confidence in {bins} of rows: {join_named(effects)}."
