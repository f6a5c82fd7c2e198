"""Theorem 1 of Wenger et al. 2020 as a picture: the confidence gap is below every calibration error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats
from calib.plots.annotations import label_line_ends
from calib.plots.data import carry
from calib.plots.labelled_rows import DROP, RowLabel, frame_labelled_rows
from calib.plots.layout import set_x, set_y
from calib.plots.log_axis import log_axis
from calib.plots.style import FRAME, GUIDE, Style, fade, plain, quiet, three_digits

if TYPE_CHECKING:
    from calib.diagnostics.theorem import TheoremOne

_LEFT_END = 1e-4
LINKS = ("gap", "ECE₁", "ECE₂", "ECE∞")
_SYMBOLS = ("", "1", "2", "∞")
_TOUCHING = 0.03
"""Marks nearer than this share of the axis have one label."""
SWEEP_HEIGHT = 400


def theorem_chain(chains: Sequence[tuple[str, TheoremOne, Style]], title: str = "") -> go.Figure:
    """The bound as four marks in a row per method, none to the left of the one before.

    The method's own marker is the gap; the ticks 1, 2 and ∞ are the calibration errors. The axis is
    logarithmic because the errors differ by factors; a value below 0.0001 is drawn at its end.

    Parameters
    ----------
    chains : (title, theorem, style) of each method.
    """
    lowest = min((max(theorem.gap, _LEFT_END) for _, theorem, _ in chains), default=_LEFT_END)
    highest = max((theorem.ece_inf for _, theorem, _ in chains), default=1.0)
    low, high = np.log10(lowest) - 0.12, np.log10(max(highest, 2 * lowest)) + 0.12
    fig = go.Figure()
    texts: list[dict[str, Any]] = []
    for place, (name, theorem, style) in enumerate(chains):
        x = np.maximum(theorem.chain, _LEFT_END)
        fig.add_scatter(
            x=x, y=np.full(4, place + DROP), name=name, mode="lines+markers",
            line={"color": fade(style.color, 0.45), "width": 3},
            marker={"color": style.color, "symbol": [style.symbol] + 3 * ["line-ns-open"], "size": [11, 12, 12, 12],
                    "line_width": 2, "opacity": 1},
            **carry(quantity=np.array(LINKS), value=theorem.chain),
            hovertemplate=f"{plain(name)}<br>%{{customdata[0]}} = %{{customdata[1]:.3r}}<extra></extra>",
        )  # fmt: skip
        texts += [
            {"text": text, "x": at, "y": place + DROP, "yshift": -13, "showarrow": False,
             "font": {"size": 11, "color": style.color}}
            for text, at in _tick_labels(np.log10(x), _TOUCHING * (high - low))
        ]  # fmt: skip
    fig.layout.annotations = texts
    said = "; ".join(f"{name} {' ≤ '.join(map(three_digits, theorem.chain))}" for name, theorem, _ in chains)
    labels = [RowLabel(name, _side(theorem), style.color) for name, theorem, style in chains]
    frame_labelled_rows(fig, labels, alt=f"{' ≤ '.join(LINKS)}. {said}.", title=title, pixels=50)
    set_x(fig, **log_axis(low, high), title_text=" ≤ ".join(LINKS))
    return fig


def theorem_lines(chains: Mapping[int, TheoremOne], style: Style, n_bins: int, title: str = "") -> go.Figure:
    """The chain of one method for few to many bins: from one bin, where all are equal, the errors rise off the gap.

    What is shaded lies below the gap, where no calibration error can be. Both axes are logarithmic.

    Parameters
    ----------
    chains : number of bins -> theorem, increasing.
    style : of the method.
    n_bins : number of bins to mark.
    title : heading.
    """
    numbers = np.array(list(chains))
    values = np.array([theorem.chain for theorem in chains.values()])
    x, y = np.log10(numbers), np.log10(np.maximum(values, _LEFT_END))
    low, high = y[0, 0] - 0.25, max(float(y.max()), y[0, 0] + 0.3) + 0.05
    fig = go.Figure()
    fig.add_vline(x=float(np.log10(n_bins)), line={"color": GUIDE, "width": 1, "dash": "dot"})
    fig.add_hrect(y0=low, y1=y[0, 0], fillcolor=fade(style.color, 0.12), line_width=0, layer="below")
    for i, (name, dash) in enumerate(zip(LINKS, ("solid", "solid", "dash", "dot"), strict=True)):
        fig.add_scatter(
            x=x, y=y[:, i], name=name, mode="lines" if i else "lines+markers",
            line={"color": style.color, "width": 2 if i else 3, "dash": dash},
            marker={"symbol": style.symbol, "size": 7},
            **carry(n_bins=numbers, value=values[:, i]),
            hovertemplate=f"{name} %{{customdata[1]:.3r}}<br>%{{customdata[0]:,d}} bins<extra></extra>",
        )  # fmt: skip
    first, last = chains[min(chains)], chains[max(chains)]
    alt = (
        f"The gap {three_digits(first.gap)} stays below ECE 1, 2 and infinity for 1 to {max(chains)} bins; with"
        f" {max(chains)} they are {', '.join(map(three_digits, last.chain[1:]))}."
    )
    quiet(fig, SWEEP_HEIGHT, alt=alt, title=title, right=58)
    label_line_ends(
        fig, [(name, y[-1, i], style.color) for i, name in enumerate(LINKS)], (low, high), SWEEP_HEIGHT - FRAME
    )
    ticks = [number for number in (1, 3, 10, 30, 100) if number in chains]
    set_x(
        fig, range=[-0.05, x[-1] + 0.02], tickvals=np.log10(ticks), ticktext=[str(tick) for tick in ticks],
        title_text="number of bins",
    )  # fmt: skip
    set_y(fig, **log_axis(low, high, typed=False))
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


def _side(theorem: TheoremOne) -> str:
    """The gap with the side that it leans to."""
    if theorem.gap < 5e-5:
        return "gap 0.0000"
    word = "overconfident" if theorem.signed_gap > 0 else "underconfident"
    return f"gap {theorem.gap:.4f}, {word}"
