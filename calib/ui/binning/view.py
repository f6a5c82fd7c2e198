"""Parts of the I-Max binning page: the controls, the bins over the densities, and further questions about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from calib.calibrators.imax import IMaxBinning
from calib.data import Predictions
from calib.diagnostics.binning import (
    BinningPicture,
    RankHistogram,
    SharingDivergence,
    densities_of_rows,
    picture_of_rows,
    sharing_of_rows,
)
from calib.diagnostics.information_plane import information_plane
from calib.diagnostics.verifiability import error_by_bins, error_by_rows
from calib.errors import CalibrationError
from calib.formatting import escape_markdown, number, plural
from calib.metrics.binning import BINNINGS
from calib.numerics import Floats
from calib.plots.binning import (
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    bins_over_densities,
    densities,
    representatives,
    span_of,
)
from calib.plots.binning_checks import error_by_bins_chart, error_by_rows_chart, sharing_chart
from calib.plots.binning_information import (
    START_NAMES,
    edge_paths,
    gain,
    information_plane_chart,
    information_rows,
    ranks_over_bins,
    shown_steps,
)
from calib.plots.style import shorten
from calib.ui import widgets
from calib.ui.binning import text as binning_words
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.session import OpenSession
from calib.ui.text import binning_name
from calib.ui.widgets import draw_table, folded, scale_of_probabilities, segments, whole_number

POOLED = -1
MOST_BINS = 200

HOW_TO_READ = (
    "The log-odds of one class against the rest are binned, and each bin gets one probability. Above: the density of "
    "the log-odds where the class is the label (y = 1) and where it is not (y = 0), each with an area of one. Below: "
    "one row per binning scheme, its edges as vertical lines. The number in a bin, where there is room, is its share "
    "of all pairs; the stronger the colour, the larger it is. Bins carry most information about the label where the "
    "two densities overlap. The edges of I-Max are drawn through the densities too. Hover over a bin for its width, "
    "number of pairs and representative."
)
N_RESAMPLES, FEW_RESAMPLES = 50, 20
"""Samples of each size; fewer where every one has bins to be optimised."""

HOW_TO_READ_STEPS = (
    "The representative of each bin over the log-odds: the share of its pairs whose class is the label, or what a "
    "fitted calibrator made of it. The dotted grey curve is the sigmoid, the probability of the model itself; the "
    "dotted coloured one is the frequency that the densities give. Steps below the grey curve correct overconfidence."
)
HOW_TO_READ_INFORMATION = (
    "Mutual information of bin and label in nats (0.693 nats are one bit), on the kernel densities. The line is what "
    "the log-odds carry before any binning, which no bins exceed, and the label's entropy bounds that in turn. The "
    "stroke is the lower bound that I-Max raises; it takes the model's probabilities for true, so that where the model "
    "is overconfident it lies above the bar."
)
HOW_TO_READ_RANKS = (
    "The log-odds of the class a row ranks first, second and so on, each row as tall as its highest cell, beneath "
    "those of the label. Above zero a class is always the first of its row. Edges where ranks overlap keep them apart; "
    "between two edges, ties are broken by the raw logits."
)


@dataclass(frozen=True)
class BinningChoice:
    """What the visitor wants to see; ``target`` is None where all classes are pooled."""

    target: int | None
    n_bins: int

    def class_name(self, data: Predictions) -> str | None:
        """The class shown, also where there are but two."""
        if data.n_classes == 2:
            return data.name_of(1)
        return None if self.target is None else str(data.class_names[self.target])


def controls(data: Predictions) -> BinningChoice:
    """Whose pairs, and how many bins."""
    frequency = np.bincount(data.labels, minlength=data.n_classes)

    def title(k: int) -> str:
        if k == POOLED:
            return "All classes (shared map)"
        return f"{data.class_names[k]}, class-wise · {plural(int(frequency[k]), 'row')}"

    with st.container(horizontal=True, gap="medium"):
        target = POOLED
        if data.n_classes > 2:
            target = st.selectbox(
                "Pairs of", [POOLED, *range(data.n_classes)], format_func=title, key=f"binning/target/{data.n_classes}",
                persist_state="session", width=340,
            )  # fmt: skip
        n_bins = whole_number("Number of bins", 2, MOST_BINS, 15, "binning/bins", width=150)
    return BinningChoice(None if target in (POOLED, None) else int(target), n_bins)


def picture_of(data: Predictions, choice: BinningChoice, fits: list[ShownFit]) -> BinningPicture:
    """The numbers behind the page, computed once per choice.

    Raises
    ------
    CalibrationError
        Where all pairs have the same outcome.
    """
    given = {fit.title: bins for fit in fits if (bins := own_bins(fit, choice.target, data.n_classes)) is not None}
    shown = tuple(fit.key for fit in fits if fit.title in given)
    key = ("binning", choice.target, choice.n_bins, *shown)
    return ready(key, "the bins", picture_of_rows, choice.target, choice.n_bins, given, data=rows_of(data))


def own_bins(fit: ShownFit, target: int | None, n_classes: int) -> tuple[Floats, Floats] | None:
    """Edges and representatives of a fitted I-Max for these pairs; None where it has no one set for them."""
    if not isinstance(fit.calibrator, IMaxBinning) or fit.calibrator.classes == "top":
        return None
    maps = fit.calibrator.maps_
    if len(maps) > 1 and target is None:
        return None
    bins = maps[0 if len(maps) == 1 or target is None else target]
    return None if bins is None else (bins.edges, bins.values)


def rails_of(picture: BinningPicture, fits: list[ShownFit]) -> list[Rail]:
    """The schemes and the visitor's own bins as they are drawn."""
    rails = [(SCHEME_NAMES[name], picture.schemes[name], SCHEME_STYLES[name]) for name in SCHEME_NAMES]
    return rails + [
        (f"{fit.title}, fitted", picture.schemes[fit.title], fit.style) for fit in fits if fit.title in picture.schemes
    ]


