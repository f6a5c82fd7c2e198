"""Logarithmic axes with ticks at round numbers, at any span."""

from __future__ import annotations

from typing import Any

import numpy as np

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
