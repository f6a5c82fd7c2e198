"""Parts of the Calibration maps page: every fit's map of one class, both ends, and Platt's correction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from calib.calibrators.bayes_iso import BayesIso, BayesIsoMap
from calib.data import Predictions
from calib.data.samples import true_map
from calib.diagnostics.calibration_maps import has_class_map, posterior_map, venn_abers_pair
from calib.diagnostics.class_rows import END, ClassRows, JudgedMap, Place, class_rows, judged_map, map_values
from calib.diagnostics.judgement import both_parts
from calib.engine import Data
from calib.formatting import class_in_words, listed, plural
from calib.numerics import Floats, sigmoid
from calib.plots.annotations import short_names
from calib.plots.axes import Scale
from calib.plots.maps import BAND, BOUNDS, SAMPLES, EndRow, MapLine, MapPicture, calibration_maps, end_rows
from calib.registry import METHODS, variant_of
from calib.ui import widgets
from calib.ui.fits import RAW, ShownFit, jobs, ready, rows_to_predict, submit
from calib.ui.maps import text as maps_words
from calib.ui.session import OpenSession, keep
from calib.ui.widgets import scale_of_probabilities, segments

_POINTS = 300
PARTS = {BAND: "90\u00a0% band", BOUNDS: "Bounds", SAMPLES: "Sampled maps"}
CORRECTABLE = ("platt", "isotonic", "enir")
RARE = 0.2
"""A class rarer than this, or as frequent, has nothing to see on ranks."""

HOW_TO_READ = (
    "A calibration map takes a score to a probability. Across are the raw model's scores of the class, by rank (each "
    "calibration row has the same width), as log-odds or as probabilities; up is the probability that a method makes "
    "of them. Dots are the frequencies of the class among test rows, which no map has seen, in bins, with 95\u00a0% "
    "Wilson intervals: a good map passes through them. The raw model is the identity; the broad pale line, where there "
    "is one, is the truth of simulated scores. The shaded band holds 90\u00a0% of Bayes-Iso's posterior maps; dotted "
    "lines are the bounds between which it samples. Thin dotted lines beside a map of Venn-Abers are its two "
    "probabilities, of a row counted as the other class and as this one; they are no confidence interval. Beneath: the "
    "test rows' scores, each group on a height of its own."
)
HOW_TO_READ_ENDS = (
    "The 2.5\u00a0% of the test rows with the lowest and the highest score. The line is the share of the class among "
    "them, shaded its 95\u00a0% Wilson interval; the dots are the mean probability of each method there, and should "
    "lie in it. A dot nearer to 0 at the lower end, or nearer to 1 at the upper one, claims more certainty than the "
    "rows show."
)
HOW_TO_READ_CORRECTION = (
    "The same method, fitted to the labels 0 and 1 (dotted) and to targets softened by the counts of both classes, as "
    "Platt proposed (solid). The difference is at the ends, where a logit scale shows it: with few rows, the "
    "correction keeps a map from claiming near-certainty."
)


@dataclass(frozen=True)
class ClassMaps:
    """The maps of one class; numbers are computed once per class and fit, and pairs only where those are missing."""

    session: OpenSession
    target: int

    @property
    def name(self) -> str:
        """The class in words."""
        return class_in_words(self.session.data.name_of(self.target))

    @cached_property
    def rows(self) -> ClassRows:
        """Pairs of both parts, sorted and binned."""
        what, arrays = f"the log-odds of {self.name}", both_parts(self.session.calibration, self.session.test)
        data = Data(f"{self.session.split_key} both parts", arrays)
        return ready(("map rows", self.target), what, class_rows, self.target, data=data)

    def grid(self) -> Floats:
        """Log-odds at which maps are drawn: scores of the calibration rows and points evenly between them."""
        axis = self.rows.axes["log_odds"]
        scores = axis.scores[np.unique(np.linspace(0, len(axis.scores) - 1, _POINTS).astype(int))]
        return np.unique(np.concatenate([scores, np.linspace(*axis.limits, _POINTS)]))

    def curve(self, fit: ShownFit) -> Floats:
        """The fit's map at the grid."""
        return keep(("map curve", fit.key, self.target), lambda: map_values(fit.calibrator, self.grid(), self.target))

    def pair(self, fit: ShownFit) -> tuple[Floats, Floats] | None:
        """Venn-Abers' two probabilities at the grid; None for other methods."""
        key = ("map pair", fit.key, self.target)
        return keep(key, lambda: venn_abers_pair(fit.calibrator, self.grid(), self.target))

    def judged(self, fit: ShownFit) -> JudgedMap:
        """The fit's map against the test rows."""
        key, what = ("map judged", fit.key, self.target), f"the map of {fit.title} on the test rows"
        given, data = (
            (fit.calibrator, self.target, self.rows.frequencies),
            rows_to_predict(self.session, fit.calibrator),
        )
        return ready(key, what, judged_map, *given, data=data)

    def posterior(self, fit: ShownFit) -> BayesIsoMap | None:
        """What a Bayes-Iso knows about the map; None for other methods and where it learned nothing."""
        if not isinstance(fit.calibrator, BayesIso):
            return None
        return keep(("map posterior", fit.key, self.target), lambda: posterior_map(fit.calibrator, self.target))

    def picture(self, kind: Place) -> MapPicture:
        """What all maps share."""
        grid, rows, cells = self.grid(), self.rows, self.rows.cells[kind]
        return MapPicture(
            self.name, rows.axes[kind], grid, rows.frequencies, "test", cells.edges, cells.inside, cells.others,
            self._truth(grid),
        )  # fmt: skip

    def _truth(self, log_odds: Floats) -> Floats | None:
        name = self.session.sample
        true = true_map(name) if name is not None else None
        if true is None:
            return None
        return true(sigmoid(log_odds)) if self.target == 1 else 1 - true(sigmoid(-log_odds))


