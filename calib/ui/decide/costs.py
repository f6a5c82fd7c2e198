"""What is saved, in words."""

from __future__ import annotations

from calib.formatting import number, with_interval
from calib.metrics.bootstrap import Interval


def on_costs(saved: Interval, unit: str, part: str = "") -> str:
    """Whether a new rule saves costs or adds to them, as the end of "it ...", always with positive numbers.

    Parameters
    ----------
    saved : cost by the old rule minus that by the new one, with its interval.
    unit : what the costs are of, such as "a case".
    part : after the number, such as ", 12 %".
    """
    value, low, high = saved
    if low <= 0.0 <= high:
        return f"has an **undecided** effect on costs (saved {with_interval(saved)} {unit})"
    near, far = sorted((abs(low), abs(high)))
    word = "saves" if value > 0 else "adds"
    return f"**{word} {number(abs(value))}** ({number(near)} to {number(far)}) {unit}{part}"
