"""Parts of the Calibration maps page: every fit's map of all classes pooled or of one class, and both ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from calib.data import Predictions
from calib.diagnostics.calibration_maps import (
    END,
    ClassRows,
    JudgedMap,
    Place,
    class_pairs,
    class_rows,
    has_class_map,
    judged_map,
)
from calib.diagnostics.judgement import both_parts
from calib.engine import Data
from calib.formatting import class_in_words, number, plural
from calib.plots.annotations import short_names
from calib.plots.axes import Scale
from calib.plots.maps import EndRow, MapLine, MapPicture, calibration_maps, end_rows
from calib.registry import METHODS, variant_of
from calib.ui import widgets
from calib.ui.chosen_rows import choose_rows, list_rows, show_clickable
from calib.ui.fits import RAW, ShownFit, pair_of_class, ready, rows_to_predict
from calib.ui.maps import text as maps_words
from calib.ui.session import OpenSession
from calib.ui.shell import need_fit
from calib.ui.text import literal
from calib.ui.widgets import folded, scale_of_probabilities, segments

POOLED = -1
PLACES: dict[Place, str] = {"rank": "Ranks", "log_odds": "Log-odds", "probability": "Probability"}
RARE = 0.2
"""A class rarer than this, or as frequent, has nothing to see on ranks."""

HOW_TO_READ = (
    "A calibration map takes a score to a probability. Across are the raw model's scores of the class, by rank (each "
    "calibration row has the same width), as log-odds or as probabilities; up is the probability that a method makes "
    "of them. Dots are the frequencies of the class among test rows, which no map has seen, in bins, with 95\u00a0% "
    "Wilson intervals: a good map passes through them. The raw model is the identity; the broad pale line, where there "
    "is one, is the truth of simulated scores. The shaded band holds 90\u00a0% of Bayes-Iso's posterior maps. Thin "
    "dotted lines beside a map of Venn-Abers are its two probabilities, of a row counted as the other class and as "
    "this one; they are no confidence interval. Beneath: the test rows' scores, each group on a height of its own."
)
HOW_TO_READ_ENDS = (
    "The 2.5\u00a0% of the test rows with the lowest and the highest score. The line is the share of the class among "
    "them, shaded its 95\u00a0% Wilson interval; the dots are the mean probability of each method there, and should "
    "lie in it. A dot nearer to 0 at the lower end, or nearer to 1 at the upper one, claims more certainty than the "
    "rows show."
)


@dataclass(frozen=True, eq=False)
class ShownMap:
    """A fit's map under a name short enough to stand beside its line."""

    fit: ShownFit
    name: str
    judged: JudgedMap


def show(session: OpenSession, fits: list[ShownFit]) -> None:
    """The finding, the maps over one another, and what can be asked further."""
    words, picture = st.container(), st.container()
    calibration = session.calibration
    with st.container(horizontal=True, gap="medium"):
        target = whose_map(calibration)
        with_map = [fit for fit in fits if has_class_map(fit.calibrator, target, calibration.kind)]
        chosen = widgets.choose(with_map, "maps/methods", "Maps")
    name = None if target is None else class_in_words(session.data.name_of(target))
    rows = rows_of_class(session, target)
    raw = judged(session, fits[0], target, rows)
    maps = [ShownMap(fit, short, judged(session, fit, target, rows)) for fit, short in named(chosen)]
    words.markdown(
        maps_words.finding(raw, [(one.name, one.judged) for one in maps if one.fit.key != RAW], rows.frequencies, name)
    )
    with picture:
        overlay(maps, rows, name, calibration, target, partial(choose_bin, session, fits[0], rows, target))
    mapless = maps_words.mapless([fit for fit in fits if fit not in with_map], target is None)
    st.caption(f"{maps_words.shown(rows.frequencies, name, calibration.n_classes, len(calibration))} {mapless}")
    if len(fits) == 1:
        need_fit(what="Only the raw model's map is here. Fit calibrators to see theirs over it.")
    folded("Are the maps right at both ends?", "maps/ends", partial(ends, session, maps))


def whose_map(calibration: Predictions) -> int | None:
    """Let the visitor pick all classes pooled or one class, to begin with all, or of two the event."""
    n_classes = calibration.n_classes
    frequency = np.bincount(calibration.labels, minlength=n_classes)

    def title(k: int) -> str:
        if k == POOLED:
            return f"All {n_classes:,} classes, pooled"
        return f"{class_in_words(calibration.name_of(k))} · {plural(int(frequency[k]), 'calibration row')}"

    options = [*([POOLED] if n_classes > 2 else []), *range(n_classes)]
    usual = 0 if n_classes > 2 else 1
    if calibration.event is not None:
        usual = options.index(calibration.event.column)
    chosen = st.selectbox(
        "Map of", options, index=usual, key=f"maps/target/{n_classes}", format_func=title, persist_state="session",
        width=300,
    )  # fmt: skip
    return None if chosen == POOLED else int(chosen)


