"""Axes that contain the data: of probabilities (linear or in log-odds), of logarithms, and of anything else."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from calib.numerics import Floats, log_odds_of, sigmoid
from calib.plots.style import Limits

Scale = Literal["linear", "logit"]

LEAST = 1e-6
"""An axis of log-odds reaches no further than to this probability, and to 1 minus it."""
_LOW_ENDS = (0.9, 0.75, 0.5)
_HIGH_ENDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
_SMALL_ENDS = np.sort([step * 10.0**-power for power in range(1, 7) for step in (1, 2, 5)])
_LOGIT_ENDS = np.r_[_SMALL_ENDS, 1 - _SMALL_ENDS[-2::-1]]
"""Round ends of axes: below one half and, as far from 1, above."""
_LETTER = 6.6
_SPACE = 8
_MARGIN = 20
NARROWEST = 300
"""Pixels of a letter of a tick, between two ticks, of the last tick beyond the axis, and of a plot on a phone."""


def span(*values: Any, pad: float = 0.05, least: float = 1e-9) -> Limits:
    """Ends of an axis around all finite values, with room to both sides.

    Parameters
    ----------
    pad : the room, as a share of the distance between the smallest and the largest value.
    least : room where all values are equal.
    """
    every = np.concatenate(
        [np.ravel(np.asarray(part, dtype=float)) for part in values] or [np.zeros(0)]
    )
    every = every[np.isfinite(every)]
    if not every.size:
        return 0.0, 1.0
    low = float(every.min())
    high = float(every.max())
    room = max(pad * (high - low), least, 1e-9 * max(abs(low), abs(high)))
    return low - room, high + room


def crowded(probabilities: Any) -> bool:
    """Return whether most probabilities lie above 0.9 or below 0.1, where a linear axis shows nothing."""
    values = np.asarray(probabilities, dtype=float)
    return bool(((values > 0.9) | (values < 0.1)).sum() > 0.5 * values.size)


def probability_limits(probabilities: Any, scale: Scale) -> Limits:
    """Round ends of an axis that holds all the probabilities.

    On log-odds they leave out 0 and 1, which have no place there, and stop at ``LEAST``.
    """
    values = np.asarray(probabilities, dtype=float)
    values = values[np.isfinite(values)]
    if scale == "linear":
        lowest = float(values.min(initial=1.0))
        highest = float(values.max(initial=0.0))
        low = next((end for end in _LOW_ENDS if lowest >= end), 0.0)
        high = next((end for end in _HIGH_ENDS if highest <= end and end > low), 1.0)
        return low, high
    inside = np.clip(values[(values > 0) & (values < 1)], LEAST, 1 - LEAST)
    if not inside.size:
        return 0.1, 0.9
    first = int(np.searchsorted(_LOGIT_ENDS, inside.min() * (1 + 1e-9), side="right")) - 1
    last = int(np.searchsorted(_LOGIT_ENDS, inside.max() - 1e-9 * (1 - inside.max())))
    if first == last:
        first = max(first - 1, 0)
        last = min(last + 1, len(_LOGIT_ENDS) - 1)
    return float(_LOGIT_ENDS[first]), float(_LOGIT_ENDS[last])


def on_scale(probability: Floats, scale: Scale, limits: Limits) -> Floats:
    """Places on the axis of probabilities clipped to ``limits``."""
    clipped = np.clip(probability, *limits)
    return clipped if scale == "linear" else log_odds_of(clipped)


def from_scale(places: Floats, scale: Scale) -> Floats:
    """Probabilities at places on the axis."""
    return places if scale == "linear" else sigmoid(places)


def probability_axis(
    scale: Scale, limits: Limits, pad: float = 0.0, pixels: float = NARROWEST
) -> dict[str, Any]:
    """Range and ticks of an axis on which :func:`on_scale` places probabilities; ``pad`` is room at its ends."""
    low, high = on_scale(np.array(limits), scale, limits)
    room = pad * (high - low)
    ends = float(low - room), float(high + room)
    if scale == "logit":
        return {"range": list(ends), **logit_ticks(*ends, pixels)}
    step = next(
        step
        for step in (0.004, 0.01, 0.02, 0.05, 0.1, 0.2)
        if high - low <= 5 * step + 1e-9 or step == 0.2
    )
    return {"range": list(ends), "dtick": step, "tick0": 0}


_TENS = [10.0**-power for power in range(1, 13)]
_TICKS = (
    [0.5, *(tick for ten in _TENS for tick in (ten, 1 - ten))],
    [tick for ten in _TENS for part in (0.2, 0.5) for tick in (part * ten, 1 - part * ten)]
    + [0.2, 0.3, 0.7, 0.8],
)
"""Ticks of log-odds as probabilities, the most welcome first."""


def logit_ticks(low: float, high: float, pixels: float = NARROWEST) -> dict[str, Any]:
    """Ticks between two log-odds, labelled by their probabilities; as many as do not touch in so many pixels."""
    chosen: list[tuple[float, float, str]] = []
    margin = _MARGIN / pixels * (high - low)
    for more in _TICKS:
        if len(chosen) >= 3:
            break
        for tick in more:
            place = float(log_odds_of(tick))
            text = np.format_float_positional(tick, precision=12, trim="-")
            width = (_LETTER * len(text) + _SPACE) / pixels * (high - low)
            separate = all(
                abs(place - other) >= (width + other_width) / 2 for other, other_width, _ in chosen
            )
            inside = low - 1e-9 <= place <= min(high + 1e-9, high + margin - width / 2)
            if inside and separate:
                chosen.append((place, width, text))
    chosen.sort()
    return {
        "tickvals": [place for place, _, _ in chosen],
        "ticktext": [text for _, _, text in chosen],
    }


def regrid(edges: Floats, counts: npt.ArrayLike, grid: Floats) -> Floats:
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
    low = edges[:-1]
    high = edges[1:]
    cell = np.clip(np.searchsorted(grid, low, side="right") - 1, 0, len(grid) - 2)
    flat = high - low < 1e-12
    low = np.where(flat, grid[cell], low)
    high = np.where(flat, grid[cell + 1], high)
    covered = np.minimum(high[:, None], grid[1:]) - np.maximum(low[:, None], grid[:-1])
    return (np.asarray(counts) / (high - low)) @ np.maximum(covered, 0.0)


_STEPS = (
    (2.6, (1,)),
    (1.2, (1, 3)),
    (0.6, (1, 2, 3, 5)),
    (0.0, (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)),
)
"""(least span in decades, leading digits of the ticks)"""
_MOST = 7


def log_axis(low: float, high: float) -> dict[str, Any]:
    """Range and ticks of a logarithmic axis between two decimal logarithms, which are moved at least 0.4 apart."""
    room = max(0.0, 0.4 - (high - low)) / 2
    low = low - room
    high = high + room
    digits = next(digits for span, digits in _STEPS if high - low >= span)
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in digits]
    ticks = [tick for tick in ticks if low <= np.log10(tick) <= high]
    ticks = ticks[:: -(-len(ticks) // _MOST) or 1]
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": [_power(tick) if tick >= 1e5 else f"{tick:,g}" for tick in ticks],
    }


def _power(value: float) -> str:
    """A large number as digit and power of ten, in plotly's small HTML: 3·10⁷."""
    power = int(np.floor(np.log10(value) + 1e-9))
    digit = f"{value / 10.0**power:g}"
    return f"{'' if digit == '1' else digit + '·'}10<sup>{power}</sup>"
