"""A picture of what each method does: its map where one line can show it, and dots where it cannot."""

from __future__ import annotations

from functools import cache

import numpy as np
import plotly.graph_objects as go

from calib.base import NEEDS_CLASSES, extras_for
from calib.calibrators.geometric import fast_separation
from calib.data import Predictions
from calib.data.samples import SAMPLES, load_sample, sample_named
from calib.diagnostics.calibration_maps import class_map, class_rows, venn_abers_pair
from calib.diagnostics.judgement import TEST
from calib.numerics import Floats, sigmoid, softmax
from calib.plots.annotations import carry, whiskers
from calib.plots.maps import MapLine, MapPicture, calibration_maps
from calib.plots.style import COLORS, GUIDE, NEUTRAL, method_style, quiet, set_x, set_y
from calib.registry import METHODS, Method
from calib.reporting.parts import figure_html, scripts

BINARY, DIGITS = "simulated-binary", "digits-cnn"
N_FITTED = 1000
"""Rows of the binary sample that a method is fitted to; the frequencies are those of the others."""

SCALES, BIASES = np.array([1.2, 2.0, 1.5]), np.array([0.8, 0.0, -0.8])
"""How the simulated model of three classes exaggerates the logits of each class, and what it adds to them."""


PLOTLY = "assets/plotly.min.js"
"""Where the site has plotly's script."""


def draw_script(folders_up: int) -> str:
    """The scripts that draw the pictures of a page, so many folders below the start page."""
    _, draw = scripts()
    return f'<script src="{"../" * folders_up}{PLOTLY}"></script><script>{draw}</script>'


def picture(method: Method) -> tuple[str, str]:
    """The picture as HTML that plotly's script draws, and a sentence that says what is seen in it."""
    if "groups" in method.needs:
        fig, said = _groups(method)
    elif method.needs:
        fig, said = _separation(method)
    elif NEEDS_CLASSES in method.cls.traits:
        fig, said = _dots(method)
    else:
        fig, said = _map(method)
    return str(figure_html(fig)), said


def _map(method: Method) -> tuple[go.Figure, str]:
    fitted, rest = _halves()
    made = method.cls().fit(fitted.logits, fitted.labels)
    frame = _frame()
    line = MapLine(method.title, method_style(method.name), class_map(made, frame.log_odds),
                   venn_abers_pair(made, frame.log_odds, 1) if method.name == "venn_abers" else None)  # fmt: skip
    lines = [line] if method.name == "identity" else [_raw(frame.log_odds), line]
    pair = " The two thin lines are the pair." if line.pair else ""
    return calibration_maps(frame, lines, height=430), (
        f"Simulated data ([{SAMPLES[BINARY].title}](../samples.md)): {method.title} fitted to {N_FITTED:,} rows with "
        f"its defaults. Dots are frequencies of the other {len(rest):,} rows with 95 % intervals, the wide line is the "
        f"true map.{pair}"
    )


def _raw(log_odds: Floats) -> MapLine:
    return MapLine(METHODS["identity"].title, method_style("identity"), sigmoid(log_odds))


@cache
def _halves() -> tuple[Predictions, Predictions]:
    return load_sample(BINARY).split(N_FITTED, random_state=0)


@cache
def _frame() -> MapPicture:
    """What the maps of all methods share."""
    fitted, rest = _halves()
    rows = class_rows(1, data={"logits": fitted.logits, "labels": fitted.labels, f"{TEST}logits": rest.logits,
                               f"{TEST}labels": rest.labels})  # fmt: skip
    axis, cells = rows.axes["probability"], rows.cells["probability"]
    # Even in probability, and dense where steps of the maps may lie.
    grid = np.unique(
        np.concatenate(
            [np.log(p := np.linspace(0.002, 0.998, 200)) - np.log1p(-p), axis.scores[::4]]
        )
    )
    truth = sample_named(BINARY).true_map
    assert truth is not None
    return MapPicture("class 1", axis, grid, rows.frequencies, "other", cells.edges, cells.inside, cells.others,
                      truth(sigmoid(grid)))  # fmt: skip


