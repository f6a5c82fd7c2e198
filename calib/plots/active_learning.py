"""Learning curves of active learning: a score against the number of labels, one line for each strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, draw_marks, write
from calib.plots.axes import span
from calib.plots.lines import Curve, line_chart
from calib.plots.style import (
    HIDDEN,
    Style,
    fade,
    join_named,
    plain,
    set_layout,
    set_x,
    set_y,
    three_digits,
)

_RUG = 0.03
"""Share of the plot's height that the calibration batches of one arm take, beneath the curves."""
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


def learning_curves(arms: Sequence[ArmLine], name: str, *, percent: bool = True) -> go.Figure:
    """Mean lines with bands over shuffles, a dot for each round, a symbol where an arm ends on average.

    Short strokes beneath the curves are batches that went to calibration, a row for each arm that has any. The axis
    holds all rounds and lines; a band is cut there, as with two shuffles it is six times as wide.

    Parameters
    ----------
    arms : in the order in which they are drawn, the last on top.
    name : of the measure, in words and on the axis.
    percent : whether its values are shares.
    """
    arms = [arm for arm in arms if len(arm.labels)]
    rounds = [part for arm in arms for part in arm.shuffles]
    reach = span(*(labels for labels, _ in rounds), pad=0.03, least=1.0) if rounds else (-1.0, 1.0)
    low, high = span(*(arm.mean for arm in arms), *(values for _, values in rounds), least=0.02)
    summary = join_named({arm.title: _describe_arm(arm, percent) for arm in arms}) or _NOTHING
    # Whole numbers of labels, also where there are few.
    ticks = {"dtick": 1} if reach[1] - reach[0] < 7 else {"nticks": 7}
    fig = line_chart(
        [Curve(arm.short, arm.style, arm.labels, arm.mean, (arm.low, arm.high)) for arm in arms],
        ("labels", "value"),
        {"title_text": "labels requested", "range": reach, "tickformat": ",d", **ticks},
        {
            "range": (max(low, -0.05 * high), high),  # no measure is negative
            "title_text": name if name.isupper() else name.lower(),
            "tickformat": ".3~p" if percent else "~g",
        },
        f"{name} by labels requested",
        f"{name} against labels requested. {summary}.",
        markers=0,
    )
    if not arms:
        write(fig, _NOTHING, 0.5, 0.5, xref="paper", yref="paper")
    for arm in arms:
        _rounds(fig, arm, name, ".3~p" if percent else ".3r")
        faint = Style(fade(arm.style.color, 0.45), dash="dot")
        draw_line(fig, [arm.labels[-1], reach[1]], [arm.mean[-1]] * 2, faint, width=1)
        end = arm.labels[-1:], arm.mean[-1:]
        draw_marks(fig, *end, arm.style, f"{arm.title}, end", size=11, cliponaxis=False)
    floor = _rug(fig, [arm for arm in arms if len(arm.calibrated)])
    set_x(fig, anchor="free", position=0)
    set_y(fig, domain=[floor, 1])
    return fig


def _rounds(fig: go.Figure, arm: ArmLine, name: str, value: str) -> None:
    """A dot for each round of each shuffle, fainter the more shuffles there are."""
    shuffles = arm.shuffles
    labels, values = (np.concatenate([part[i] for part in shuffles]) for i in (0, 1))
    number = np.repeat(np.arange(1, len(shuffles) + 1), [len(labels) for labels, _ in shuffles])
    hover = carry(
        f"{plain(arm.title)}<br>shuffle {{shuffle}}, {{labels:,d}} labels: {plain(name)} {{value:{value}}}",
        labels=labels,
        value=values,
        shuffle=number,
    )
    faint = Style(fade(arm.style.color, max(0.18, 0.55 / np.sqrt(len(shuffles)))))
    draw_marks(fig, labels, values, faint, f"{arm.title}, rounds", hover, size=4.5, zorder=-1)


def _rug(fig: go.Figure, arms: Sequence[ArmLine]) -> float:
    """Strokes beneath the curves on an axis of their own; the share of the height that they take."""
    for place, arm in enumerate(arms):
        hover = (
            f"{plain(arm.title)}<br>a batch for calibration, then %{{x:,d}} labels<extra></extra>"
        )
        look = {"symbol": "line-ns-open", "yaxis": "y2", "cliponaxis": False}
        at = arm.calibrated, np.full(len(arm.calibrated), -place)
        draw_marks(fig, *at, arm.style, arm.title, {"hovertemplate": hover}, **look)
    if not arms:
        return 0.0
    axis = {"domain": [0, _RUG * len(arms)], "range": (0.5 - len(arms), 0.5), "anchor": "x"}
    set_layout(fig, yaxis2=axis | HIDDEN)
    return _RUG * (len(arms) + 0.5)


def _describe_arm(arm: ArmLine, percent: bool) -> str:
    first, last = (
        f"{three_digits(100 * end)} %" if percent else three_digits(end)
        for end in arm.mean[[0, -1]]
    )
    return f"from {first} to {last} after {arm.labels[-1]:,.0f}"