def key_of(choice: BinningChoice, rails: list[Rail]) -> tuple:
    """Names a figure of this picture."""
    return (choice.target, choice.n_bins, *(name for name, _, _ in rails))


def bins(picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The densities with the rails beneath."""
    widgets.show_kept(
        ("bins", *key_of(choice, rails)),
        partial(bins_over_densities, picture.density, rails),
        "bins",
        HOW_TO_READ,
    )


def questions(
    session: OpenSession, picture: BinningPicture, rails: list[Rail], choice: BinningChoice, fits: list[ShownFit]
) -> None:
    """What can be asked further of these bins."""
    data = session.calibration
    folded("What does each bin say, and how much do the bins keep?", "binning/meaning",
           partial(meaning, picture, rails, choice))  # fmt: skip
    folded("Every bin in numbers", "binning/numbers", partial(in_numbers, rails))
    folded("How does I-Max find its edges?", "binning/iterations", partial(iterations, picture, choice))
    folded("How near does any number of bins come to the limit?", "binning/plane", partial(plane, picture, choice))
    if picture.ranks is not None:
        draw = partial(ranks, picture.ranks, picture, rails, choice)
        folded("Which ranks of a row's classes do the bins separate?", "binning/ranks", draw)
    if data.n_classes > 2:
        folded("One class alone, or all classes pooled?", "binning/sharing",
               partial(sharing, data, session.data, choice))  # fmt: skip
    folded("Can the calibration error be verified?", "binning/verify", partial(verifiability, fits))


def in_numbers(rails: list[Rail]) -> None:
    """Every bin of one scheme in numbers."""
    names = [name for name, _, _ in rails]
    chosen = segments("Scheme", names, names[0], f"binning/table/{len(names)}")
    place = names.index(chosen) if chosen in names else 0
    draw_table(binning_words.bin_table(rails[place][1]))


def meaning(picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The representatives of the bins, and the information that they keep."""
    scale = scale_of_probabilities("linear", "binning/scale")
    key = key_of(choice, rails)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=widgets.INSIDE):
            draw = partial(representatives, picture.density, rails, scale)
            widgets.show_kept(("steps", scale, *key), draw, "representatives", HOW_TO_READ_STEPS)
        with st.container(width=widgets.INSIDE):
            draw = partial(information_rows, rails, picture.information, picture.label_entropy)
            widgets.show_kept(("information", *key), draw, "information", HOW_TO_READ_INFORMATION)
            st.caption(binning_words.bound_note(picture))


