"""A decision's threshold on the probabilities of the rows, by outcome: a line that can be dragged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import View
from calib.plots.annotations import Counted, draw_counts, write
from calib.plots.axes import Scale, from_scale, logit_ticks
from calib.plots.reliability_frame import said_axis
from calib.plots.style import NEUTRAL, Style, fade, quiet, set_layout, set_x

if TYPE_CHECKING:
    from calib.diagnostics.judged_decisions import ThresholdCounts

HEIGHT = 340
_FADED = 0.35
"""Opacity of the rows on which nothing is done."""


def threshold_chart(counts: ThresholdCounts, style: Style, view: View, action: str) -> go.Figure:
    """Rows by probability, in which it came true upwards and the others downwards, with the threshold as a line.

    Rows on which nothing is done are faded. Each side has a height of its own, since there are few events. The line is
    the only shape, ``shapes[0]``, and lies at the threshold in the units of the axis.

    Parameters
    ----------
    counts : of one method.
    style : of the method.
    view : whose words are used.
    action : what is done at the threshold and above, such as "act".
    """
    edges, reached = counts.edges, counts.reached
    scale: Scale = "logit" if counts.scale == "logit" else "linear"
    at, fig = counts.at, go.Figure()
    done = [int(part[reached].sum()) for part in (counts.right, counts.wrong)]
    words = f"{action} from {100 * counts.threshold:.3g} %"
    alt = (
        f"{view.said.capitalize()} of {counts.right.sum():,} rows {view.right} and {counts.wrong.sum():,} "
        f"{view.wrong}; {words}: {done[0]:,} and {done[1]:,} of them lie there."
    )
    quiet(fig, HEIGHT, alt=alt)
    groups = [
        Counted(name, part, [color if there else fade(color, _FADED) for there in reached], f"rows {name}")
        for name, part, color in ((view.right, counts.right, style.color), (view.wrong, counts.wrong, NEUTRAL))
    ]
    draw_counts(fig, edges, from_scale(edges, scale), groups, view.said)
    fig.add_shape(
        type="line", x0=at, x1=at, y0=0, y1=1, yref="paper", line={"color": style.color, "width": 3}, name="threshold"
    )
    early = at < (edges[0] + edges[-1]) / 2
    write(fig, f"<b>{words} ⇔</b>", at, 1, yref="paper", yanchor="bottom", xanchor="left" if early else "right",
          yshift=2)  # fmt: skip
    ticks = logit_ticks(edges[0], edges[-1]) if scale == "logit" else {"nticks": 8}
    room = 0.01 * (edges[-1] - edges[0])
    set_x(fig, title_text=said_axis(view), range=[edges[0] - room, edges[-1] + room], fixedrange=True, **ticks)
    set_layout(fig, dragmode=False)
    return fig


def dragged_to(place: float, scale: str) -> float:
    """The probability to which the line was dragged, inside 0.01 to 99.99 %."""
    return float(np.clip(from_scale(np.array(place), "logit" if scale == "logit" else "linear"), 1e-4, 1 - 1e-4))
