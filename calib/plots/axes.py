"""Probability axes (linear or logit-scaled), logarithmic axes, and histograms laid onto them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from calib.numerics import Floats, Ints, sigmoid
from calib.plots.style import Limits

if TYPE_CHECKING:
    from calib.diagnostics.reliability import ConfidenceHistogram


Scale = Literal["linear", "logit"]

PROBABILITY_ENDS: Limits = (0.0, 1.0)
LOGIT_TICKS = (1e-6, 1e-5, 0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
_LOGIT_LOWS = (0.4, 0.2, 0.08, 0.03, 0.008, 0.0008)
_LOGIT_HIGH = 0.9995


def logit_ends(probabilities: Floats) -> Limits:
    """Ends of a logit-scaled axis: from the highest round number below all values but zero, to 0.9995."""
    positive = probabilities[probabilities > 0]
    lowest = positive.min() if positive.size else _LOGIT_LOWS[0]
    return next((end for end in _LOGIT_LOWS if end <= lowest), _LOGIT_LOWS[-1]), _LOGIT_HIGH


def logit(probability: float) -> float:
    """Log-odds of a probability strictly between 0 and 1."""
    return float(np.log(probability) - np.log1p(-probability))


def on_scale(probability: Floats, scale: Scale, limits: Limits) -> Floats:
    """Places on the axis of probabilities clipped to ``limits``."""
    clipped = np.clip(probability, *limits)
    return clipped if scale == "linear" else np.log(clipped) - np.log1p(-clipped)


def from_scale(places: Floats, scale: Scale) -> Floats:
    """Probabilities at places on the axis."""
    return places if scale == "linear" else sigmoid(places)


def confidence_edges(histogram: ConfidenceHistogram) -> Floats:
    """Edges as probabilities; those of the end bins reach 0 and 1, as the bins do."""
    if histogram.scale == "linear":
        return histogram.edges
    return np.r_[0.0, sigmoid(histogram.edges[1:-1]), 1.0]


def probability_axis(scale: Scale, limits: Limits, pad: float = 0.0) -> dict[str, Any]:
    """Range and ticks of an axis on which :func:`on_scale` places probabilities; ``pad`` is room at its ends."""
    low, high = on_scale(np.array(limits), scale, limits)
    room = pad * (high - low)
    ends = [float(low - room), float(high + room)]
    if scale == "linear":
        return {"range": ends, "dtick": 0.2 * limits[1], "tick0": 0}
    ticks = [tick for tick in LOGIT_TICKS if limits[0] <= tick <= limits[1]]
    text = [np.format_float_positional(tick, trim="-") for tick in ticks]
    return {"range": ends, "tickvals": on_scale(np.array(ticks), scale, limits), "ticktext": text}


def logit_ticks(low: float, high: float) -> dict[str, Any]:
    """Ticks of an axis of log-odds, labelled by their probabilities."""
    ticks = [tick for tick in LOGIT_TICKS if low <= logit(tick) <= high]
    return {"tickvals": [logit(tick) for tick in ticks], "ticktext": [f"{tick:g}" for tick in ticks]}


def log10_ticks(values: Sequence[int], low: float, high: float, offset: int = 0) -> dict[str, Any]:
    """Ticks at ``log10(value + offset)`` for those of the values between ``low`` and ``high``."""
    ticks = [value for value in values if low <= value <= high]
    return {"tickvals": np.log10(np.array(ticks) + offset), "ticktext": [f"{tick:,}" for tick in ticks]}


def regrid(edges: Floats, counts: Floats | Ints, grid: Floats) -> Floats:
    """Counts of a histogram in the cells of another, each bin's rows spread evenly over its width.

    A bin without width, such as one clipped at the end of an axis, falls into the one cell that it touches.

    Parameters
    ----------
    edges : (m + 1,) non-decreasing; within the ends of ``grid``.
    counts : (m,)
    grid : (n + 1,) increasing edges.

    Returns
    -------
    (n,) counts, which sum to those given.
    """
    low, high = edges[:-1], edges[1:]
    cell = np.clip(np.searchsorted(grid, low, side="right") - 1, 0, len(grid) - 2)
    flat = high - low < 1e-12
    low, high = np.where(flat, grid[cell], low), np.where(flat, grid[cell + 1], high)
    covered = np.minimum(high[:, None], grid[1:]) - np.maximum(low[:, None], grid[:-1])
    return (np.asarray(counts) / (high - low)) @ np.maximum(covered, 0.0)


def histogram_median(edges: Floats, counts: Floats | Ints) -> float:
    """Median of what is counted in bins with (m + 1,) edges, each bin's rows spread evenly; NaN of nothing."""
    upto = np.r_[0.0, np.cumsum(counts)]
    return float(np.interp(upto[-1] / 2, upto, edges)) if upto[-1] > 0 else float("nan")


_STEPS = ((3.4, (1,)), (1.2, (1, 3)), (0.6, (1, 2, 3, 5)), (0.0, (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)))
"""(least span in decades, leading digits of the ticks)"""
_MOST = 7


def log_axis(low: float, high: float, *, typed: bool = True) -> dict[str, Any]:
    """Range and ticks of a logarithmic axis.

    Parameters
    ----------
    low, high : ends as decimal logarithms, at least 0.4 apart for more than one tick.
    typed : whether plotly takes the logarithms; otherwise they are what is drawn.
    """
    digits = next(digits for span, digits in _STEPS if high - low >= span)
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    ticks = [tick for tick in ticks if low <= np.log10(tick) <= high]
    ticks = ticks[:: -(-len(ticks) // _MOST) or 1]
    return {
        "type": "log" if typed else "linear",
        "range": [low, high],
        "tickvals": ticks if typed else [float(np.log10(tick)) for tick in ticks],
        "ticktext": [f"{tick:g}" for tick in ticks],
    }
