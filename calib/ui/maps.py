"""Parts of the Calibration maps page: maps of all classes pooled or of one class, both ends, and samples of maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from calib.calibrators.bayes_iso import BayesIsoMap
from calib.data import Predictions
from calib.diagnostics.calibration_maps import (
    END,
    ClassRows,
    JudgedMap,
    Place,
    class_rows,
    has_class_map,
    judged_map,
    most_by_chance,
)
from calib.diagnostics.histograms import Frequencies
from calib.diagnostics.judgement import both_parts
from calib.diagnostics.map_samples import N_REPLICATES, prior_draws, replicate_maps
from calib.engine import Data
from calib.evaluation.view import TOP_LABEL, View
from calib.formatting import class_phrase, listed, number, percent, plural
from calib.numerics import Floats, sigmoid
from calib.plots.map_samples import sampled_maps
from calib.plots.maps import (
    EndRow,
    MapLine,
    MapPicture,
    MapScale,
    calibration_maps,
    end_rows,
    probability_text,
)
from calib.plots.style import COLORS, TRUTH, Style
from calib.ui import widgets
from calib.ui.compare.recommendation import recommended
from calib.ui.fits import (
    RAW,
    ShownFit,
    ready,
    ready_of,
    rows_of,
    rows_to_predict,
    short_titles,
)
from calib.ui.session import OpenSession
from calib.ui.shell import need_fit
from calib.ui.text import literal
from calib.ui.widgets import folded, segments

Named = list[tuple[str, JudgedMap]]
"""Methods by the names their lines have."""


def _pairs(class_name: str | None) -> tuple[str, str, str]:
    """Return what is counted, one and several, and what makes it a hit: rows of a class, or pairs of row and class."""
    if class_name is None:
        what = "of test row and class"
        return f"pair {what}", f"pairs {what}", "have the class as label"
    return "test row", "test rows", f"are {literal(class_name)}"


def finding(raw: JudgedMap, others: Named, seen: Frequencies, class_name: str | None) -> str:
    """Count the bins of test rows in which the raw model's map and the fitted ones are off.

    Parameters
    ----------
    class_name : whose map it is; None where all classes are pooled.
    """
    unit, units, hit = _pairs(class_name)
    subject = "all classes, pooled," if class_name is None else literal(class_name)
    off = int(seen.outside(raw.means).sum())
    bins = plural(len(seen.count), "bin")
    allowed = most_by_chance(len(seen.count))
    text = f"**The raw model's probabilities of {subject} are off in {off} of {bins} of test rows**"
    if off > allowed:
        where = int(np.argmax(np.maximum(seen.low - raw.means, raw.means - seen.high)))
        text += (
            f", most at {probability_text(float(raw.means[where]))}: there {percent(float(seen.frequency[where]))} of "
            f"{plural(int(seen.count[where]), unit, units)} {hit} (95\u00a0%: {percent(float(seen.low[where]))} to "
            f"{percent(float(seen.high[where]))})"
        )
    counts = [
        f"{literal(name)} in {int(seen.outside(judged.means).sum())}" for name, judged in others
    ]
    after = f" After calibration: {listed(counts)}." if counts else ""
    return f"{text}.{after} By chance up to {plural(allowed, 'bin')} would be off."


def shown(seen: Frequencies, class_name: str | None, n_classes: int, n_calibration: int) -> str:
    """Whose map is shown and on what it is judged, in one line."""
    total = int(seen.count.sum())
    hits = int(seen.positives.sum())
    unit, units, hit = _pairs(class_name)
    name = f"each of {n_classes:,} classes" if class_name is None else literal(class_name)
    other, after = "the other class", ""
    if n_classes > 2:
        other = "the rest"
        after = " Maps are shown before the probabilities of a row are made to sum to one."
    return (
        f"Shown is {name} against {other}: maps learned from {plural(n_calibration, 'calibration row')}, judged on "
        f"{plural(total, unit, units)}, of which {hits:,} ({percent(hits / total, 2)}) {hit}. A map is off in a bin "
        f"if its mean there lies outside the 95\u00a0% Wilson interval of the frequency.{after}"
    )


def mapless(fits: list[ShownFit], pooled: bool) -> str:
    """The fits that have no map of one class, or none that all classes share, and why."""
    whole = [fit.title for fit in fits if fit.calibrator.gives_probabilities]
    confident = [fit.title for fit in fits if not fit.calibrator.gives_probabilities]
    sentences = []
    if whole:
        have = "has" if len(whole) == 1 else "have"
        lacking = "one map that all classes share" if pooled else "map of one class"
        sentences.append(
            f"{listed(whole)} {have} no {lacking}: what a class gets there depends on the logits of all others"
            f"{', or is learned for each class alone' if pooled else ''}."
        )
    if confident:
        gives = "gives" if len(confident) == 1 else "give"
        sentences.append(
            f"{listed(confident)} {gives} a confidence in the predicted class only, and so no map of a class."
        )
    return (
        " ".join([*sentences, "Reliability and Compare judge such methods."]) if sentences else ""
    )


def knows(name: str, posterior: BayesIsoMap) -> str:
    """Describe where a Bayes-Iso's posterior comes from, and how wide its band is."""
    source = "averages over all monotone maps at pooled scores, exactly. "
    if posterior.n_maps:
        source = (
            f"sampled {posterior.n_maps:,} maps over all scores and weighted each by the likelihood of the labels: the "
            f"effective sample size is {max(1, round(posterior.effective_maps)):,}. "
        )
    width = posterior.high - posterior.low
    widest = int(np.argmax(width))
    return (
        f"**{name}** {source}"
        f"Its 90\u00a0% band is {_points(float(np.median(width)))} points wide at the median score, and widest, "
        f"{_points(float(width[widest]))} points, where the raw model gives "
        f"{probability_text(float(sigmoid(posterior.log_odds[widest])))}."
    )


