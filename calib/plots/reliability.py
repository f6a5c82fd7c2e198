"""Reliability diagrams: what the model says against how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.labels import label_line_ends
from calib.plots.style import GRID, GUIDE, Limits, Style, fade, logit, plain, quiet, three_digits
from calib.reliability import ReliabilityCurve

Scale = Literal["linear", "logit"]

_LOGIT_TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999)
_LOGIT_LOWS = (0.4, 0.2, 0.1, 0.04, 0.01, 0.001)
_COLUMNS = ["bin", "count", "mean confidence", "accuracy", "low", "high"]
_HOVER = (
    "%{customdata[1]:,d} rows<br>says %{customdata[2]:.3r}<br>right %{customdata[3]:.3r}"
    " (95 %: %{customdata[4]:.3r} to %{customdata[5]:.3r})%{text}<extra></extra>"
)


def prefers_logit_scale(curve: ReliabilityCurve) -> bool:
    """Whether more than half of the confidences exceed 0.9, by the means of the bins they lie in."""
    return bool(curve.count[curve.confidence > 0.9].sum() > 0.5 * curve.n)


def common_limits(curves: Sequence[ReliabilityCurve], scale: Scale = "linear") -> Limits:
    """Ends of the axes, as probabilities, that suit all curves, so that diagrams side by side agree."""
    if scale == "linear":
        return 0.0, 1.0
    lowest = min((float(min(c.confidence.min(), c.accuracy.min())) for c in curves if len(c.count)), default=0.5)
    low = next((end for end in _LOGIT_LOWS if end <= lowest), _LOGIT_LOWS[2])
    return low, 0.9995


def reliability_diagram(
    curve: ReliabilityCurve,
    style: Style,
    scale: Scale = "linear",
    title: str = "",
    limits: Limits | None = None,
    histogram: tuple[Floats, Floats] | None = None,
    height: int = 400,
) -> go.Figure:
    """Accuracy against confidence in bins, with Wilson intervals and a histogram of the confidences beneath.

    Each dot carries its bin in ``customdata[0]``, so that a page can turn a selected point into rows.

    Parameters
    ----------
    curve : the binned confidences; only non-empty bins are in it.
    style : of the method.
    scale : "logit" gives the crowded corner near 1 its room; dots beyond its ends are drawn open, at the end.
    title : heading, or empty; the margins stay the same.
    limits : ends of both axes as probabilities; by default those of :func:`common_limits` for this curve alone.
    histogram : edges (m + 1,) and counts (m,) of the confidences; without it the bins' counts are
        spread evenly over each bin.
    """
    raise NotImplementedError


def gap_diagram(curves: Sequence[tuple[str, ReliabilityCurve, Style]], title: str = "", height: int = 360) -> go.Figure:
    """Accuracy minus confidence over the ranks of the confidence, for several methods in one figure.

    Ranks (the share of rows with a lower confidence) give each row the same room, however crowded the confidences
    are. Below zero a method is overconfident.

    Parameters
    ----------
    curves : (title, curve, style) of each method.
    """
    raise NotImplementedError
