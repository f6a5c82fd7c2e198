"""Learning curves of active learning: a score against the number of labels, one line for each strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import carry, fill_between, label_line_ends
from calib.plots.style import Style, fade, plain, quiet, set_layout, set_x, three_digits

_RUG = 0.03
"""Share of the plot's height that the calibration batches of one arm take, beneath the curves."""
_PAD = 0.05
_NOTHING = "Not defined in any round"


@dataclass(frozen=True, eq=False)
class ArmLine:
    """One arm as it is drawn.

    Attributes
    ----------
    title : its name, in full.
    short : its name beside the line.
    style : colour, marker of its end, and dash.
    labels, mean, low, high : (n,) the measure against labels, and its band; NaN where there is none.
    shuffles : labels and values of each shuffle's rounds.
    calibrated : (n,) labels there were after each batch that went to calibration, of all shuffles.
    """

    title: str
    short: str
    style: Style
    labels: Floats
    mean: Floats
    low: Floats
    high: Floats
    shuffles: Sequence[tuple[Floats, Floats]]
    calibrated: Floats


HEIGHT = 380


def learning_curves(arms: Sequence[ArmLine], name: str, *, percent: bool = True) -> go.Figure:
    """Mean lines with bands over shuffles, a dot for each round, a symbol where an arm ends on average.

    Short strokes beneath the curves are batches that went to calibration, a row for each arm that has any.

    Parameters
    ----------
    arms : in the order in which they are drawn, the last on top.
    name : of the measure, in words and on the axis.
    percent : whether its values are shares.
    """
    fig = go.Figure()
    arms = [arm for arm in arms if len(arm.labels)]
    span = _span(arms)
    value = ".3~p" if percent else ".3r"
    for arm in arms:
        _band(fig, arm, span)
        _rounds(fig, arm, name, value)
    reach = _reach(arms)
    for arm in arms:
        _leader(fig, arm, reach[1])
        _line(fig, arm, name, value)
    said = "; ".join(f"{arm.title} {_said(arm, percent)}" for arm in arms) or _NOTHING
    quiet(fig, HEIGHT, alt=f"{name} against labels asked for. {said}.", title=f"{name} by labels asked for")
    if not arms:
        fig.add_annotation(text=_NOTHING, x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False)
    calibrating = [arm for arm in arms if len(arm.calibrated)]
    floor = _rug(fig, calibrating)
    set_x(fig, title_text="labels asked for", range=reach, tickformat=",d", **_ticks(reach), anchor="free", position=0)
    fig.layout.yaxis.update(
        range=list(span), domain=[floor, 1], nticks=6, tickformat=".3~p" if percent else "~g",
        title_text=name if name.isupper() else name.lower(),
    )  # fmt: skip
    label_line_ends(fig, [(arm.short, float(arm.mean[-1]), arm.style.color) for arm in arms], span)
    return fig


def _band(fig: go.Figure, arm: ArmLine, span: tuple[float, float]) -> None:
    known = np.isfinite(arm.low) & np.isfinite(arm.high)
    if known.sum() < 2:
        return
    x, (low, high) = arm.labels[known], (np.clip(end[known], *_far(span)) for end in (arm.low, arm.high))
    fill_between(fig, x, low, high, fade(arm.style.color, 0.13))


def _rounds(fig: go.Figure, arm: ArmLine, name: str, value: str) -> None:
    """A dot for each round of each shuffle, fainter the more shuffles there are."""
    shuffles = arm.shuffles
    labels = np.concatenate([labels for labels, _ in shuffles])
    values = np.concatenate([values for _, values in shuffles])
    number = np.repeat(np.arange(1, len(shuffles) + 1), [len(labels) for labels, _ in shuffles])
    fig.add_scatter(
        x=labels, y=values, mode="markers", name=f"{arm.title}, rounds",
        marker={"color": fade(arm.style.color, max(0.18, 0.55 / np.sqrt(len(shuffles)))), "size": 4.5,
                "line_width": 0},
        **carry(labels=labels, value=values, shuffle=number),
        hovertemplate=f"{plain(arm.title)}<br>shuffle %{{customdata[2]}}, %{{customdata[0]:,d}} labels:"
        f" {plain(name)} %{{customdata[1]:{value}}}<extra></extra>",
    )  # fmt: skip


