"""Where confidences lie: of right and wrong predictions, and before and now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.plots.annotations import Counted, draw_counts
from calib.plots.axes import Scale, from_scale, histogram_median, logit_ticks
from calib.plots.reliability import axis_title
from calib.plots.style import NEUTRAL, Style, quiet, set_x, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.histograms import ConfidenceHistogram

HEIGHT = 260
_LEAST_LENGTH = 2.4
"""Of an axis of log-odds: tens of them are 2.3 apart."""


def confidence_densities(
    histogram: ConfidenceHistogram, style: Style, title: str = "", view: View = TOP_LABEL
) -> go.Figure:
    """Confidence of right predictions upwards and of wrong ones downwards, on one square-root scale.

    A good model has its wrong predictions at the left.

    Parameters
    ----------
    histogram : whose scale, linear or logit, is the axis's.
    style : of the method.
    view : whose words are used.
    """
    edges = histogram.edges
    scale: Scale = "logit" if histogram.scale == "logit" else "linear"
    wording = view.wording
    right, wrong = wording.positive_label, wording.negative_label
    groups = [
        Counted(right, histogram.right, style.color, right),
        Counted(wrong, histogram.wrong, NEUTRAL, wrong),
    ]
    medians = [histogram_median(edges, group.count) for group in groups if group.count.sum()]
    told = " and ".join(map(three_digits, from_scale(np.array(medians), scale)))
    counts = [int(group.count.sum()) for group in groups]
    fig = go.Figure()
    alt = f"{wording.describe_outcomes(*counts)}, median {told}."
    quiet(fig, HEIGHT, alt=alt, title=title)
    draw_counts(fig, edges, from_scale(edges, scale), groups, wording.predicted_label)
    set_x(fig, title_text=axis_title(view), range=[edges[0], edges[-1]])
    if scale == "logit":
        set_x(fig, **logit_ticks(edges[0], edges[-1]))
    return fig


def confidence_drift(
    before: ConfidenceHistogram,
    now: ConfidenceHistogram,
    style: Style,
    height: int = HEIGHT,
    view: View = TOP_LABEL,
) -> go.Figure:
    """Rows over confidence: now upwards, before downwards, so that a shift breaks the symmetry.

    Parameters
    ----------
    before, now : on the same grid in log-odds.
    style : of the method.
    view : for words.
    """
    edges = now.edges
    held = np.flatnonzero(before.count + now.count)
    cells = slice(held[0], held[-1] + 1)
    shown = edges[held[0] : held[-1] + 2]
    middles = [
        float(h.count @ ((edges[:-1] + edges[1:]) / 2)) / max(1, h.count.sum())
        for h in (before, now)
    ]
    fig = go.Figure()
    label = view.wording.predicted_label
    alt = (
        f"{label.capitalize()}: its mean log-odds moved from {three_digits(middles[0])} before to"
        f" {three_digits(middles[1])} now."
    )
    quiet(fig, height, alt=alt)
    groups = [
        Counted("now", now.count[cells], style.color, "rows now"),
        Counted("before", before.count[cells], NEUTRAL, "rows before"),
    ]
    draw_counts(fig, shown, from_scale(shown, "logit"), groups, label)
    room = max(0.1, (_LEAST_LENGTH - (shown[-1] - shown[0])) / 2)
    ends = float(shown[0] - room), float(shown[-1] + room)
    set_x(fig, title_text=label, range=list(ends), **logit_ticks(*ends))
    return fig
