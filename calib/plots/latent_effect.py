"""Figure of calibrated confidence over raw confidence, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.formatting import plural
from calib.plots.annotations import carry, draw_bands, draw_line, draw_marks, label_line_ends, reference_style, whiskers
from calib.plots.axes import on_scale, probability_axis, probability_limits
from calib.plots.style import DOTTED, NEUTRAL, Limits, Style, one_each, plain, quiet, set_x, set_y, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.latent import EffectCurve

_HEIGHT, _PAD = 400, 0.03


def effect_chart(lines: Sequence[tuple[str, EffectCurve, Style]], temperature_style: Style) -> go.Figure:
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
    references = {name: values for name, values in (("temperature", curve.temperature), ("truth", curve.truth))
                  if values is not None}  # fmt: skip
    after = [curve.accuracy, *references.values(), *(one.after for _, one, _ in lines)]
    x_limits = _limits(curve.before, scale)
    y_limits = _limits(np.concatenate([curve.before, *after]), scale)
    across, up = (partial(on_scale, scale=scale, limits=limits) for limits in (x_limits, y_limits))
    x_axis, y_axis = _axis(scale, x_limits), _axis(scale, y_limits)
    ends = tuple(y_axis["range"])
    fig = go.Figure()
    shared = np.linspace(max(x_limits[0], y_limits[0]), min(x_limits[1], y_limits[1]), 50)
    draw_line(fig, across(shared), up(shared), DOTTED, width=1.5)
    x = across(curve.before)
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        draw_bands(fig, x, [(up(low), up(high)) for low, high in seen.bands], look, filled=not later, ends=ends)
    told = carry(
        "right {accuracy:.3r} (95 %: {low:.3r} to {high:.3r})<br>of {rows:,d} rows at confidence {before:.3r}",
        before=curve.before, accuracy=curve.accuracy, low=curve.accuracy_low, high=curve.accuracy_high,
        rows=curve.count,
    )  # fmt: skip
    y = up(curve.accuracy)
    draw_marks(
        fig, x, y, Style(NEUTRAL), "right", told, size=5,
        error_y=whiskers(y, up(curve.accuracy_low), up(curve.accuracy_high), NEUTRAL, 1),
    )  # fmt: skip
    labels = [("identity", float(up(shared)[-1]), NEUTRAL)]
    few = 7 if len(x) <= 3 else 0
    for name, values in references.items():
        style = reference_style(name, temperature_style)
        told = carry(f"{name}: {{before:.3r}} becomes {{after:.3r}}", before=curve.before, after=values)
        draw_line(fig, x, up(values), style, name, told, width=1.8, markers=few)
        labels.append((name, float(up(values)[-1]), style.color))
    for name, seen, style in lines:
        (low2, high2), (low, high) = seen.bands
        told = carry(
            f"{plain(name)}: {{before:.3r}} becomes {{after:.3r}} ± {{sd:.2r}}<br>{{rows:,d}} rows",
            before=seen.before, after=seen.after, sd=seen.sd, low=low, high=high, low_2_sd=low2, high_2_sd=high2,
            rows=seen.count,
        )  # fmt: skip
        draw_line(fig, x, up(seen.after), style, name, told, width=2.6, markers=few)
        labels.append((name, float(up(seen.after)[-1]), style.color))
    quiet(fig, _HEIGHT, alt=_described(lines))
    set_x(fig, title_text="confidence of the raw model", **x_axis)
    set_y(fig, title_text="calibrated confidence", **y_axis)
    label_line_ends(fig, labels, ends)
    return fig


def _limits(values: Any, scale: str) -> Limits:
    """Ends of an axis that holds the values: on a linear scale the next tenths outside, at least one apart."""
    if scale == "logit":
        return probability_limits(values, "logit")
    low, high = float(np.floor(10 * values.min()) / 10), float(np.ceil(10 * values.max()) / 10)
    return (low, high) if high > low else (low - 0.1, high)


def _axis(scale: str, limits: Limits) -> dict[str, Any]:
    if scale == "logit":
        return probability_axis("logit", limits, _PAD)
    room = _PAD * (limits[1] - limits[0])
    step = 0.1 if limits[1] - limits[0] < 0.7 else 0.2
    return {"range": [limits[0] - room, limits[1] + room], "dtick": step, "tick0": 0}


def _described(lines: Sequence[tuple[str, EffectCurve, Style]]) -> str:
    found = {}
    for name, curve, _ in lines:
        middle = len(curve.before) // 2
        before, after, sd = (three_digits(float(v[middle])) for v in (curve.before, curve.after, curve.sd))
        found[name] = f"makes {after} ± {sd} of {before}"
    bins = plural(len(lines[0][1].before), "bin")
    return f"Calibrated over raw confidence in {bins} of rows: {one_each(found)}."