def _dots(method: Method) -> tuple[go.Figure, str]:
    """Probabilities of three classes before and after, where each depends on all logits of its row."""
    rng = np.random.default_rng(0)
    true = 2 * rng.standard_normal((2 * N_FITTED, 3))
    labels = (np.cumsum(softmax(true), axis=1) < rng.random((len(true), 1))).sum(axis=1)
    logits = SCALES * true + BIASES
    made = method.cls().fit(logits[:N_FITTED], labels[:N_FITTED])
    shown = slice(N_FITTED, N_FITTED + 150)
    before, after = softmax(logits[shown]), made.predict_proba(logits[shown])
    fig = go.Figure()
    fig.add_shape(
        type="line", x0=0, x1=1, y0=0, y1=1, line={"color": GUIDE, "width": 1, "dash": "dot"}
    )
    for k, symbol in enumerate(("circle", "square", "diamond")):
        fig.add_scatter(x=before[:, k], y=after[:, k], name=f"class {k + 1}", mode="markers",
                        marker={"color": COLORS[k + 1], "symbol": symbol, "size": 5})  # fmt: skip
    _frame_of(fig, f"Probabilities of three simulated classes before and after {method.title}.",
              "probability of the model", "after calibration")  # fmt: skip
    return fig, (
        f"Simulated data: three classes, each off in its own way. Every dot is the probability of one class in one of "
        f"150 rows, before and after {method.title}, fitted to {N_FITTED:,} other rows with its defaults: circles are "
        "class 1, squares class 2, diamonds class 3. There is no single line, because a class's probability depends on "
        "all logits of the row."
    )


def _groups(method: Method) -> tuple[go.Figure, str]:
    """The map of each of two groups, one of which is riskier than the model says."""
    rng = np.random.default_rng(0)
    risk = sigmoid(rng.normal(-1, 1, 4 * N_FITTED))
    region = rng.choice(["north", "south"], len(risk))
    happened = rng.random(len(risk)) < np.where(region == "south", risk**0.6, risk)
    made = method.cls().fit(risk, happened, groups=region)
    grid = np.linspace(0.01, 0.99, 200)
    fig = go.Figure()
    fig.add_shape(
        type="line", x0=0, x1=1, y0=0, y1=1, line={"color": GUIDE, "width": 1, "dash": "dot"}
    )
    for k, name in enumerate(("north", "south")):
        probs = made.predict_proba(grid, groups=np.full(len(grid), name))[:, 1]
        fig.add_scatter(
            x=grid, y=probs, name=name, mode="lines", line={"color": COLORS[k + 1], "width": 2}
        )
    _frame_of(
        fig,
        f"Maps of two simulated groups by {method.title}.",
        "risk of the model",
        "after calibration",
    )
    return fig, (
        f"Simulated data: {len(risk):,} rows in two regions, of which the south is riskier than the model says. "
        "Each line is the map of one region, fitted with the defaults: north is blue, south green."
    )


def _separation(method: Method) -> tuple[go.Figure, str]:
    """The confidence over the separation, which needs the inputs of the digits."""
    fitted, rest = load_sample(DIGITS).split(0.5, random_state=0)
    made = method.cls().fit(fitted.logits, fitted.labels, **extras_for(method.cls(), fitted))
    predicted = rest.logits.argmax(axis=1)
    assert rest.features is not None
    separation = fast_separation(rest.train_features, rest.train_labels, rest.features, predicted)
    grid = np.linspace(*np.quantile(separation, [0.01, 0.99]), 400)
    edges = np.quantile(separation, np.linspace(0, 1, 9))
    cell = np.clip(np.searchsorted(edges, separation, side="right") - 1, 0, 7)
    right = predicted == rest.labels
    shares = np.array([right[cell == k].mean() for k in range(8)])
    middles = np.array([np.median(separation[cell == k]) for k in range(8)])
    counts = np.bincount(cell, minlength=8)
    error = 1.96 * np.sqrt(shares * (1 - shares) / counts)
    fig = go.Figure()
    fig.add_scatter(x=grid, y=made.confidence_at(grid), name=method.title, mode="lines",
                    line={"color": method_style(method.name).color, "width": 2})  # fmt: skip
    fig.add_scatter(x=middles, y=shares, name="accuracy", mode="markers", marker={"color": NEUTRAL, "size": 7},
                    error_y=whiskers(shares, shares - error, np.minimum(shares + error, 1), NEUTRAL, 1.5, width=3),
                    **carry(rows=counts))  # fmt: skip
    _frame_of(fig, f"The confidence of {method.title} over the separation of an input.", "separation of the input",
              "confidence", square=False)  # fmt: skip
    return fig, (
        f"[{SAMPLES[DIGITS].title}](../samples.md): the confidence of {method.title} over the separation, fitted with "
        f"the defaults to half of the rows. Dots are the accuracy of the other {len(rest):,} rows in eight groups, "
        "with 95 % intervals."
    )


def _frame_of(fig: go.Figure, alt: str, x: str, y: str, square: bool = True) -> None:
    quiet(fig, 430, alt=alt)
    set_x(fig, title_text=x, nticks=6, **({"range": [-0.02, 1.02]} if square else {}))
    set_y(fig, title_text=y, nticks=6, range=[-0.02, 1.02])
