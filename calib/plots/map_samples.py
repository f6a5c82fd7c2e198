"""Many maps of one method in a small square: draws of a prior, or fits to replicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import draw_line
from calib.plots.lines import Curve, draw_curves
from calib.plots.style import FRAME, Style, fade, quiet, set_x, set_y, three_digits

SIDE = 260
"""Pixels of the plot's height."""
_PAD = (-0.02, 1.02)


def sampled_maps(
    x: Floats,
    maps: Floats,
    style: Style,
    title: str,
    across: str,
    references: Sequence[tuple[str, Floats, Style]] = (),
) -> go.Figure:
    """Draw maps thinly, and over them what is known of them: bounds, a posterior, or the truth.

    Parameters
    ----------
    x : (m,) places of the scores, from 0 to 1.
    maps : (n, m) probabilities; n may be 0.
    style : of the method.
    title, across : of the figure, and of its horizontal axis.
    references : name, (m,) probabilities and style of further lines.
    """
    fig = go.Figure()
    gap = np.full((len(maps), 1), np.nan)
    draw_line(
        fig,
        np.tile(np.r_[x, np.nan], len(maps)),
        np.hstack([maps, gap]).ravel().round(4),
        Style(fade(style.color, 0.9 if len(maps) <= 20 else 0.25)),
        width=0.8,
    )
    curves = [Curve(name, look, x, probs, width=3) for name, probs, look in references]
    draw_curves(fig, curves, ("place", "probability"))
    middle = len(x) // 2
    every = np.concatenate([maps[:, middle], [probs[middle] for _, probs, _ in references]])
    alt = (
        f"{title}: {len(maps)} maps; in the middle from {three_digits(every.min())} "
        f"to {three_digits(every.max())}."
    )
    quiet(fig, FRAME + SIDE, alt=alt, title=title, left=44)
    set_x(fig, range=_PAD, title_text=across, nticks=5)
    set_y(fig, range=_PAD, title_text="probability", nticks=5)
    return fig