def has_map(fit: ShownFit, target: int) -> bool:
    """Whether a class's probability depends on its own log-odds alone, before normalisation; the raw model's does."""
    return fit.key == RAW or has_class_map(fit.calibrator, target)


def map_names(fits: list[ShownFit]) -> dict[str, str]:
    """Names by key, short enough to stand beside a line: the method, and what tells it from others of the method."""
    names: dict[str, str] = {}
    for method in dict.fromkeys(fit.method for fit in fits):
        same, title = [fit for fit in fits if fit.method == method], METHODS[method].title
        if len(same) == 1:
            names[same[0].key] = title
            continue
        variants = [variant_of(fit.calibrator, fit.calibrator.n_classes_) for fit in same]
        plain = [variant.replace("platt_correction=True", "corrected") for variant in variants]
        for fit, short in zip(same, short_names(title, plain), strict=True):
            names[fit.key] = short if short == title else f"{title} {short}"
    return names


PLACES: dict[Place, str] = {"rank": "Ranks", "log_odds": "Log-odds", "probability": "Probability"}


@dataclass(frozen=True)
class MapChoice:
    """What the visitor wants to see."""

    target: int
    place: Place
    scale: Scale
    parts: frozenset[str]


def whose_map(calibration: Predictions) -> int:
    """Let the visitor pick a class, to begin with the event, or the most frequent one."""
    frequency = np.bincount(calibration.labels, minlength=calibration.n_classes)
    usual = 1 if calibration.n_classes == 2 else int(np.argmax(frequency))
    if calibration.event is not None:
        usual = calibration.event.column
    return int(
        st.selectbox(
            "Map of", range(calibration.n_classes), index=usual, key=f"maps/target/{calibration.n_classes}",
            format_func=lambda k: f"{class_in_words(calibration.name_of(k))} · "
            f"{plural(int(frequency[k]), 'calibration row')}",
            persist_state="session", width=300,
        )
    )  # fmt: skip


def controls(calibration: Predictions, target: int, posterior_of: str) -> MapChoice:
    """Over what maps are shown, how probabilities are scaled, and what of a posterior goes with them."""
    share = float((calibration.labels == target).mean())
    balanced = RARE < share < 1 - RARE
    with st.container(horizontal=True, gap="medium"):
        begin: Place = "rank" if balanced else "log_odds"
        place = segments("Scores as", PLACES, begin, f"maps/place/{begin}")
        usual: Scale = "linear" if balanced else "logit"
        scale = scale_of_probabilities(usual, f"maps/scale/{usual}")
        parts = [BAND]
        if posterior_of:
            parts = st.pills(
                f"Of {posterior_of}", list(PARTS), selection_mode="multi", default=parts,
                format_func=PARTS.__getitem__, key="maps/parts", persist_state="session",
            )  # fmt: skip
    return MapChoice(target, place, scale, frozenset(parts))


def choose(fits: list[ShownFit], target: int) -> list[ShownFit]:
    """Which maps to show; to begin with not those that have a twin without Platt's correction, shown below."""
    with_map = [fit for fit in fits if has_map(fit, target)]
    twins = {corrected.key for _, corrected in corrected_pairs(with_map)}
    offered = sorted(with_map, key=lambda fit: fit.key in twins)
    return widgets.choose(offered, "maps/methods", "Maps", aside=twins)


Known = tuple[ShownFit, BayesIsoMap]
"""A Bayes-Iso and what it knows about the map."""


def first_known(chosen: list[ShownFit], maps: ClassMaps) -> Known | None:
    """The first Bayes-Iso that has a posterior."""
    return next(((fit, seen) for fit in chosen if (seen := maps.posterior(fit)) is not None), None)


