"""Figure of calibrated confidence over raw confidence, with bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import carry, draw_bands, label_line_ends, reference_look, whiskers
from calib.plots.axes import logit_ends, on_scale, probability_axis
from calib.plots.style import GUIDE, NEUTRAL, Limits, Style, plain, quiet, set_x, set_y, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.latent_effect import EffectCurve

_HEIGHT, _PAD = 400, 0.03


def effect_chart(
    lines: Sequence[tuple[str, EffectCurve, Style]], temperature_style: Style, probe: float | None = None
) -> go.Figure:
    """Mean confidence after calibration over the mean before, in bins of rows, against the diagonal.

    The first fit has filled bands that hold 68 and 95 % of the drawn functions, the others the outline of the wider.
    Grey dots are the shares of right predictions with Wilson intervals: where a calibrated confidence should lie.

    Parameters
    ----------
    lines : (name, curve, style) of each fit, at least one, over the same rows and bins.
    temperature_style : of temperature scaling.
    probe : a raw confidence to mark.
    """
    curve = lines[0][1]
    x_limits, y_limits = _limits([line for _, line, _ in lines])

    def across(values: Floats) -> Floats:
        return on_scale(values, curve.scale, x_limits)

    def up(values: Floats) -> Floats:
        return on_scale(values, curve.scale, y_limits)

    fig = go.Figure()
    left, right = across(np.array(x_limits))
    diagonal = np.linspace(left, right, 50)
    fig.add_scatter(
        x=diagonal, y=diagonal, mode="lines", hoverinfo="skip", line={"color": GUIDE, "dash": "dot", "width": 1.5}
    )
    if probe is not None:
        place = float(across(np.array([probe]))[0])
        fig.add_shape(
            type="line", xref="x", yref="paper", x0=place, x1=place, y0=0, y1=1,
            line={"color": GUIDE, "width": 1},
        )  # fmt: skip
    x = across(curve.before)
    for later, (_, seen, look) in reversed(list(enumerate(lines))):
        draw_bands(fig, x, [(up(low), up(high)) for low, high in seen.bands], look, filled=not later)
    _draw_accuracy(fig, curve, x, up)
    ends = [("identity", float(diagonal[-1]), NEUTRAL)]
    mode = "lines" if len(x) > 3 else "lines+markers"
    for name, values in (("temperature", curve.temperature), ("truth", curve.truth)):
        if values is None:
            continue
        color, dash, width = reference_look(name, temperature_style)
        fig.add_scatter(
            x=x, y=up(values), name=name, mode=mode, line={"color": color, "dash": dash, "width": width},
            **carry(before=curve.before, after=values),
            hovertemplate=f"{name}: %{{customdata[0]:.3r}} becomes %{{customdata[1]:.3r}}<extra></extra>",
        )  # fmt: skip
        ends.append((name, float(up(values)[-1]), color))
    for name, seen, style in lines:
        (low2, high2), (low, high) = seen.bands
        fig.add_scatter(
            x=x, y=up(seen.after), name=name, mode=mode,
            line={"color": style.color, "width": 2.6, "dash": style.dash}, marker={"symbol": style.symbol, "size": 7},
            **carry(before=seen.before, after=seen.after, sd=seen.sd, low=low, high=high, low_2_sd=low2,
                    high_2_sd=high2, rows=seen.count),
            hovertemplate=f"{plain(name)}: %{{customdata[0]:.3r}} becomes %{{customdata[1]:.3r}} ±"
            " %{customdata[2]:.2r}<br>%{customdata[7]:,d} rows<extra></extra>",
        )  # fmt: skip
        ends.append((name, float(up(seen.after)[-1]), style.color))
    quiet(fig, _HEIGHT, alt=_describe(lines))
    set_x(fig, title_text="confidence of the raw model", **_padded(curve, x_limits))
    y_axis = _padded(curve, y_limits)
    set_y(fig, title_text="calibrated confidence", **y_axis)
    label_line_ends(fig, ends, tuple(y_axis["range"]))
    return fig


def _limits(curves: Sequence[EffectCurve]) -> tuple[Limits, Limits]:
    """Ends of the two axes: all that is drawn of the curves, and the dots; a wide band may leave the picture."""
    before = curves[0].before
    others = [v for v in (curves[0].temperature, curves[0].truth) if v is not None]
    after = np.concatenate([curves[0].accuracy, *others, *(curve.after for curve in curves)])
    if curves[0].scale == "logit":
        return logit_ends(before), logit_ends(np.concatenate([before, after]))
    low, high, lowest = before.min(), before.max(), min(before.min(), after.min())
    return _tenths(low, high), _tenths(lowest, 1.0)


def _tenths(low: float, high: float) -> Limits:
    """The next tenths outside, at least one apart."""
    ends = float(np.floor(10 * low) / 10), float(np.ceil(10 * high) / 10)
    return ends if ends[1] > ends[0] else (ends[0] - 0.1, ends[1])


def _padded(curve: EffectCurve, limits: Limits) -> dict:
    axis = probability_axis(curve.scale, limits)
    low, high = axis["range"]
    pad = _PAD * (high - low)
    if curve.scale == "linear":
        axis = {"dtick": 0.1 if high - low < 0.7 else 0.2, "tick0": 0}
    return {**axis, "range": [low - pad, high + pad]}


def _draw_accuracy(fig: go.Figure, curve: EffectCurve, x: Floats, up) -> None:
    y = up(curve.accuracy)
    fig.add_scatter(
        x=x, y=y, name="right", mode="markers", marker={"color": NEUTRAL, "size": 5},
        error_y=whiskers(y, up(curve.accuracy_low), up(curve.accuracy_high), NEUTRAL, 1),
        **carry(before=curve.before, accuracy=curve.accuracy, low=curve.accuracy_low, high=curve.accuracy_high,
                rows=curve.count),
        hovertemplate="right %{customdata[1]:.3r} (95 %: %{customdata[2]:.3r} to %{customdata[3]:.3r})"
        "<br>of %{customdata[4]:,d} rows at confidence %{customdata[0]:.3r}<extra></extra>",
    )  # fmt: skip


def _describe(lines: Sequence[tuple[str, EffectCurve, Style]]) -> str:
    parts = []
    for name, curve, _ in lines:
        middle = len(curve.before) // 2
        before, after, sd = (three_digits(float(v[middle])) for v in (curve.before, curve.after, curve.sd))
        parts.append(f"{name} makes {after} ± {sd} of {before}")
    n = len(lines[0][1].before)
    return f"Calibrated over raw confidence in {n} bin{'' if n == 1 else 's'} of rows: {'; '.join(parts)}."
