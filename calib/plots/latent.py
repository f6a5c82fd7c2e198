"""Figures of GPcalib's latent function, and of its effect on a confidence."""

from __future__ import annotations

from collections.abc import Sequence
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
from calib.plots.axes import Scale, on_scale, probability_axis, probability_limits, span
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
    names = curve.prior_name, "temperature", "truth"
    named = zip(names, (curve.prior, curve.temperature, curve.truth), strict=True)
    references = {name: values for name, values in named if values is not None}
    bands = [edge for _, fit, _ in lines for edge in _bands(fit.mean, fit.sd)[0]]
    limits = span(*bands, *references.values(), pad=0.06)
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        edges = _bands(seen.mean, seen.sd)
        _draw_bands(fig, seen.inputs, edges, look, filled=not later, ends=limits)
    ends = [
        _draw_reference(fig, curve, name, references[name], temperature_style)
        for name in references
        if name != "truth"
    ]
    ends += [_draw_mean(fig, *line) for line in lines]
    if "truth" in references:  # last: a good fit would hide it
        ends.append(_draw_reference(fig, curve, "truth", references["truth"], temperature_style))
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


def _bands(mean: Floats, sd: Floats) -> tuple[tuple[Floats, Floats], ...]:
    return tuple((mean - width * sd, mean + width * sd) for width in (2, 1))


def _at_inducing(curve: LatentCurve) -> tuple[Floats, Floats]:
    """Mean and standard deviation at the inducing points, between those of the curve."""
    mean, sd = (
        np.interp(curve.inducing, curve.inputs, values) for values in (curve.mean, curve.sd)
    )
    return mean, sd


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


def _draw_reference(
    fig: go.Figure, curve: LatentCurve, name: str, values: Floats, temperature_style: Style
) -> tuple[str, float, str]:
    style = _reference_style(name, temperature_style)
    hover = carry(f"{name} {{value:.3r}}<br>at {{input:.3r}}", input=curve.inputs, value=values)
    draw_line(fig, curve.inputs, values, style, name, hover, width=1.8)
    return name, float(values[-1]), style.color


def _draw_mean(
    fig: go.Figure, name: str, curve: LatentCurve, style: Style
) -> tuple[str, float, str]:
    (low2, high2), (low, high) = _bands(curve.mean, curve.sd)
    hover = carry(
        f"{plain(name)} {{value:.3r}} (1 sd: {{low:.3r}} to {{high:.3r}})<br>at {{input:.3r}}",
        input=curve.inputs,
        value=curve.mean,
        low=low,
        high=high,
        low_2_sd=low2,
        high_2_sd=high2,
    )
    draw_line(fig, curve.inputs, curve.mean, style, name, hover, width=2.6)
    return name, float(curve.mean[-1]), style.color


def _draw_inducing_points(
    fig: go.Figure, name: str, curve: LatentCurve, style: Style, *, first: bool
) -> None:
    x, (y, sd) = curve.inducing, _at_inducing(curve)
    (low2, high2), (low, high) = _bands(y, sd)
    narrow, wide = (
        whiskers(y, a, b, style.color, thickness, width)
        for a, b, thickness, width in ((low, high, 3, 0), (low2, high2, 1, 5))
    )
    if first:
        draw_marks(fig, x, y, style, size=1, error_y=wide)
        key = {"xref": "x domain", "yref": "y domain", "xanchor": "left", "yanchor": "bottom"}
        write(fig, key_entry("◇", "inducing points ± 1, 2 sd", style.color), 0, 1, size=11, **key)
    hover = carry(
        f"inducing point of {plain(name)} at {{input:.3r}}<br>{{value:.3r}}<br>1 sd: {{low:.3r}} to {{high:.3r}}"
        "<br>2 sd: {low_2_sd:.3r} to {high_2_sd:.3r}",
        input=x,
        value=y,
        low=low,
        high=high,
        low_2_sd=low2,
        high_2_sd=high2,
    )
    look = {"size": 7, "symbol": f"{style.symbol}-open"}
    if first:
        look = {"size": 10, "symbol": "diamond-open", "error_y": narrow}
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
    """Bands at 2 and 1 standard deviations, cut at the ends of the axis; of all but one fit the wider's outline."""
    if not filled:
        for edge in bands[0]:
            inside = np.where((edge >= ends[0]) & (edge <= ends[1]), edge, np.nan)
            draw_line(fig, x, inside, replace(style, color=fade(style.color, 0.6)), width=1)
        return
    for (low, high), alpha in zip(bands, _BAND_ALPHAS, strict=True):
        fill_between(fig, x, low, high, fade(style.color, alpha), ends)


def _reference_style(name: str, temperature: Style) -> Style:
    """Style of a reference line; anything but temperature and truth is a guide."""
    styles = {"temperature": replace(temperature, dash="dash"), "truth": Style(TRUTH)}
    return styles.get(name, DOTTED)


EFFECT_HEIGHT = 400


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
    others = {"temperature": curve.temperature, "truth": curve.truth}
    references = {name: values for name, values in others.items() if values is not None}
    after = [curve.accuracy, *references.values(), *(fit.after for _, fit, _ in lines)]
    (x_limits, x_axis), (y_limits, y_axis) = (
        _effect_axis(values, scale)
        for values in (curve.before, np.concatenate([curve.before, *after]))
    )
    across, up = (partial(on_scale, scale=scale, limits=limits) for limits in (x_limits, y_limits))
    ends = tuple(y_axis["range"])
    fig = go.Figure()
    shared = np.linspace(max(x_limits[0], y_limits[0]), min(x_limits[1], y_limits[1]), 50)
    draw_line(fig, across(shared), up(shared), DOTTED, width=1.5)
    x = across(curve.before)
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        edges = [(up(low), up(high)) for low, high in seen.bands]
        _draw_bands(fig, x, edges, look, filled=not later, ends=ends)
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
    labels = [("identity", float(up(shared)[-1]), NEUTRAL)]
    few = 7 if len(x) <= 3 else 0
    for name, values in references.items():
        style = _reference_style(name, temperature_style)
        hover = carry(
            f"{name}: {{before:.3r}} becomes {{after:.3r}}", before=curve.before, after=values
        )
        draw_line(fig, x, up(values), style, name, hover, width=1.8, markers=few)
        labels.append((name, float(up(values)[-1]), style.color))
    for name, seen, style in lines:
        (low2, high2), (low, high) = seen.bands
        hover = carry(
            f"{plain(name)}: {{before:.3r}} becomes {{after:.3r}} ± {{sd:.2r}}<br>{{rows:,d}} rows",
            before=seen.before,
            after=seen.after,
            sd=seen.sd,
            low=low,
            high=high,
            low_2_sd=low2,
            high_2_sd=high2,
            rows=seen.count,
        )
        draw_line(fig, x, up(seen.after), style, name, hover, width=2.6, markers=few)
        labels.append((name, float(up(seen.after)[-1]), style.color))
    quiet(fig, EFFECT_HEIGHT, alt=_effects_described(lines))
    set_x(fig, title_text="confidence of the raw model", **x_axis)
    set_y(fig, title_text="calibrated confidence", **y_axis)
    label_line_ends(fig, labels, ends)
    return fig


def _effect_axis(values: Floats, scale: Scale) -> tuple[Limits, dict[str, Any]]:
    """Ends of an axis that holds the confidences, and its range and ticks."""
    if scale == "logit":
        limits = probability_limits(values, "logit")
        return limits, probability_axis("logit", limits, 0.03)
    low, high = span(values, least=0.05)
    limits = max(0.0, low), min(1.0, high)
    return limits, {"range": list(limits), "nticks": 6}


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
