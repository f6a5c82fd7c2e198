"""Parts of the I-Max binning page: the controls, the bins over the densities, and further questions about them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from calib.calibrators.imax import IMaxBinning
from calib.data import Predictions
from calib.diagnostics.binning import (
    BinnedPairs,
    BinningPicture,
    information_by_bins,
    picture_of_rows,
    uncertain_span,
)
from calib.diagnostics.bins import binning_limits, set_divergence
from calib.formatting import listed, number, percent, plural
from calib.numerics import Floats, sigmoid
from calib.plots.binning import (
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    bins_over_densities,
    representatives,
)
from calib.plots.bins import (
    information_rate_chart,
    set_divergence_chart,
    steps_chart,
)
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.text import literal
from calib.ui.widgets import (
    choose_class,
    folded,
    scale_of_probabilities,
    whole_number,
)


def finding(picture: BinningPicture) -> str:
    """Describe how much information of the log-odds each scheme keeps, and its edges where labels are uncertain."""
    schemes = [(title, picture.schemes[name]) for name, title in SCHEME_NAMES.items()]
    (title, best), *others = sorted(schemes, key=lambda scheme: -scheme[1].label_information)
    most = picture.information
    rest = listed([f"{other} {_of(bins.label_information, most)}" for other, bins in others])
    information = (
        f"**{_capital(title)} keeps {_of(best.label_information, most)} of the mutual information "
        f"of log-odds and label** ({number(best.label_information)} of {number(most)} nats) in "
        f"{plural(len(best.count), 'bin')}; {rest}."
    )
    return f"{information} {edges_where_uncertain(picture)}"


def edges_where_uncertain(picture: BinningPicture) -> str:
    """Number of edges of each scheme where most of the uncertainty about the label lies.

    A scheme with more edges there than I-Max is said to be no better for it, or to be so, by what its bins keep.
    """
    low, high = uncertain_span(picture.density)
    schemes = {name: picture.schemes[name] for name in SCHEME_NAMES}
    inside = {
        name: int(((bins.edges >= low) & (bins.edges <= high)).sum())
        for name, bins in schemes.items()
    }
    counts = [f"{SCHEME_NAMES[name]} {n or 'none'}" for name, n in inside.items() if name != "imax"]
    ends = " to ".join(number(float(sigmoid(np.array(end)))) for end in (low, high))
    sentence = (
        f"Where half of the uncertainty about the label lies, at a probability of the model of {ends}, "
        f"I-Max has {inside['imax'] or 'none'} of its {plural(len(schemes['imax'].edges), 'edge')}, {listed(counts)}."
    )
    more = [name for name in SCHEME_NAMES if inside[name] > inside["imax"]]
    worse = [
        SCHEME_NAMES[name]
        for name in more
        if schemes[name].label_information < schemes["imax"].label_information
    ]
    if not worse:
        return sentence
    have, keep = ("has", "keeps") if len(worse) == 1 else ("have", "keep")
    return f"{sentence} {_capital(listed(worse))} {have} more edges there and still {keep} less."


def describe_pairs(picture: BinningPicture, class_name: str | None) -> str:
    """Whose pairs are shown, in one line."""
    positives = int(picture.density.count_label.sum())
    if class_name is not None:
        of = f"of “{literal(class_name)}” against {'the other class' if picture.n_classes == 2 else 'the rest'}"
    else:
        of = f"of all {picture.n_classes:,} classes, each against the rest"
    return (
        f"{plural(picture.n_pairs, 'pair')} {of}, from {plural(picture.n_rows, 'calibration row')}; {positives:,} "
        f"({percent(positives / picture.n_pairs, 2)}) have y = 1, which means that the class is the label."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _of(part: float, whole: float) -> str:
    return percent(part / whole) if whole > 0 else "–"


MOST_BINS = 200

HOW_TO_READ = (
    "The log-odds of one class against the rest are binned, and each bin gets one probability. Above: densities of "
    "the log-odds where the class is the label (y = 1) and where it is not (y = 0), each of area one. Below: one row "
    "per binning scheme, its edges as vertical lines. The number in a bin, where there is room, is its share of all "
    "pairs; the stronger the colour, the larger it is. Bins carry most information about the label where the two "
    "densities overlap. The edges of I-Max are drawn through the densities too. Hover over a bin for its width, "
    "number of pairs and representative."
)
HOW_TO_READ_STEPS = (
    "The representative of each bin over the log-odds: the share of its pairs whose class is the label, or a fitted "
    "calibrator's value. The dotted grey curve is the sigmoid, the probability of the model itself; the dotted "
    "coloured one is the frequency that the densities give. Steps below the grey curve correct overconfidence."
)
HOW_TO_READ_RATE = (
    "What 2 to 64 bins keep about the label against the rate I(bin; log-odds) that naming a bin costs. The dotted line "
    "is the information bottleneck: no bins, also of chance, lie above it. The kernel densities are taken for the "
    "truth here, and bins are placed on them."
)
HOW_TO_READ_ITERATIONS = (
    "Information that the bins keep after each step of I-Max, from bins of equal mass and of equal width, under the "
    "sigmoid of the log-odds. No step lowers it; the dotted line is what the log-odds carry under the same model."
)
HOW_TO_READ_SETS = (
    "Half of the calibration rows stand for the truth of each class. Up is the distance of the log-odds of true "
    "pairs from those of a set, 0 (equal) to 1. Sets come from the other half: the class's own pairs, or those of "
    "all classes. Bands contain 80\u00a0% of the classes."
)


@dataclass(frozen=True)
class BinningChoice:
    """Choices of the visitor; ``target`` is None where all classes are pooled."""

    target: int | None
    n_bins: int

    def class_name(self, data: Predictions) -> str | None:
        """The class shown, also where there are but two."""
        if data.n_classes == 2:
            return data.name_of(1)
        return None if self.target is None else str(data.class_names[self.target])


def controls(data: Predictions) -> BinningChoice:
    """Whose pairs, and how many bins."""
    counts = np.bincount(data.labels, minlength=data.n_classes)
    titles = [
        f"{name}, class-wise · {plural(int(count), 'row')}"
        for name, count in zip(data.class_names, counts, strict=True)
    ]
    every = "All classes (shared map)"
    target = None
    with st.container(horizontal=True, gap="medium"):
        if data.n_classes > 2:
            key = f"binning/target/{data.n_classes}"
            target = choose_class("Pairs of", every, titles, key, width=340)
        n_bins = whole_number("Number of bins", 2, MOST_BINS, 15, "binning/bins", width=150)
    return BinningChoice(target, n_bins)


def picture_of(data: Predictions, choice: BinningChoice, fits: list[ShownFit]) -> BinningPicture:
    """The numbers behind the page, computed once per choice."""
    fitted = {
        fit.title: bins for fit in fits if (bins := fitted_bins(fit, choice.target)) is not None
    }
    fit_keys = tuple(fit.key for fit in fits if fit.title in fitted)
    key = ("binning", choice.target, choice.n_bins, *fit_keys)
    return ready(
        key, "the bins", picture_of_rows, choice.target, choice.n_bins, fitted, data=rows_of(data)
    )


def fitted_bins(fit: ShownFit, target: int | None) -> tuple[Floats, Floats] | None:
    """Edges and representatives of a fitted I-Max for these pairs; None where it has no one set for them."""
    if not isinstance(fit.calibrator, IMaxBinning):
        return None
    maps = fit.calibrator.maps_
    if len(maps) > 1 and target is None:
        return None
    bins = maps[0 if len(maps) == 1 or target is None else target]
    return None if bins is None else (bins.edges, bins.values)


def rails_of(picture: BinningPicture, fits: list[ShownFit]) -> list[Rail]:
    """The schemes, and the visitor's own bins where these are others than I-Max's."""
    imax = picture.schemes["imax"]
    rails = [
        (SCHEME_NAMES[name], picture.schemes[name], SCHEME_STYLES[name]) for name in SCHEME_NAMES
    ]
    return rails + [
        (f"{fit.title}, fitted", picture.schemes[fit.title], fit.style)
        for fit in fits
        if fit.title in picture.schemes and not _same(picture.schemes[fit.title], imax)
    ]


def _same(bins: BinnedPairs, others: BinnedPairs) -> bool:
    if bins.edges.shape != others.edges.shape:
        return False
    return all(
        np.allclose(mine, theirs, atol=0.005)
        for mine, theirs in (
            (bins.edges, others.edges),
            (bins.representatives, others.representatives),
        )
    )


def bins(picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The densities with the rails beneath."""
    draw = partial(bins_over_densities, picture.density, rails)
    widgets.show_cached(("bins", *_key(choice, rails)), draw, "bins", HOW_TO_READ)