def pair(name: str, low: Floats, high: Floats) -> str:
    """Describe how far apart Venn-Abers' two probabilities are, and what they are not."""
    width = high - low
    median = _points(float(np.median(width)))
    most = _points(float(width.max()))
    return (
        f"**{name}** has two probabilities for each score (thin lines): one with the row counted as the other class, "
        f"one with it counted as this one. Their median distance over the scores drawn is {median} points, the largest "
        f"{most}. The one that belongs to the true label is calibrated, but that one is not known in advance. "
        "They are no confidence interval."
    )


def dominated(name: str, posterior: BayesIsoMap) -> str:
    """The paper's flag, or nothing."""
    if not posterior.dominated:
        return ""
    return (
        f"{name}: one of the sampled maps outweighs all others together, so its map and its band rest on hardly more "
        "than one map. Do not read the band as its uncertainty; fit it with scheme='knots' or more maps."
    )


def verdict(judged: JudgedMap, end: str, view: View = TOP_LABEL) -> str:
    """Over- or underconfident at one end, or an event's probability too high or low, where the interval shows it."""
    mean = judged.ends[end].mean
    share = judged.ends[end].share
    if share.low <= mean <= share.high:
        return "in the band"
    if view.is_event:
        return "too low" if mean < share.low else "too high"
    over = mean < share.low if end == "first" else mean > share.high
    return "overconfident" if over else "underconfident"


def _points(share: float) -> str:
    return f"{100 * share:.1f}"


PLACES: dict[Place, str] = {"rank": "Ranks", "log_odds": "Log-odds", "probability": "Probability"}
SCALES: dict[MapScale, str] = {"linear": "Linear", "logit": "Logit", "change": "Map minus raw"}
RARE = 0.2
"""A class rarer than this, or as frequent, has nothing to see on ranks."""

HOW_TO_READ = (
    "A calibration map takes a score to a probability. Across are the raw model's scores of the class: ranks (each "
    "calibration row has the same width), log-odds or probabilities. Up is the calibrated probability. Dots are "
    "frequencies of the class in bins of test rows, with 95\u00a0% Wilson intervals. No map was fitted on these "
    "rows; a good map passes through the dots. The raw model is the identity; the broad pale line, where there is "
    "one, is the truth of simulated scores. The shaded band contains 90\u00a0% of Bayes-Iso's posterior maps. Thin "
    "dotted lines of Venn-Abers are its two probabilities: the row counted as the other class and as this one. They "
    "are no confidence interval. Beneath: the test rows' scores on one square-root scale."
)
WEIGHTED = (
    "Calibrators are fitted to weighted rows, while the dots here count each row once: a good map need not pass "
    "through them."
)
HOW_TO_READ_ENDS = (
    "The 2.5\u00a0% of the test rows with the lowest and the highest score. The line is the share of the class among "
    "them, shaded its 95\u00a0% Wilson interval. Dots are the mean probability of each method there; a calibrated "
    "one lies in the interval. A dot nearer to 0 at the lower end, or to 1 at the upper one, is overconfident."
)


@dataclass(frozen=True, eq=False)
class ShownMap:
    """A fit's map under a name short enough to stand beside its line."""

    fit: ShownFit
    name: str
    judged: JudgedMap


