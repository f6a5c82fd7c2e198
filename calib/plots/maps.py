"""Figures of calibration maps of one class with the posterior of one, and of their means at both ends of the scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import plotly.graph_objects as go

from calib.numerics import Floats, Ints, sigmoid
from calib.plots.annotations import (
    Counted,
    carry,
    draw_counts,
    draw_frequencies,
    draw_marks,
    fill_between,
    label_line_ends,
)
from calib.plots.axes import on_scale, probability_axis, probability_limits, span
from calib.plots.lines import Curve, draw_curves
from calib.plots.rows import DROP, RowLabel, draw_row, frame_rows, line_through_rows
from calib.plots.style import (
    NEUTRAL,
    TRUTH,
    Limits,
    Style,
    fade,
    join_named,
    label,
    plain,
    quiet,
    set_layout,
    set_x,
    three_digits,
)

if TYPE_CHECKING:
    from calib.calibrators.bayes_iso import BayesIsoMap
    from calib.diagnostics.calibration_maps import Place, ScoreAxis
    from calib.diagnostics.histograms import Frequencies
    from calib.metrics.bootstrap import Interval


TITLES: dict[Place, str] = {
    "rank": "score ranks (share of calibration rows below)",
    "log_odds": "log-odds of the raw model",
    "probability": "probability of the raw model",
}
_NEAR = 0.0001


def probability_text(prob: float) -> str:
    """A probability in three significant digits, near 1 as what is missing to it: 0.0132, 1 − 0.00027, < 0.0001."""
    if 0 < prob < _NEAR:
        return f"< {_NEAR:g}"
    if 0 < 1 - prob < _NEAR:
        return f"> 1 − {_NEAR:g}"
    return f"1 − {1 - prob:.2g}" if 0 < 1 - prob < 0.001 else three_digits(prob)


POSITIVE = "#0072B2"
"""Of rows whose label is the class."""
_STEPS = 0.5
"""A map that is level between more than this share of its points is drawn in steps."""
_MAPS = (0.26, 1.0)
_ROWS = (0.0, 0.17)

MapScale = Literal["linear", "logit", "change"]
"""Scale of maps: of probabilities, or map minus raw probability in points."""


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
    """Parts that all maps of one class share.

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
    frequencies: Frequencies
    rows: str
    cells: Floats
    positives: Ints
    others: Ints
    truth: Floats | None = None


def calibration_maps(
    picture: MapPicture,
    lines: Sequence[MapLine],
    scale: MapScale = "linear",
    posterior: tuple[BayesIsoMap, Style] | None = None,
    height: int = 560,
) -> go.Figure:
    """Draw all maps over one another (Allikivi and Kull 2019, figures 1, 4, 5 and 6).

    Parameters
    ----------
    lines : the maps, each with its name at its right end.
    scale : "linear" or "logit" of the probabilities, or "change" for map minus raw probability in points.
    posterior : of a Bayes-Iso among the lines, with its style.
    """
    seen = picture.frequencies
    axis = picture.axis
    places = picture.axis.place(seen.score)
    # The axis leaves out the far tails of the scores, but no dot.
    across = min(axis.limits[0], float(places.min())), max(axis.limits[1], float(places.max()))
    x = axis.place(picture.log_odds)
    inside = (x >= across[0]) & (x <= across[1])
    levels = [(seen.frequency, seen.score)]
    levels += [(line.probs[inside], picture.log_odds[inside]) for line in lines]
    limits = _map_limits(levels, scale)
    up = partial(_map_place, scale=scale, limits=limits)
    fig = go.Figure()
    if posterior is not None:
        _draw_posterior(fig, *posterior, axis, across, up)
    hover = (
        f"{{positives:,d}} of {{rows:,d}} {picture.rows} rows are {plain(picture.class_name)}<br>{{frequency:.3r}}"
        " (95 %: {low:.3r} to {high:.3r})"
    )
    at_scores = partial(up, log_odds=seen.score)
    draw_frequencies(fig, seen, hover, "log_odds", places, at_scores, "frequency")
    at = picture.log_odds[inside]
    more = {"raw_probability": sigmoid(at)}

    def curve(name: str, probs: Floats, style: Style, width: float, shape: str) -> Curve:
        y = probs[inside]
        drawn = x[inside], up(y, at)
        return Curve(name, style, at, y, None, more, at=drawn, shape=shape, width=width)

    curves = []
    if picture.truth is not None:
        curves.append(curve("truth", picture.truth, Style(fade(TRUTH, 0.5)), 8, "linear"))
    for line in lines:
        steps = bool((np.diff(line.probs) == 0).mean() > _STEPS)
        thin = Style(line.style.color, line.style.symbol, "dot")
        for name, probs in zip(("p0", "p1"), line.pair or (), strict=False):
            curves.append(curve(f"{line.name} {name}", probs, thin, 1, "hvh"))
        shape = "hvh" if steps else "linear"
        curves.append(curve(line.name, line.probs, line.style, 2, shape))
    hover = "raw {raw_probability:.3r} (log-odds {log_odds:.3r})"
    ends = draw_curves(fig, curves, ("log_odds", "probability"), hover=hover)
    colors = {"truth": TRUTH} | {line.name: line.style.color for line in lines}
    ends = [(name, y, colors[name]) for name, y, _ in ends if name in colors]
    left = 72 if scale == "logit" else 52  # 0.000001 is long
    quiet(fig, height, alt=_alt(picture, lines), left=left)
    name = label(picture.class_name)
    groups = [
        Counted(name, picture.positives, POSITIVE, "rows of the class"),
        Counted("others", picture.others, NEUTRAL, "other rows"),
    ]
    draw_counts(
        fig, picture.cells, picture.cells, groups, TITLES[axis.kind], "y2", anchor="x", domain=_ROWS
    )
    ticks = (
        {"tickformat": ".0%", "dtick": 0.25, "tick0": 0} if axis.kind == "rank" else {"nticks": 6}
    )
    title_up = f"probability of {name}"
    if scale == "change":
        title_up = "map minus raw, points"
        vertical: dict[str, Any] = {"range": list(limits), "nticks": 7}
    else:
        vertical = probability_axis(scale, limits, 0.02)
    set_layout(
        fig,
        xaxis={"range": across, **ticks, "anchor": "y2", "title_text": TITLES[axis.kind]},
        yaxis={**vertical, "domain": _MAPS, "title_text": title_up},
    )
    label_line_ends(fig, ends, vertical["range"])
    return fig