def questions(
    data: Predictions, picture: BinningPicture, rails: list[Rail], choice: BinningChoice
) -> None:
    """Offer further questions about these bins."""
    folded(
        "The probability of each bin", "binning/meaning", partial(meaning, picture, rails, choice)
    )
    folded(
        "Information kept by 2 to 64 bins",
        "binning/numbers",
        partial(numbers_of_bins, picture, choice),
    )
    if data.n_classes > 2:
        sets = partial(compare_sets, data)
        folded("Shared bins, or bins for each class?", "binning/sets", sets)


def meaning(picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The representatives of the bins."""
    scale = scale_of_probabilities("linear", "binning/scale")
    draw = partial(representatives, picture.density, rails, scale)
    widgets.show_cached(
        ("steps", scale, *_key(choice, rails)), draw, "representatives", HOW_TO_READ_STEPS
    )


def numbers_of_bins(picture: BinningPicture, choice: BinningChoice) -> None:
    """Show the information that 2 to 64 bins keep."""
    what = "2 to 64 bins placed in every way"
    information = ready(
        ("information by bins", choice.target), what, information_by_bins, picture.density
    )
    key = ("binning limits", choice.target, choice.n_bins)
    limits = ready(key, "the limit of all bins", binning_limits, picture.density, choice.n_bins)
    by_rate = partial(information_rate_chart, information, limits)
    widgets.show_cached(("rate", *key), by_rate, "information-by-rate", HOW_TO_READ_RATE)
    by_step = partial(steps_chart, limits)
    widgets.show_cached(("steps of", *key), by_step, "iterations", HOW_TO_READ_ITERATIONS)


def compare_sets(data: Predictions) -> None:
    """Compare the pairs of all classes with those of one class as stand-ins for that class."""
    divergence = ready("set divergence", "pairs of each class", set_divergence, data=rows_of(data))
    class_wise, shared = (
        float(values[-1].mean()) for values in (divergence.class_wise, divergence.shared)
    )
    per_class = len(data) / data.n_classes
    nearer = "shared" if shared < class_wise else "class-wise"
    st.markdown(
        f"A class has {per_class:,.0f} rows of its own on average, the shared set {len(data):,}. With "
        f"{divergence.n_rows[-1]:,} rows the {nearer} set is nearer to a class: {number(min(class_wise, shared))} "
        f"against {number(max(class_wise, shared))}."
    )
    draw = partial(set_divergence_chart, divergence)
    widgets.show_cached("set divergence figure", draw, "sets", HOW_TO_READ_SETS)


def _key(choice: BinningChoice, rails: list[Rail]) -> tuple[object, ...]:
    """Names a figure of these rails."""
    return (choice.target, choice.n_bins, *(name for name, _, _ in rails))