def show(session: OpenSession, fits: list[ShownFit]) -> None:
    """The finding, the maps over one another, and what can be asked further."""
    head = st.container()
    picture = st.container()
    calibration = session.calibration
    with st.container(horizontal=True, gap="medium"):
        target = choose_target(calibration)
        with_map = [fit for fit in fits if has_class_map(fit.calibrator, target, calibration.kind)]
        keys = [fit.key for fit in with_map if fit.key != RAW]
        advised = recommended(fits)[1].key if len(fits) > 1 else RAW
        begin = advised if advised in keys else next(iter(keys), RAW)
        aside = [key for key in keys if key != begin]
        chosen = widgets.choose(with_map, "maps/methods", "Maps", aside=aside)
    name = None if target is None else class_phrase(session.data.name_of(target))
    rows = rows_of_class(session, target)
    raw = judged(session, fits[0], target, rows)
    maps = [
        ShownMap(fit, short, judged(session, fit, target, rows))
        for fit, short in zip(chosen, short_titles(chosen), strict=True)
    ]
    fitted = [entry for entry in maps if entry.fit.key != RAW]
    named = [(entry.name, entry.judged) for entry in fitted]
    weighted = session.test.confirmed_weights is not None
    head.markdown(WEIGHTED if weighted else finding(raw, named, rows.frequencies, name))
    with picture:
        overlay(maps, rows, name, calibration, target)
    others = mapless([fit for fit in fits if fit not in with_map], target is None)
    st.caption(f"{shown(rows.frequencies, name, calibration.n_classes, len(calibration))} {others}")
    if len(fits) == 1:
        need_fit(what="Only the raw model's map is here. Fit calibrators to see theirs over it.")
    folded("Are the maps right at both ends?", "maps/ends", partial(ends, session, maps))
    for entry in maps:
        if entry.judged.posterior is not None:
            draws = partial(prior, session, entry.fit, entry.judged.posterior, target)
            folded(f"The prior of {entry.name}", f"maps/prior/{entry.fit.key}", draws)
    if rows.truth is not None and session.sample is not None and len(maps) > 1:
        again = partial(replicates, session, [entry.fit for entry in fitted], session.sample)
        folded("How much would other labels change the maps?", "maps/replicates", again)


def choose_target(calibration: Predictions) -> int | None:
    """Let the visitor pick all classes pooled or one class, to begin with all, or of two the event."""
    n = calibration.n_classes
    titles = [
        f"{class_phrase(calibration.name_of(k))} · {plural(int(count), 'calibration row')}"
        for k, count in enumerate(np.bincount(calibration.labels, minlength=n))
    ]
    every = f"All {n:,} classes, pooled" if n > 2 else ""
    begin = None if n > 2 else 1
    if calibration.event is not None:
        begin = calibration.event.column
    return widgets.choose_class("Map of", every, titles, f"maps/target/{n}", begin, width=300)


def rows_of_class(session: OpenSession, target: int | None) -> ClassRows:
    """Pairs of both parts, sorted and binned."""
    data = Data(f"{session.rows_key} both parts", both_parts(session.calibration, session.test))
    what = "the scores of both parts"
    return ready(("map rows", target), what, class_rows, target, session.sample, data=data)


def judged(session: OpenSession, fit: ShownFit, target: int | None, rows: ClassRows) -> JudgedMap:
    """The fit's map, and how it fares on the test rows."""
    data = rows_to_predict(session, fit.calibrator)
    about = fit.calibrator, target, rows.grid, rows.frequencies
    return ready_of(fit, "the map", judged_map, *about, about=target, data=data)


def overlay(
    maps: list[ShownMap],
    rows: ClassRows,
    name: str | None,
    calibration: Predictions,
    target: int | None,
) -> None:
    """Draw all maps in one figure, with the posterior of the first Bayes-Iso; beneath, their place and scale."""
    figure = st.container()
    bayes_iso = next((entry for entry in maps if entry.judged.posterior is not None), None)
    share = 1 / calibration.n_classes
    if target is not None:
        share = float((calibration.labels == target).mean())
    balanced = RARE < share < 1 - RARE
    with st.container(horizontal=True, gap="medium"):
        begin: Place = "rank" if balanced else "log_odds"
        place = segments("Scores as", PLACES, begin, f"maps/place/{begin}")
        usual: MapScale = "linear" if balanced else "logit"
        scale = segments("Probabilities", SCALES, usual, f"maps/scale/{usual}")

    def build() -> go.Figure:
        cells = rows.cells[place]
        about = name or "the class", rows.axes[place], rows.grid, rows.frequencies, "test"
        picture = MapPicture(*about, cells.edges, cells.inside, cells.others, rows.truth)
        lines = [
            MapLine(entry.name, entry.fit.style, entry.judged.curve, entry.judged.pair)
            for entry in maps
        ]
        posterior = None
        if bayes_iso is not None and bayes_iso.judged.posterior is not None:
            posterior = (bayes_iso.judged.posterior, bayes_iso.fit.style)
        return calibration_maps(picture, lines, scale, posterior)

    drawn = tuple((entry.fit.key, entry.fit.style, entry.name) for entry in maps)
    with figure:
        key = ("maps figure", target, place, scale, drawn)
        widgets.show_cached(key, build, "calibration-maps", HOW_TO_READ)
        if bayes_iso is not None and bayes_iso.judged.posterior is not None:
            if trouble := dominated(bayes_iso.name, bayes_iso.judged.posterior):
                st.warning(trouble)
            st.caption(knows(bayes_iso.name, bayes_iso.judged.posterior))
        for entry in maps:
            if entry.judged.pair is not None:
                st.caption(pair(entry.name, *entry.judged.pair))


