"""Figure of Theorem 1 of Wenger et al. 2020: the confidence gap is below every calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats
from calib.plots.annotations import carry
from calib.plots.axes import log_axis
from calib.plots.rows import DROP, RowLabel, frame_rows
from calib.plots.style import (
    Style,
    colored,
    fade,
    one_each,
    plain,
    set_x,
    three_digits,
)

if TYPE_CHECKING:
    from calib.diagnostics.over_under import TheoremOne


_LEFT_END = 1e-4
LINKS = ("gap", "ECE₁", "ECE₂", "ECE∞")
_SYMBOLS = ("", "1", "2", "∞")
_TOUCHING = 0.03
"""Marks nearer than this share of the axis have one label."""
HEIGHT = 400


def theorem_chain(chains: Sequence[tuple[str, TheoremOne, Style]], view: View = TOP_LABEL) -> go.Figure:
    """The bound as four marks in a row per method, none to the left of the one before.

    The method's own marker is the gap; the ticks 1, 2 and ∞ are the calibration errors. The axis is
    logarithmic because the errors differ by factors; a value below 0.0001 is drawn at its end.

    Parameters
    ----------
    chains : (title, theorem, style) of each method.
    view : whose words are used.
    """
    lowest = min((max(theorem.gap, _LEFT_END) for _, theorem, _ in chains), default=_LEFT_END)
    highest = max((theorem.ece_inf for _, theorem, _ in chains), default=1.0)
    low, high = np.log10(lowest) - 0.12, np.log10(max(highest, 2 * lowest)) + 0.12
    fig = go.Figure()
    texts: list[dict[str, Any]] = []
    for place, (name, theorem, style) in enumerate(chains):
        x = np.maximum(theorem.chain, _LEFT_END)
        told = carry(f"{plain(name)}<br>{{quantity}} = {{value:.3r}}", quantity=np.array(LINKS), value=theorem.chain)
        fig.add_scatter(
            x=x, y=np.full(4, place + DROP), name=name, mode="lines+markers",
            line={"color": fade(style.color, 0.45), "width": 3},
            marker={"color": style.color, "symbol": [style.symbol] + 3 * ["line-ns-open"], "size": [11, 12, 12, 12],
                    "line_width": 2, "opacity": 1}, **told,
        )  # fmt: skip
        texts += [
            {"text": colored(text, style.color), "x": at, "y": place + DROP, "yshift": -13, "showarrow": False,
             "font": {"size": 11}}
            for text, at in _tick_labels(np.log10(x), _TOUCHING * (high - low))
        ]  # fmt: skip
    fig.layout.annotations = texts
    alt = one_each({name: " ≤ ".join(map(three_digits, theorem.chain)) for name, theorem, _ in chains})
    labels = [RowLabel(name, _side(theorem, view), style.color) for name, theorem, style in chains]
    frame_rows(fig, labels, alt=f"{' ≤ '.join(LINKS)}. {alt}.", title="The chain holds in every row", pixels=50)
    set_x(fig, **log_axis(low, high), title_text=" ≤ ".join(LINKS))
    return fig


def _tick_labels(places: Floats, touching: float) -> list[tuple[str, float]]:
    """(text, place) of the labels of the three calibration errors; marks that touch share one, in their middle."""
    clusters: list[list[int]] = []
    for i in (1, 2, 3):
        if clusters and places[i] - places[clusters[-1][-1]] < touching:
            clusters[-1].append(i)
        else:
            clusters.append([i])
    return [(" ".join(_SYMBOLS[i] for i in cluster), float(places[cluster].mean())) for cluster in clusters]


def _side(theorem: TheoremOne, view: View) -> str:
    """The gap and its sign in words."""
    if theorem.gap < 5e-5:
        return "gap 0.0000"
    word = view.too_high if theorem.signed_gap > 0 else view.too_low
    return f"gap {theorem.gap:.4f}, {word}"
