"""Theorem 1 of Wenger et al. 2020 as a picture: the confidence gap is below every calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.plots.data import carry
from calib.plots.rows import frame_rows
from calib.plots.style import Style, fade, plain, three_digits

if TYPE_CHECKING:
    from calib.over_under import TheoremOne

_LEFT_END = 1e-4
_TICKS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1)
_LINKS = ("|o·P(wrong) − u·P(right)|", "ECE₁", "ECE₂", "ECE∞")


def theorem_chain(chains: Sequence[tuple[str, TheoremOne, Style]], title: str = "") -> go.Figure:
    """The bound as four marks in a row per method, none to the left of the one before.

    The method's own marker is the gap; the ticks 1, 2 and ∞ are the calibration errors. The axis is
    logarithmic because the errors differ by factors; a value below 0.0001 is drawn at its end.

    Parameters
    ----------
    chains : (title, theorem, style) of each method.
    """
    fig = go.Figure()
    for place, (name, theorem, style) in enumerate(chains):
        values = np.array([theorem.gap, theorem.ece_1, theorem.ece_2, theorem.ece_inf])
        x = np.maximum(values, _LEFT_END)
        fig.add_scatter(
            x=x, y=np.full(4, place), name=name, mode="lines+markers+text",
            line={"color": fade(style.color, 0.45), "width": 3},
            marker={"color": style.color, "symbol": [style.symbol] + 3 * ["line-ns-open"], "size": [11, 12, 12, 12],
                    "line_width": 2, "opacity": 1},
            text=["", "1", "2", "∞"], textposition="top center",
            **carry(quantity=np.array(_LINKS), value=values),
            hovertemplate=f"{plain(name)}<br>%{{customdata[0]}} = %{{customdata[1]:.3r}}<extra></extra>",
        )  # fmt: skip
    said = "; ".join(
        f"{name} {three_digits(t.gap)} ≤ {three_digits(t.ece_1)} ≤ {three_digits(t.ece_2)} ≤ {three_digits(t.ece_inf)}"
        for name, t, _ in chains
    )
    frame_rows(fig, [name for name, _, _ in chains], alt=f"{' ≤ '.join(_LINKS)}. {said}.", title=title, pixels=46)
    lowest = min((max(t.gap, _LEFT_END) for _, t, _ in chains), default=_LEFT_END)
    highest = max((t.ece_inf for _, t, _ in chains), default=1.0)
    fig.update_xaxes(
        type="log", range=[np.log10(lowest) - 0.12, np.log10(max(highest, 2 * lowest)) + 0.12],
        tickvals=_TICKS, ticktext=[f"{tick:g}" for tick in _TICKS],
        title_text=" ≤ ".join(_LINKS),
    )  # fmt: skip
    return fig