def rows_of_class(session: OpenSession, target: int | None) -> ClassRows:
    """Pairs of both parts, sorted and binned."""
    data = Data(f"{session.split_key} both parts", both_parts(session.calibration, session.test))
    return ready(("map rows", target), "the scores of both parts", class_rows, target, session.sample, data=data)


def judged(session: OpenSession, fit: ShownFit, target: int | None, rows: ClassRows) -> JudgedMap:
    """The fit's map, and how it fares on the test rows."""
    key, what = ("map judged", fit.key, target), f"the map of {fit.title} on the test rows"
    data = rows_to_predict(session, fit.calibrator)
    return ready(key, what, judged_map, fit.calibrator, target, rows.grid, rows.frequencies, data=data)


def named(fits: list[ShownFit]) -> list[tuple[ShownFit, str]]:
    """Fits with names short enough to stand beside a line: the method, and what tells it from others of the method."""
    names: dict[str, str] = {}
    for method in dict.fromkeys(fit.method for fit in fits):
        same, title = [fit for fit in fits if fit.method == method], METHODS[method].title
        variants = [variant_of(fit.calibrator, fit.calibrator.n_classes_) for fit in same]
        shorts = [title] if len(same) == 1 else short_names(title, variants)
        for fit, short in zip(same, shorts, strict=True):
            names[fit.key] = short if short == title else f"{title} {short}"
    return [(fit, names[fit.key]) for fit in fits]


def choose_bin(
    session: OpenSession, raw: ShownFit, rows: ClassRows, target: int | None, trace: str, log_odds: float
) -> None:
    """Choose the rows of one class's bin, by the log-odds of its dot."""
    if trace != "frequency" or target is None:
        return
    seen = rows.frequencies
    scores, _ = class_pairs(session.test.logits, session.test.labels, target)
    which = int(np.abs(seen.score - log_odds).argmin())
    name = literal(class_in_words(session.data.name_of(target)))
    held = np.searchsorted(seen.edges, scores, side="right") == which
    choose_rows(raw, f"log-odds of {name} about {number(log_odds)}", held, pair_of_class(raw, target))


def overlay(
    maps: list[ShownMap],
    rows: ClassRows,
    name: str | None,
    calibration: Predictions,
    target: int | None,
    choose: Callable[[str, Any], None],
) -> None:
    """All maps in one figure, with the posterior of the first Bayes-Iso; beneath, how they are placed and scaled."""
    figure = st.container()
    known = next((one for one in maps if one.judged.posterior is not None), None)
    n = len(calibration)
    share = 1 / calibration.n_classes if target is None else float((calibration.labels == target).sum() / n)
    balanced = RARE < share < 1 - RARE
    with st.container(horizontal=True, gap="medium"):
        begin: Place = "rank" if balanced else "log_odds"
        place = segments("Scores as", PLACES, begin, f"maps/place/{begin}")
        usual: Scale = "linear" if balanced else "logit"
        scale = scale_of_probabilities(usual, f"maps/scale/{usual}")

    def build() -> go.Figure:
        cells = rows.cells[place]
        picture = MapPicture(
            name or "the class", rows.axes[place], rows.grid, rows.frequencies, "test", cells.edges, cells.inside,
            cells.others, rows.truth,
        )  # fmt: skip
        lines = [MapLine(one.name, one.fit.style, one.judged.curve, one.judged.pair) for one in maps]
        posterior = None
        if known is not None and known.judged.posterior is not None:
            posterior = (known.judged.posterior, known.fit.style)
        return calibration_maps(picture, lines, scale, posterior)

    drawn = tuple((one.fit.key, one.fit.style, one.name) for one in maps)
    with figure:
        key = ("maps figure", target, place, scale, drawn)
        if target is None:  # a dot stands for pairs of row and class
            widgets.show_kept(key, build, "calibration-maps", HOW_TO_READ)
        else:
            show_clickable(key, build, "calibration-maps", HOW_TO_READ, choose)
        list_rows()
        if known is not None and known.judged.posterior is not None:
            if trouble := maps_words.dominated(known.name, known.judged.posterior):
                st.warning(trouble)
            st.caption(maps_words.knows(known.name, known.judged.posterior))
        for one in maps:
            if one.judged.pair is not None:
                st.caption(maps_words.pair(one.name, *one.judged.pair))


def ends(session: OpenSession, maps: list[ShownMap]) -> None:
    """Whether the maps are right at both ends."""
    with st.container(horizontal=True, gap="small"):
        for end, title in (("first", f"Lowest {100 * END:g}\u00a0%"), ("last", f"Highest {100 * END:g}\u00a0%")):
            rows = [
                EndRow(one.name, one.fit.style, one.judged.ends[end].mean,
                       maps_words.verdict(one.judged, end, session.view))
                for one in maps
            ]  # fmt: skip
            first = maps[0].judged.ends[end]
            fig = end_rows(rows, first.share, first.n, f"{title} of the scores")
            with st.container(width=widgets.HALF):
                widgets.show(fig, f"ends-{end}", HOW_TO_READ_ENDS)
