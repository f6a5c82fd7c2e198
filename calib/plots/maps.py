"""Figures of calibration maps of one class with the posterior of one, and of their means at both ends of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats, Ints, sigmoid
from calib.plots.annotations import carry, explain_open, fill_between, label_line_ends, whiskers, write
from calib.plots.axes import PROBABILITY_ENDS, Scale, on_scale, probability_axis
from calib.plots.rows import DROP, RowLabel, frame_labelled_rows, line_through_rows
from calib.plots.style import (
    GUIDE,
    NEUTRAL,
    TRUTH,
    Limits,
    Style,
    colored,
    fade,
    key_entry,
    overlapping,
    plain,
    quiet,
    set_layout,
    set_x,
    shorten,
    three_digits,
)

if TYPE_CHECKING:
    from calib.calibrators.bayes_iso import BayesIsoMap
    from calib.diagnostics.calibration_maps import ClassFrequencies
    from calib.diagnostics.class_rows import Place, ScoreAxis
    from calib.metrics.bootstrap import Interval


TITLES: dict[Place, str] = {
    "rank": "score ranks (share of calibration rows below)",
    "log_odds": "log-odds of the raw model",
    "probability": "probability of the raw model",
}
_LOWS = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 1e-4, 3e-5, 1e-5)
_NEAR = 0.0001


def axis_ticks(axis: ScoreAxis) -> dict[str, Any]:
    """Range and ticks of an axis of scores in plotly's names."""
    low, high = axis.limits
    if axis.kind == "rank":
        return {"range": [low, high], "tickformat": ".0%", "dtick": 0.25, "tick0": 0}
    return {"range": [low, high], "nticks": 9}


def probability_text(prob: float) -> str:
    """A probability in three significant digits, near 1 as what is missing to it: 0.0132, 1 − 0.00027, < 0.0001."""
    if 0 < prob < _NEAR:
        return f"< {_NEAR:g}"
    if 0 < 1 - prob < _NEAR:
        return f"> 1 − {_NEAR:g}"
    return f"1 − {1 - prob:.2g}" if 0 < 1 - prob < 0.001 else three_digits(prob)


def logit_limits(probs: Floats) -> Limits:
    """Symmetric ends of a logit-scaled axis that hold most of the probabilities but no exact 0 or 1."""
    inside = probs[(probs > 0) & (probs < 1)]
    nearest = float(np.quantile(np.minimum(inside, 1 - inside), 0.02)) if inside.size else _LOWS[0]
    low = next((end for end in _LOWS if end <= nearest), _LOWS[-1])
    return low, 1 - low


BAND, BOUNDS, SAMPLES = "band", "bounds", "samples"
POSTERIOR = frozenset({BAND})
"""What is drawn unless something else is asked for."""
POSITIVE = "#0072B2"
"""Of rows whose label is the class."""
_STEPS = 0.5
"""A map that is level between more than this share of its points is drawn in steps."""
_MAPS = (0.26, 1.0)
_DENSITY = (0.0, 0.17)


@dataclass(frozen=True, eq=False)
class MapLine:
    """One method's map: its short name, its style, and (n,) probabilities at the picture's scores.

    Venn-Abers' pair of probabilities, if the method has one, is drawn as two thin lines around the map.
    """

    name: str
    style: Style
    probs: Floats
    pair: tuple[Floats, Floats] | None = None


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
    positives: Ints
    others: Ints
    truth: Floats | None = None