def ranks(by_rank: RankHistogram, picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The log-odds by rank, where all classes are pooled."""
    draw = partial(ranks_over_bins, by_rank, picture.density, rails[0])
    widgets.show_kept(("ranks", *key_of(choice, rails)), draw, "ranks", HOW_TO_READ_RANKS)


def iterations(picture: BinningPicture, choice: BinningChoice) -> None:
    """How I-Max comes to its edges: a start, a step, and the information there."""
    traces = {trace.start: place for place, trace in reversed(list(enumerate(picture.traces)))}
    with st.container(horizontal=True, gap="large"):
        start = segments(
            "Start from",
            [name for name in START_NAMES if name in traces],
            picture.best.start,
            f"binning/start/{picture.best.start}",
            START_NAMES.__getitem__,
        )
        place = traces[start]
        trace, kept = picture.traces[place], picture.trace_information[place]
        steps = [int(step) for step in shown_steps(trace)]
        step = steps[-1]
        if len(steps) > 1:
            step = st.select_slider(
                "Step", steps, value=steps[-1], width=420,
                key=f"binning/step/{choice.target}/{choice.n_bins}/{start}/{steps[-1]}",
            )  # fmt: skip
    best = " It ends highest of all starts, and gives the bins above." if place == 0 else ""
    st.caption(
        f"After {step:,} of {plural(len(trace.edges) - 1, 'step')}: bound {number(trace.bound[step], 5)} nats, "
        f"the bins keep {number(kept[step], 5)} of the {number(picture.information, 5)} nats that the log-odds carry."
        f"{best}"
    )
    key = (choice.target, choice.n_bins, start, step)
    span = span_of(picture.density, [edges for other in picture.traces for edges in (other.edges[0], other.edges[-1])])
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=widgets.INSIDE):
            draw = partial(gain, picture.traces, picture.trace_information, picture.information, place, step)
            widgets.show_kept(
                ("gain", *key),
                draw,
                "information-over-steps",
                "Solid: what the bins keep of the labels on the kernel densities, beneath the dotted line of all there "
                "is. Dashed: the bound that every step raises, which takes the model's probabilities for true. One "
                "colour per start; the thick one is the chosen, and the vertical line its step.",
            )
        with st.container(width=widgets.INSIDE):
            widgets.show_kept(
                ("paths", *key),
                partial(edge_paths, trace, step, span),
                "edges-over-steps",
                "Time runs downwards: each line is one edge from the start on top to where it stays. The dots are the "
                "edges at the chosen step.",
            )


def plane(picture: BinningPicture, choice: BinningChoice) -> None:
    """The information plane of 2 to 64 bins."""
    points = ready(("plane", choice.target), "2 to 64 bins placed in every way", information_plane, picture.density)
    widgets.show_kept(
        ("plane figure", choice.target),
        partial(information_plane_chart, points),
        "information-plane",
        "Every dot is one number of bins, from 2 to 64; I-Max's are numbered. To the right it costs more nats to "
        "name a bin, upwards the bins keep more information about the label. Nothing can lie in the shaded part: "
        "the information bottleneck is the most that any compression, also a random one, can keep at that rate. "
        "The kernel densities are taken for the truth here, and bins are placed on them.",
    )


def sharing(data: Predictions, every: Predictions, choice: BinningChoice) -> None:
    """One class on its own beside all classes pooled."""
    _side_by_side(data, choice)
    try:
        divergence = ready(("sharing",), "calibration sets of growing size", sharing_of_rows, data=rows_of(every))
    except CalibrationError as error:
        st.info(escape_markdown(str(error)))
        return
    shown = choice.target if choice.target in divergence.classes else None
    _say_sharing(divergence)
    widgets.show_kept(
        ("sharing figure", shown),
        partial(sharing_chart, divergence, every.class_names, shown),
        "sharing",
        "Half of all open rows give the distribution of the log-odds of a class where it is the label. Calibration "
        "sets of growing size are drawn from the other half: lines show how far the histogram of the class's own "
        "rows (class-wise), or of the labels of all classes (shared map), is from that; 0 is the same, 1 has no "
        "overlap. Faint lines are single classes. A shared map is biased but has more pairs; where the dashed line "
        "stays above the solid one, sharing pays.",
    )


def _side_by_side(data: Predictions, choice: BinningChoice) -> None:
    frequency = np.bincount(data.labels, minlength=data.n_classes)
    k = int(frequency.argmax()) if choice.target is None else choice.target
    alone, pooled = ready(("two densities", k), "the densities of one class", densities_of_rows, k, data=rows_of(data))
    span = span_of(pooled)
    name = str(data.class_names[k])
    st.caption(
        f"{binning_words.quoted(name)} is the label of {plural(int(frequency[k]), 'calibration row')} of "
        f"{len(data):,}; pooled, every row has a pair with y = 1. Choose another class above."
    )
    with st.container(horizontal=True, gap="medium"):
        for key, density, title in (
            ("alone", alone, f"{shorten(name, 24)} (class-wise)"),
            ("pooled", pooled, "all classes (shared map)"),
        ):
            with st.container(width=widgets.INSIDE):
                widgets.show_kept(
                    ("side", key, k),
                    partial(densities, density, span, title=title),
                    f"log-odds-{key}",
                    "Histograms with their kernel densities, each outcome with an area of one. Alone, a class has few "
                    "pairs with y = 1, so its histogram is rough; pooling has one for every row.",
                )


def _say_sharing(divergence: SharingDivergence) -> None:
    nearer = divergence.shared < divergence.classwise
    known = np.isfinite(divergence.classwise)
    first, last = (int((nearer[:, i] & known[:, i]).sum()) for i in (0, -1))
    n = len(divergence.classes)
    st.markdown(
        f"With {plural(int(divergence.n_rows[0]), 'row')} the pooled pairs are nearer to the truth in {first} of {n} "
        f"classes, with {divergence.n_rows[-1]:,} in {last}."
    )


def verifiability(shown: list[ShownFit]) -> None:
    """ECE of each fit against the bins and the rows of its evaluation."""
    binning = segments("Evaluation bins", list(BINNINGS), "equal_width", "binning/evaluation", binning_name)
    pairs = {fit.title: fit.evaluation.pair for fit in shown}
    styles = {fit.title: fit.style for fit in shown}
    keys = (binning, *(fit.key for fit in shown))
    resamples = FEW_RESAMPLES if binning == "imax" else N_RESAMPLES
    measure = partial(error_by_rows, binning=binning, n_resamples=resamples)
    bins = ready(("error by bins", *keys), "the ECE in many bins", partial(error_by_bins, binning=binning), pairs)
    rows = ready(("error by rows", *keys), "the ECE of samples of all sizes", measure, pairs)
    st.markdown(binning_words.steadiness(bins))
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=widgets.INSIDE):
            widgets.show_kept(
                ("bins figure", *keys),
                partial(error_by_bins_chart, bins, styles),
                "ece-by-bins",
                "ECE of the top label on the test rows. A method with few distinct confidences has one ECE once "
                "each has a bin of its own, so its line goes level; of a method with continuous confidences, ECE "
                "depends on how it is measured, and its true value stays unknown.",
            )
        with st.container(width=widgets.INSIDE):
            widgets.show_kept(
                ("rows figure", *keys),
                partial(error_by_rows_chart, rows, styles),
                "ece-by-rows",
                f"Mean ECE of bootstrap samples of the test rows in {rows.n_bins} bins, with bands of "
                f"{100 * rows.level:.0f}\u00a0%: it falls as noise averages out, and can be believed where it is "
                "level.",
            )