def ends(session: OpenSession, maps: list[ShownMap]) -> None:
    """Return whether the maps are right at both ends."""
    with st.container(horizontal=True, gap="small"):
        for end, title in (
            ("first", f"Lowest {100 * END:g}\u00a0%"),
            ("last", f"Highest {100 * END:g}\u00a0%"),
        ):
            rows = []
            for entry in maps:
                word = verdict(entry.judged, end, session.view)
                rows.append(EndRow(entry.name, entry.fit.style, entry.judged.ends[end].mean, word))
            first = maps[0].judged.ends[end]
            fig = end_rows(rows, first.share, first.n, f"{title} of the scores")
            with st.container(width=widgets.HALF):
                widgets.show(fig, f"ends-{end}", HOW_TO_READ_ENDS)


RANKS = "share of pairs with a lower score"
WIDTH = 320
"""Pixels of a panel: three fit beside each other at 1500."""
PRIOR = (
    "Left 200 maps of Bayes-Iso's prior: any rising map is possible. In the middle 200 within the bounds (green) "
    "that running means of the labels give. Right the posterior mean with its 90\u00a0% band."
)
REPLICATES = (
    "Each thin line is the map that the method learned from the same scores with labels drawn anew from the true map, "
    "the thick line. Lines far apart show variance, a bundle beside the truth shows bias."
)


def prior(session: OpenSession, fit: ShownFit, posterior: BayesIsoMap, target: int | None) -> None:
    """Draw the prior, the prior within its bounds, and the posterior of a Bayes-Iso."""
    data = rows_of(session.calibration)
    what = "draws of the prior"
    draws = ready_of(fit, what, prior_draws, target, posterior, about=target, data=data)
    bound, band = Style(COLORS[2]), Style(fit.style.color, dash="dash")
    none = np.empty((0, len(draws.ranks)))
    mean = ("mean", draws.mean, Style(fit.style.color))
    panels = (
        ("Prior", draws.prior, ()),
        (
            "Within bounds",
            draws.bounded,
            (("lower", draws.lower, bound), ("upper", draws.upper, bound)),
        ),
        ("Posterior", none, (("5 %", draws.low, band), ("95 %", draws.high, band), mean)),
    )
    with st.container(horizontal=True, gap="small"):
        for title, maps, references in panels:
            draw = partial(sampled_maps, draws.ranks, maps, fit.style, title, RANKS, references)
            with st.container(width=WIDTH):
                key = title, "prior of", fit.key, target
                widgets.show_cached(key, draw, f"bayes-iso-{title}", PRIOR)


def replicates(session: OpenSession, fits: Sequence[ShownFit], sample: str) -> None:
    """Draw ten maps of each method on labels from the true map."""
    data = rows_of(session.calibration)
    samples = []
    for fit in fits:
        about = fit.method, session.specs[fit.key].params, sample
        samples.append(ready_of(fit, f"{N_REPLICATES} maps", replicate_maps, *about, data=data))
    errors = [
        f"{number(drawn.error)} with {literal(fit.title)}"
        for fit, drawn in zip(fits, samples, strict=True)
    ]
    st.markdown(f"The root mean squared error of {N_REPLICATES} maps is {listed(errors)}.")
    with st.container(horizontal=True, gap="small"):
        for fit, drawn in zip(fits, samples, strict=True):
            truth = (("truth", drawn.truth, Style(TRUTH)),)
            maps = drawn.probs, drawn.maps, fit.style, fit.title, "probability of the model", truth
            draw = partial(sampled_maps, *maps)
            with st.container(width=WIDTH):
                key = "replicates of", fit.key
                widgets.show_cached(key, draw, f"replicates-{fit.title}", REPLICATES)
