"""How tests find the parts of a figure."""

from __future__ import annotations

import re
from typing import Any

import plotly.graph_objects as go


def words(fig: go.Figure) -> list[str]:
    """What is written in a figure, as plotly's HTML without colours."""
    return [re.sub(r"<span[^>]*>|</span>", "", note.text) for note in fig.layout.annotations]


def traces(fig: go.Figure, name: str) -> list[Any]:
    """The traces of a figure that have this name."""
    return [trace for trace in fig.data if trace.name == name]
