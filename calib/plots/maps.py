"""Calibration maps over the scores of one class, with what the labels say behind them and the scores beneath."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats, sigmoid
from calib.plots.annotations import label_line_ends
from calib.plots.axes import PROBABILITY_ENDS, Scale, on_scale
from calib.plots.data import carry
from calib.plots.layout import set_layout
from calib.plots.maps_axes import ScoreAxis, logit_limits, probability_ticks
from calib.plots.maps_posterior import POSTERIOR, draw_posterior
from calib.plots.overlay import label_margin
from calib.plots.style import FRAME, GUIDE, NEUTRAL, Limits, Style, fade, plain, quiet

if TYPE_CHECKING:
    from calib.diagnostics.calibration_maps import CalibrationMap
    from calib.diagnostics.class_frequencies import ClassFrequencies

N_CELLS = 60
TRUTH_COLOR = "rgba(128,132,150,.5)"
_MAPS = (0.26, 1.0)
_DENSITY = (0.0, 0.17)


@dataclass(frozen=True, eq=False)
class MapLine:
    """One method's map: its short name, its style, and (n,) probabilities at the picture's scores."""

    name: str
    style: Style
    probs: Floats


@dataclass(frozen=True, eq=False)
class MapPicture:
    """What all maps of one class share.

    Attributes
    ----------
    class_name : whose probability it is.
    axis : how scores are placed.
    log_odds : (n,) increasing scores at which the lines are given.
    frequencies : of the class, in bins.
    rows : what the frequencies are counted on, such as "test".
    cells : (m + 1,) edges on the axis of the histogram beneath.
    positives, others : (m,) its pairs.
    truth : (n,) the true probabilities, where they are known.
    """

    class_name: str
    axis: ScoreAxis
    log_odds: Floats
    frequencies: ClassFrequencies
    rows: str
    cells: Floats
    positives: Floats
    others: Floats
    truth: Floats | None = None


def calibration_maps(
    picture: MapPicture,
    lines: Sequence[MapLine],
    scale: Scale = "linear",
    posterior: tuple[CalibrationMap, Style] | None = None,
    parts: frozenset[str] = POSTERIOR,
    title: str = "",
    height: int = 560,
) -> go.Figure:
    """All maps over one another (Allikivi and Kull 2019, figures 1, 4, 5 and 6).

    Parameters
    ----------
    lines : the maps, each with its name at its right end.
    scale : of the probabilities; "logit" gives those near 0 and 1 their room.
    posterior : of a Bayes-Iso among the lines, with its style.
    parts : which parts of the posterior are drawn, of ``POSTERIOR``.
    """
    limits = PROBABILITY_ENDS if scale == "linear" else logit_limits(_shown(picture, lines))
    fig = go.Figure()
    if posterior is not None:
        draw_posterior(fig, *posterior, parts, picture.axis, scale, limits)
    _draw_frequencies(fig, picture, scale, limits)
    ends = []
    x = picture.axis.place(picture.log_odds)
    if picture.truth is not None:
        ends.append(_draw_line(fig, picture, "truth", picture.truth, x, scale, limits,
                               {"color": TRUTH_COLOR, "width": 8}, NEUTRAL))  # fmt: skip
    for line in lines:
        look = {"color": line.style.color, "dash": line.style.dash, "width": 2}
        ends.append(_draw_line(fig, picture, line.name, line.probs, x, scale, limits, look, line.style.color))
    _draw_scores(fig, picture)
    quiet(fig, height, alt=_alt(picture, lines), title=title, right=label_margin([name for name, _, _ in ends]))
    span = on_scale(np.array(limits), scale, limits)
    label_line_ends(fig, ends, (float(span[0]), float(span[1])), (height - FRAME) * (_MAPS[1] - _MAPS[0]))
    set_layout(
        fig,
        xaxis={**picture.axis.ticks(), "anchor": "y2", "title_text": picture.axis.title},
        yaxis={**probability_ticks(scale, limits), "domain": _MAPS, "title_text": f"probability of {_short(picture)}"},
        yaxis2={"domain": _DENSITY, "anchor": "x", "range": [0, 1.1], "visible": False, "fixedrange": True},
    )
    return fig


def _short(picture: MapPicture) -> str:
    name = picture.class_name
    return plain(name if len(name) <= 24 else name[:23] + "…")


def _shown(picture: MapPicture, lines: Sequence[MapLine]) -> Floats:
    seen = picture.frequencies
    return np.concatenate([seen.frequency, *(line.probs for line in lines)])


def _draw_line(
    fig: go.Figure, picture: MapPicture, name: str, probs: Floats, x: Floats, scale: Scale, limits: Limits,
    look: dict, color: str,
) -> tuple[str, float, str]:  # fmt: skip
    """Draw one map; returns what its label needs."""
    y = on_scale(probs, scale, limits)
    fig.add_scatter(
        x=x, y=y, name=name, mode="lines", line=look,
        **carry(log_odds=picture.log_odds, raw_probability=sigmoid(picture.log_odds), probability=probs),
        hovertemplate=f"{plain(name)}: %{{customdata[2]:.3r}}<br>raw %{{customdata[1]:.3r}} (log-odds"
        " %{customdata[0]:.3r})<extra></extra>",
    )  # fmt: skip
    inside = np.flatnonzero(x <= picture.axis.limits[1])
    return name, float(y[inside[-1] if len(inside) else 0]), color


def _draw_frequencies(fig: go.Figure, picture: MapPicture, scale: Scale, limits: Limits) -> None:
    seen = picture.frequencies
    y, low, high = (on_scale(part, scale, limits) for part in (seen.frequency, seen.low, seen.high))
    beyond = (seen.frequency < limits[0]) | (seen.frequency > limits[1])
    fig.add_scatter(
        x=picture.axis.place(seen.log_odds), y=y, name="frequency", mode="markers",
        marker={"color": NEUTRAL, "size": 8, "symbol": np.where(beyond, "circle-open", "circle").tolist()},
        error_y={"type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low,
                 "color": fade(NEUTRAL, 0.75), "thickness": 1.5, "width": 3},
        **carry(log_odds=seen.log_odds, frequency=seen.frequency, low=seen.low, high=seen.high, rows=seen.count,
                positives=seen.positives),
        hovertemplate=f"%{{customdata[5]:,d}} of %{{customdata[4]:,d}} {picture.rows} rows are {_short(picture)}"
        "<br>%{customdata[1]:.3r} (95 %: %{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
    )  # fmt: skip


def _draw_scores(fig: go.Figure, picture: MapPicture) -> None:
    groups = (("other rows", picture.others, NEUTRAL, 0.45), ("rows of the class", picture.positives, "#0072B2", 0.6))
    for name, counts, color, alpha in groups:
        fig.add_bar(
            x=(picture.cells[1:] + picture.cells[:-1]) / 2, y=counts / max(float(counts.max()), 1.0),
            width=np.diff(picture.cells), yaxis="y2", name=name, marker={"color": fade(color, alpha), "line_width": 0},
            **carry(low=picture.cells[:-1], high=picture.cells[1:], rows=counts),
            hovertemplate=f"{name}: %{{customdata[2]:,d}}<br>from %{{customdata[0]:.3r}} to %{{customdata[1]:.3r}}"
            "<extra></extra>",
        )  # fmt: skip
    positives, others = int(picture.positives.sum()), int(picture.others.sum())
    fig.add_annotation(
        text=f'<span style="color:#0072B2">■ {positives:,} {_short(picture)}</span>   '
        f'<span style="color:{NEUTRAL}">■ {others:,} others</span>',
        x=0, xref="paper", xanchor="left", y=1.02, yref="y2 domain", yanchor="bottom", showarrow=False,
        font={"size": 11},
    )  # fmt: skip
    fig.add_hline(y=0, yref="y2", line={"color": GUIDE, "width": 1})


def _alt(picture: MapPicture, lines: Sequence[MapLine]) -> str:
    seen = picture.frequencies
    means = "; ".join(f"{line.name} from {line.probs[0]:.3g} to {line.probs[-1]:.3g}" for line in lines)
    return (
        f"Calibration maps of {picture.class_name} over its {picture.axis.title}, with frequencies of"
        f" {int(seen.count.sum()):,} {picture.rows} rows in {len(seen.count)} bins: {means}."
    )
