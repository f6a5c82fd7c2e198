"""How many classes prediction sets hold, of a few methods side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Ints
from calib.plots.data import carry
from calib.plots.style import Style, key_entry, plain, quiet, set_layout, set_x, set_y, shorten

MOST_BARS = 12
"""Sizes with a bar of their own; larger sets share the last one."""
_LONGEST_NAME = 24


def set_sizes(
    methods: Sequence[tuple[str, Ints, Style]], title: str = "", height: int = 330, most: int = MOST_BARS
) -> go.Figure:
    """Bars of the share of rows whose set holds 0, 1, 2, ... classes.

    Parameters
    ----------
    methods : (title, (n_classes + 1,) rows by the size of their set, style) of each.
    most : sizes from this one on share a bar.
    """
    fig = go.Figure()
    largest = max(int(np.flatnonzero(counts).max(initial=0)) for _, counts, _ in methods)
    last = min(largest, most)
    names = [*map(str, range(last)), f"{last} or more" if largest > last else str(last)]
    said = []
    for name, counts, style in methods:
        total = int(counts.sum())
        rows = np.append(counts[:last], counts[last:].sum())
        fig.add_bar(
            x=names, y=rows / total, name=name, marker={"color": style.color, "line": {"width": 0}},
            **carry(rows=rows, share=rows / total),
            hovertemplate=f"{plain(name)}<br>%{{x}} classes: %{{customdata[1]:.1%}} of rows (%{{customdata[0]:,d}})"
            "<extra></extra>",
        )  # fmt: skip
        mean = float(counts @ np.arange(len(counts))) / total
        said.append(f"{name} {mean:.2f} classes on average, {counts[1] / total:.1%} of sets with one class")
    quiet(fig, height, alt=f"Number of classes in prediction sets: {'; '.join(said)}.", title=title)
    keys = [key_entry("■", shorten(name, _LONGEST_NAME), style.color) for name, _, style in methods]
    set_x(fig, title={"text": f"classes in a set    {'   '.join(keys)}"}, type="category")
    set_y(fig, title={"text": "share of rows"}, tickformat=".0%", rangemode="tozero")
    set_layout(fig, barmode="group", bargap=0.25, bargroupgap=0.05)
    return fig