def calibration_maps(
    picture: MapPicture,
    lines: Sequence[MapLine],
    scale: Scale = "linear",
    posterior: tuple[BayesIsoMap, Style] | None = None,
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
        _draw_posterior(fig, *posterior, parts, picture.axis, scale, limits)
    _draw_frequencies(fig, picture, scale, limits)
    ends = []
    x = picture.axis.place(picture.log_odds)
    if picture.truth is not None:
        ends.append(_draw_line(fig, picture, "truth", picture.truth, x, scale, limits,
                               {"color": fade(TRUTH, 0.5), "width": 8}, TRUTH))  # fmt: skip
    for line in lines:
        shape = "hvh" if np.mean(np.diff(line.probs) == 0) > _STEPS else "linear"
        look = {"color": line.style.color, "dash": line.style.dash, "width": 2, "shape": shape}
        for name, probs in zip(("p0", "p1"), line.pair or (), strict=False):
            thin = {"color": line.style.color, "dash": "dot", "width": 1, "shape": "hvh"}
            _draw_line(fig, picture, f"{line.name} {name}", probs, x, scale, limits, thin, line.style.color)
        ends.append(_draw_line(fig, picture, line.name, line.probs, x, scale, limits, look, line.style.color))
    _draw_scores(fig, picture)
    quiet(fig, height, alt=_alt(picture, lines), title=title)
    set_layout(
        fig,
        xaxis={**axis_ticks(picture.axis), "anchor": "y2", "title_text": TITLES[picture.axis.kind]},
        yaxis={
            **probability_axis(scale, limits, 0.02),
            "domain": _MAPS,
            "title_text": f"probability of {_short(picture)}",
        },
        yaxis2={"domain": _DENSITY, "anchor": "x", "range": [0, 1.1], "visible": False, "fixedrange": True},
    )
    low, high = on_scale(np.array(limits), scale, limits)
    label_line_ends(fig, ends, (float(low), float(high)))
    return fig


def _short(picture: MapPicture) -> str:
    name = picture.class_name
    return plain(shorten(name, 24))


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


def _draw_posterior(
    fig: go.Figure,
    posterior: BayesIsoMap,
    style: Style,
    parts: frozenset[str],
    axis: ScoreAxis,
    scale: Scale,
    limits: Limits,
) -> None:
    """Draw the chosen parts behind the maps.

    Parameters
    ----------
    posterior, style : of one Bayes-Iso.
    parts : of "band", "bounds" and "samples".
    axis, scale, limits : of the figure.
    """
    x = axis.place(posterior.log_odds)
    color = style.color
    if BAND in parts:
        low, high = (on_scale(end, scale, limits) for end in (posterior.low, posterior.high))
        fill_between(fig, x, low, high, fade(color, 0.2))
    if SAMPLES in parts:
        # One trace with gaps: plotly is slow with many.
        gap = np.full((len(posterior.samples), 1), np.nan)
        across = np.concatenate([np.broadcast_to(x, posterior.samples.shape), gap], axis=1)
        up = np.concatenate([on_scale(posterior.samples, scale, limits), gap], axis=1)
        fig.add_scatter(
            x=across.ravel(), y=up.ravel(), mode="lines", line={"color": fade(color, 0.35), "width": 1},
            hoverinfo="skip",
        )  # fmt: skip
    if BOUNDS in parts:
        for name, end in (("lower bound", posterior.lower_bound), ("upper bound", posterior.upper_bound)):
            fig.add_scatter(
                x=x, y=on_scale(end, scale, limits), name=name, mode="lines",
                line={"color": color, "width": 1.4, "dash": "dot"}, **carry(log_odds=posterior.log_odds, bound=end),
                hovertemplate=f"{name} %{{customdata[1]:.3r}}<extra></extra>",
            )  # fmt: skip
    if BAND in parts:
        fig.add_scatter(
            x=x, y=on_scale(posterior.mean, scale, limits), name="posterior", mode="markers",
            marker={"size": 9, "color": "rgba(0,0,0,0)"},
            **carry(log_odds=posterior.log_odds, mean=posterior.mean, low=posterior.low, high=posterior.high),
            hovertemplate="posterior mean %{customdata[1]:.3r}<br>90 %: %{customdata[2]:.3r} to %{customdata[3]:.3r}"
            "<extra></extra>",
        )  # fmt: skip


def _draw_frequencies(fig: go.Figure, picture: MapPicture, scale: Scale, limits: Limits) -> None:
    seen = picture.frequencies
    y, low, high = (on_scale(part, scale, limits) for part in (seen.frequency, seen.low, seen.high))
    beyond = (seen.frequency < limits[0]) | (seen.frequency > limits[1])
    fig.add_scatter(
        x=picture.axis.place(seen.log_odds), y=y, name="frequency", mode="markers",
        marker={"color": NEUTRAL, "size": 8, "symbol": np.where(beyond, "circle-open", "circle").tolist()},
        error_y=whiskers(y, low, high, NEUTRAL, 1.5, width=3),
        **carry(log_odds=seen.log_odds, frequency=seen.frequency, low=seen.low, high=seen.high, rows=seen.count,
                positives=seen.positives),
        hovertemplate=f"%{{customdata[5]:,d}} of %{{customdata[4]:,d}} {picture.rows} rows are {_short(picture)}"
        "<br>%{customdata[1]:.3r} (95 %: %{customdata[2]:.3r} to %{customdata[3]:.3r})<extra></extra>",
    )  # fmt: skip
    explain_open(fig, beyond)


def _draw_scores(fig: go.Figure, picture: MapPicture) -> None:
    groups = (("other rows", picture.others, NEUTRAL), ("rows of the class", picture.positives, POSITIVE))
    for name, counts, color in groups:
        fig.add_bar(
            x=(picture.cells[1:] + picture.cells[:-1]) / 2, y=counts / max(float(counts.max()), 1.0),
            width=np.diff(picture.cells), yaxis="y2", name=name, marker=overlapping(color),
            **carry(low=picture.cells[:-1], high=picture.cells[1:], rows=counts),
            hovertemplate=f"{name}: %{{customdata[2]:,d}}<br>from %{{customdata[0]:.3r}} to %{{customdata[1]:.3r}}"
            "<extra></extra>",
        )  # fmt: skip
    positives, others = int(picture.positives.sum()), int(picture.others.sum())
    write(
        fig,
        f"{colored('■', POSITIVE)} {positives:,} {_short(picture)}   {key_entry('■', f'{others:,} others', NEUTRAL)}",
        0, 1.02, size=11, xref="paper", xanchor="left", yref="y2 domain", yanchor="bottom",
    )  # fmt: skip
    fig.add_hline(y=0, yref="y2", line={"color": GUIDE, "width": 1})


def _alt(picture: MapPicture, lines: Sequence[MapLine]) -> str:
    seen = picture.frequencies
    means = "; ".join(
        f"{line.name} from {line.probs[0]:.3g} to {line.probs[-1]:.3g}"
        + (f" with a pair of lines up to {np.max(line.pair[1] - line.pair[0]):.2g} apart" if line.pair else "")
        for line in lines
    )
    return (
        f"Calibration maps of {picture.class_name} over its {TITLES[picture.axis.kind]}, with frequencies of"
        f" {int(seen.count.sum()):,} {picture.rows} rows in {len(seen.count)} bins: {means}."
    )


@dataclass(frozen=True)
class EndRow:
    """One method at one end: its mean probability there, and the verdict in a word or two."""

    name: str
    style: Style
    mean: float
    verdict: str


def end_rows(rows: Sequence[EndRow], share: Interval, n_rows: int, title: str = "") -> go.Figure:
    """Mean probabilities as dots over the interval of the share they should equal (Allikivi and Kull 2019, figure 3).

    Parameters
    ----------
    rows : methods.
    share : of the rows at this end whose label is the class, with its interval.
    n_rows : how many rows that is.
    """
    fig = go.Figure()
    middle = (len(rows) - 1) / 2 + DROP
    fig.add_shape(
        type="rect", x0=share.low, x1=share.high, y0=-0.5, y1=len(rows) - 0.5, line_width=0,
        fillcolor=fade(NEUTRAL, 0.18), layer="below",
    )  # fmt: skip
    line_through_rows(fig, share.value, len(rows), NEUTRAL)
    fig.add_scatter(
        x=[share.value], y=[middle], name="share", mode="markers", marker={"color": "rgba(0,0,0,0)", "size": 14},
        **carry(value=[share.value], low=[share.low], high=[share.high], rows=[n_rows]),
        hovertemplate="%{customdata[0]:.3r} of %{customdata[3]:,d} rows (95 %: %{customdata[1]:.3r} to"
        " %{customdata[2]:.3r})<extra></extra>",
    )  # fmt: skip
    for place, row in enumerate(rows):
        fig.add_scatter(
            x=[row.mean], y=[place + DROP], name=row.name, mode="markers",
            marker={"color": row.style.color, "symbol": row.style.symbol, "size": 10},
            **carry(value=[row.mean]),
            hovertemplate=f"{plain(row.name)} says %{{customdata[0]:.3r}} on average<br>{row.verdict}<extra></extra>",
        )  # fmt: skip
    labels = [RowLabel(row.name, f"{probability_text(row.mean)}, {row.verdict}", row.style.color) for row in rows]
    said = "; ".join(f"{label.name} {label.note}" for label in labels)
    frame_labelled_rows(fig, labels, title=title, alt=(
        f"{title}: {three_digits(share.value)} of {n_rows:,} rows ({three_digits(share.low)} to"
        f" {three_digits(share.high)}) are of the class. {said}."
    ))  # fmt: skip
    values = np.array([share.low, share.high, *(row.mean for row in rows)])
    pad = 0.06 * max(float(np.ptp(values)), 1e-6)
    set_x(fig, range=[values.min() - pad, values.max() + pad], nticks=5,
                     title_text="mean probability   (| share of the class, band 95 %)")  # fmt: skip
    return fig