def _map_place(probs: Floats, log_odds: Floats, scale: MapScale, limits: Limits) -> Floats:
    """Places of probabilities on the vertical axis, at scores in log-odds."""
    if scale == "change":
        return np.clip(100 * (probs - sigmoid(log_odds)), *limits)
    return on_scale(probs, scale, limits)


def _map_limits(levels: Sequence[tuple[Floats, Floats]], scale: MapScale) -> Limits:
    """Ends of the vertical axis, which hold all probabilities at their log-odds."""
    if scale == "change":
        return span(*(100 * (probs - sigmoid(at)) for probs, at in levels), pad=0.08, least=0.5)
    return probability_limits(np.concatenate([probs for probs, _ in levels]), scale)


def _draw_posterior(
    fig: go.Figure, posterior: BayesIsoMap, style: Style, axis: ScoreAxis, across: Limits, up: Any
) -> None:
    """Draw the 90 % band behind the maps, with its numbers where a pointer is."""
    x = axis.place(posterior.log_odds)
    inside = (x >= across[0]) & (x <= across[1])
    low, high, mean = (part[inside] for part in (posterior.low, posterior.high, posterior.mean))
    at = posterior.log_odds[inside]
    fill_between(fig, x[inside], up(low, at), up(high, at), fade(style.color, 0.2))
    hover = carry(
        "posterior mean {mean:.3r}<br>90 %: {low:.3r} to {high:.3r}",
        log_odds=at,
        mean=mean,
        low=low,
        high=high,
    )
    draw_marks(fig, x[inside], up(mean, at), Style("rgba(0,0,0,0)"), "posterior", hover)


def _alt(picture: MapPicture, lines: Sequence[MapLine]) -> str:
    seen = picture.frequencies
    means = "; ".join(
        f"{line.name} from {line.probs[0]:.3g} to {line.probs[-1]:.3g}"
        + (
            f" with a pair of lines up to {np.max(line.pair[1] - line.pair[0]):.2g} apart"
            if line.pair
            else ""
        )
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
    band = {"line_width": 0, "fillcolor": fade(NEUTRAL, 0.18), "layer": "below"}
    fig.add_vrect(share.low, share.high, **band)
    line_through_rows(fig, share.value, len(rows), Style(NEUTRAL))
    hover = carry(
        "{value:.3r} of {rows:,d} rows (95 %: {low:.3r} to {high:.3r})",
        value=[share.value],
        low=[share.low],
        high=[share.high],
        rows=[n_rows],
    )
    middle = (len(rows) - 1) / 2 + DROP
    draw_marks(fig, [share.value], [middle], Style("rgba(0,0,0,0)"), "share", hover, size=14)
    for place, row in enumerate(rows):
        hover = carry(
            f"{plain(row.name)}: {{value:.3r}} on average<br>{row.verdict}", value=[row.mean]
        )
        draw_row(fig, place, (row.mean,) * 3, row.style, row.name, hover)
    labels = [
        RowLabel(row.name, f"{probability_text(row.mean)}, {row.verdict}", row.style.color)
        for row in rows
    ]
    frame_rows(
        fig,
        labels,
        title=title,
        alt=(
            f"{title}: {three_digits(share.value)} of {n_rows:,} rows ({three_digits(share.low)} to"
            f" {three_digits(share.high)}) are of the class. {join_named({row.name: row.note for row in labels})}."
        ),
    )
    low, high = span([share.low, share.high], [row.mean for row in rows], pad=0.06, least=1e-6)
    set_x(
        fig,
        range=[low, high],
        nticks=5,
        title_text="mean probability   (| share of the class, band 95 %)",
    )
    return fig
