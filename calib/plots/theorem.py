"""Figures of Theorem 1 of Wenger et al. 2020: the confidence gap is below every calibration error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.evaluation.view import TOP_LABEL, View
from calib.numerics import Floats
from calib.plots.annotations import carry, draw_line, draw_marks, spread, write
from calib.plots.axes import log_axis
from calib.plots.over_under import Row
from calib.plots.rows import DROP, RowLabel, frame_rows
from calib.plots.style import (
    DOTTED,
    Style,
    colored,
    fade,
    label,
    one_each,
    plain,
    quiet,
    set_x,
    set_y,
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


_LABEL_PIXELS, _LONGEST_NAME = 17, 20


def over_under_plane(rows: Sequence[Row], view: View = TOP_LABEL) -> go.Figure:
    """u P(right) against o P(wrong) of each method, with faint lines from the raw model.

    The axes are weighted so that one diagonal serves methods of any accuracy: a method's vertical distance from it is
    the gap that no calibration error is below. On the diagonal, nearer to the origin means that confidence tells right
    from wrong predictions better.

    Parameters
    ----------
    rows : methods, the first of which the lines start from.
    view : whose words are used.
    """
    fig = go.Figure()
    under = np.array([result.weighted_under for _, result, _ in rows])
    over = np.array([result.weighted_over for _, result, _ in rows])
    end = 1.08 * max(float(under.max(initial=0.01)), float(over.max(initial=0.01)))
    draw_line(fig, [0, end], [0, end], DOTTED, width=1.5)
    # Where a point is in the corner, its word moves towards the middle.
    high = 0.86 if np.any((over > 0.85 * end) & (under < 0.4 * end)) else 0.98
    low = 0.14 if np.any((under > 0.55 * end) & (over < 0.15 * end)) else 0.02
    write(fig, view.too_high, 0.02, high, xref="paper", yref="paper", xanchor="left", yanchor="top")
    write(fig, view.too_low, 0.98, low, xref="paper", yref="paper", xanchor="right", yanchor="bottom")
    for i, (name, result, style) in enumerate(rows):
        x, y, gap = under[i], over[i], result.gap
        draw_line(fig, [under[0], x], [over[0], y], Style(fade(style.color, 0.45)), width=2)
        told = carry(
            f"{plain(name)}<br>o·{view.p_wrong} {{over_times_p_wrong:.3r}}, u·{view.p_right}"
            " {under_times_p_right:.3r}<br>gap {gap:+.2r} ({gap_low:+.2r} to {gap_high:+.2r})",
            under_times_p_right=[x], over_times_p_wrong=[y], gap=[gap.value], gap_low=[gap.low], gap_high=[gap.high],
        )  # fmt: skip
        draw_marks(fig, [x], [y], style, name, told, size=11)
    gaps = one_each({name: three_digits(result.gap.value) for name, result, _ in rows})
    alt = f"Weighted {view.overconfidence} against {view.underconfidence}; gaps to the diagonal: {gaps}."
    longest = max((len(name) for name, _, _ in rows), default=0)
    right = 26 + 7 * min(longest, _LONGEST_NAME)
    quiet(fig, HEIGHT, alt=alt, title="The gap is the distance to the diagonal", left=64, right=right)
    pixels = fig.layout.height - fig.layout.margin.t - fig.layout.margin.b
    places = spread(over, _LABEL_PIXELS / pixels * end, 0.0, end)
    for (name, _, style), x, y, place in zip(rows, under, over, places, strict=True):
        draw_line(fig, [x, end], [y, place], Style(fade(style.color, 0.35)), width=1)
        write(fig, label(name, _LONGEST_NAME), 1, place, color=style.color, xref="paper", xshift=4, xanchor="left",
              yanchor="middle")  # fmt: skip
    set_x(fig, range=[0, end], nticks=5, showgrid=True, title_text=f"{view.under_axis}·{view.p_right}")
    set_y(fig, range=[0, end], nticks=5, title_text=f"{view.over_axis}·{view.p_wrong}", title_standoff=12)
    return fig
