"""How tests find the parts of a figure."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go


def traces(fig: go.Figure, name: str) -> list[Any]:
    """The traces of a figure that have this name."""
    return [trace for trace in fig.data if trace.name == name]


def contrast(first: str, second: str) -> float:
    """Contrast of two colours ``#rrggbb`` (WCAG 2.2), from 1 to 21."""
    low, high = sorted(_luminance(color) for color in (first, second))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