def overlay(chosen: list[ShownFit], maps: ClassMaps, choice: MapChoice, known: Known | None) -> None:
    """All maps in one figure, with one posterior."""
    names = map_names(chosen)

    def build() -> go.Figure:
        lines = [MapLine(names[fit.key], fit.style, maps.curve(fit), maps.pair(fit)) for fit in chosen]
        posterior = None if known is None else (known[1], known[0].style)
        return calibration_maps(maps.picture(choice.place), lines, choice.scale, posterior, choice.parts)

    shown = tuple((fit.key, fit.style, names[fit.key]) for fit in chosen)
    widgets.show_kept(("maps figure", choice, shown), build, "calibration-maps", HOW_TO_READ)
    if known is not None:
        name = names[known[0].key]
        if trouble := maps_words.dominated(name, known[1]):
            st.warning(trouble)
        st.caption(maps_words.knows(name, known[1]))
    for fit in chosen:
        if (pair := maps.pair(fit)) is not None:
            st.caption(maps_words.pair(names[fit.key], *pair))


def ends(chosen: list[ShownFit], maps: ClassMaps) -> None:
    """Whether the maps are right at both ends."""
    view = maps.session.view
    names = map_names(chosen)
    judged = [(names[fit.key], maps.judged(fit)) for fit in chosen]
    st.markdown(maps_words.at_the_ends(judged, view))
    with st.container(horizontal=True, gap="medium"):
        for end, title in (("first", f"Lowest {100 * END:g}\u00a0%"), ("last", f"Highest {100 * END:g}\u00a0%")):
            rows = [
                EndRow(name, fit.style, getattr(seen.ends, f"{end}_mean"), maps_words.verdict(seen, end, view))
                for fit, (name, seen) in zip(chosen, judged, strict=True)
            ]
            seen = judged[0][1]
            with st.container(width=widgets.HALF):
                widgets.show(
                    end_rows(rows, seen.share(end), seen.ends.n_pairs, f"{title} of the scores"),
                    f"ends-{end}",
                    HOW_TO_READ_ENDS,
                )


def correction(fits: list[ShownFit], maps: ClassMaps, choice: MapChoice) -> None:
    """Fits that differ by Platt's correction alone, in pairs; where there is none, a button that makes them."""
    pairs = corrected_pairs([fit for fit in fits if has_map(fit, maps.target)])
    with st.container(horizontal=True, gap="medium"):
        for without, corrected in pairs:
            with st.container(width=widgets.HALF):
                _pair(without, corrected, maps, choice)
    missing = [name for name in CORRECTABLE if name in METHODS and name not in {pair[0].method for pair in pairs}]
    shown = {fit.key for fit in fits}
    if any(job.active or (job.calibrator and job.key not in shown) for job in jobs()):
        # The menu, which follows fits, is folded away on a phone; and a fit may end while the page is drawn.
        st.button("More fits are running: refresh", key="maps/again", icon=":material/refresh:")
    elif missing:
        titles = listed([METHODS[name].title for name in missing])
        st.caption(
            f"Platt's correction softens the labels 0 and 1 by their counts, against overconfidence from few rows. "
            f"Fitted with and without it, {titles} {'appears' if len(missing) == 1 else 'appear'} here side by side."
        )
        st.button(
            "Fit with and without", key="maps/correct", icon=":material/model_training:",
            on_click=fit_both, args=(missing,),
        )  # fmt: skip


def fit_both(methods: list[str]) -> None:
    """Ask for each method with and without Platt's correction."""
    for method in methods:
        for corrected in (False, True):
            submit(method, {"platt_correction": corrected})


def corrected_pairs(fits: list[ShownFit]) -> list[tuple[ShownFit, ShownFit]]:
    """Fits of one method that differ by Platt's correction alone: without it and with it."""
    groups: dict[tuple, dict[bool, ShownFit]] = {}
    for fit in fits:
        params = fit.calibrator.get_params()
        if "platt_correction" in params:
            corrected = params.pop("platt_correction")
            groups.setdefault((fit.method, *sorted(params.items())), {})[corrected] = fit
    return [(group[False], group[True]) for group in groups.values() if len(group) == 2]


def _pair(without: ShownFit, corrected: ShownFit, maps: ClassMaps, choice: MapChoice) -> None:
    def build() -> go.Figure:
        lines = [
            MapLine(name, replace(without.style, dash=dash), maps.curve(fit))
            for name, fit, dash in (("without", without, "dot"), ("with", corrected, "solid"))
        ]
        picture = maps.picture(choice.place)
        return calibration_maps(picture, lines, choice.scale, title=without.title, height=400)

    key = ("maps correction", without.key, corrected.key, without.style, choice)
    widgets.show_kept(key, build, f"correction-{without.title}", HOW_TO_READ_CORRECTION)
    st.caption(maps_words.reach(maps.curve(without), maps.curve(corrected)))