def _line(fig: go.Figure, arm: ArmLine, name: str, value: str) -> None:
    style = arm.style
    interval = f" (%{{customdata[2]:{value}}} to %{{customdata[3]:{value}}})" if np.isfinite(arm.low).all() else ""
    fig.add_scatter(
        x=arm.labels, y=arm.mean, mode="lines", name=arm.title,
        line={"color": style.color, "dash": style.dash, "width": 2.2},
        **carry(labels=arm.labels, value=arm.mean, low=arm.low, high=arm.high),
        hovertemplate=f"{plain(arm.title)}<br>%{{customdata[0]:,.0f}} labels: {plain(name)} %{{customdata[1]:{value}}}"
        f"{interval}<extra></extra>",
    )  # fmt: skip
    fig.add_scatter(
        x=arm.labels[-1:], y=arm.mean[-1:], mode="markers", name=f"{arm.title}, end", hoverinfo="skip",
        marker={"color": style.color, "symbol": style.symbol, "size": 11, "line": {"color": style.color, "width": 2}},
        cliponaxis=False,
    )  # fmt: skip


def _leader(fig: go.Figure, arm: ArmLine, right: float) -> None:
    """A faint line from where an arm ends towards its name at the right."""
    fig.add_scatter(
        x=[arm.labels[-1], right], y=[arm.mean[-1]] * 2, mode="lines", hoverinfo="skip",
        line={"color": fade(arm.style.color, 0.45), "dash": "dot", "width": 1},
    )  # fmt: skip


def _rug(fig: go.Figure, arms: Sequence[ArmLine]) -> float:
    """Strokes beneath the curves on an axis of their own; the share of the height that they take."""
    floor = _RUG * (len(arms) + 0.5) if arms else 0.0
    for place, arm in enumerate(arms):
        fig.add_scatter(
            x=arm.calibrated, y=np.full(len(arm.calibrated), -place), yaxis="y2", mode="markers", name=arm.title,
            marker={"symbol": "line-ns-open", "size": 9, "line_width": 1.5, "color": arm.style.color},
            cliponaxis=False,
            hovertemplate=f"{plain(arm.title)}<br>a batch for calibration, then %{{x:,d}} labels<extra></extra>",
        )  # fmt: skip
    if arms:
        set_layout(
            fig, yaxis2={"domain": [0, _RUG * len(arms)], "range": [0.5 - len(arms), 0.5], "visible": False,
                    "fixedrange": True, "anchor": "x"}
        )  # fmt: skip
    return floor


def _span(arms: Sequence[ArmLine]) -> tuple[float, float]:
    """Axis range: all rounds and lines; a band may leave it, as with two shuffles it is six times as wide."""
    values = [part for arm in arms for part in (arm.mean, *(values for _, values in arm.shuffles))]
    shown = np.concatenate(values) if values else np.array([0.0, 1.0])
    low, high = float(shown.min()), float(shown.max())
    pad = _PAD * (high - low) or 0.05
    return max(low - pad, -_PAD * (high + pad)), high + pad  # no measure is negative


def _far(span: tuple[float, float]) -> tuple[float, float]:
    width = span[1] - span[0]
    return span[0] - width, span[1] + width


def _reach(arms: Sequence[ArmLine]) -> list[float]:
    labels = np.concatenate([labels for arm in arms for labels, _ in arm.shuffles]) if arms else np.zeros(1)
    low, high = float(labels.min()), float(labels.max())
    pad = 0.03 * (high - low) or 1.0
    return [low - pad, high + pad]


def _ticks(reach: list[float]) -> dict[str, int]:
    """Whole numbers of labels, also where there are few."""
    return {"dtick": 1} if reach[1] - reach[0] < 7 else {"nticks": 7}


def _said(arm: ArmLine, percent: bool) -> str:
    first, last = (f"{three_digits(100 * end)} %" if percent else three_digits(end) for end in arm.mean[[0, -1]])
    return f"from {first} to {last} after {arm.labels[-1]:,.0f}"
