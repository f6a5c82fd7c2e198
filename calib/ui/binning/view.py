"""Parts of the Binning page that show at once: the controls, the bins over the densities, and what they keep."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from calib.calibrators.imax import IMaxBinning
from calib.data import Predictions
from calib.diagnostics.binning import BinningPicture, binning_picture
from calib.formatting import plural
from calib.numerics import Floats
from calib.plots.binning import (
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    Shape,
    bins_over_densities,
    representatives,
)
from calib.plots.binning_information import (
    information_rows,
    ranks_over_bins,
)
from calib.ui import widgets
from calib.ui.binning import text as binning_words
from calib.ui.fits import ShownFit
from calib.ui.session import keep
from calib.ui.widgets import scale_of_probabilities, segments, whole_number

POOLED = -1
SHAPES: dict[Shape, str] = {"kernel": "Kernel density", "histogram": "Histogram"}
MOST_BINS = 200

HOW_TO_READ = (
    "A classifier's log-odds of one class against the rest go into bins, and each bin gets one probability. Above, "
    "how the log-odds are distributed where the class is the label (y = 1) and where it is not (y = 0), each with an "
    "area of one. Beneath: one rail per scheme, its edges as strokes; the darker a bin, the more pairs lie in it. Bins "
    "tell most about the label where the two distributions overlap. I-Max's edges run up through the densities. "
    "Hovering over a bin gives its width, pairs and representative."
)
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
    shape: Shape

    def class_name(self, data: Predictions) -> str | None:
        """The class shown, also where there are but two."""
        if data.n_classes == 2:
            return data.name_of(1)
        return None if self.target is None else str(data.class_names[self.target])


def controls(data: Predictions) -> BinningChoice:
    """Whose pairs, how many bins, and how the log-odds are drawn."""
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
        shape = segments("Log-odds as", SHAPES, "kernel", "binning/shape")
    return BinningChoice(None if target in (POOLED, None) else int(target), n_bins, shape)


def picture_of(data: Predictions, choice: BinningChoice, fits: list[ShownFit]) -> BinningPicture:
    """The numbers behind the page, computed once per choice.

    Raises
    ------
    CalibrationError
        Where all pairs have the same outcome.
    """
    given = {fit.title: bins for fit in fits if (bins := own_bins(fit, choice.target, data.n_classes)) is not None}
    shown = tuple(fit.key for fit in fits if fit.title in given)
    return keep(
        ("binning", choice.target, choice.n_bins, *shown),
        partial(binning_picture, data.logits, data.labels, choice.target, choice.n_bins, given),
    )


def own_bins(fit: ShownFit, target: int | None, n_classes: int) -> tuple[Floats, Floats] | None:
    """Edges and representatives of a fitted I-Max for these pairs; None where it has no one set for them."""
    if not isinstance(fit.calibrator, IMaxBinning):
        return None
    maps = fit.calibrator.maps_
    if len(maps) > 1 and target is None:
        return None
    state = maps[0 if len(maps) == 1 or target is None else target]
    return (state["edges"], state["values"]) if state else None


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
    """The densities with the rails beneath, and every bin in numbers."""
    widgets.show_kept(
        ("bins", choice.shape, *key_of(choice, rails)),
        partial(bins_over_densities, picture.density, rails, choice.shape),
        "bins",
        HOW_TO_READ,
    )
    with st.expander("Every bin in numbers"):
        names = [name for name, _, _ in rails]
        chosen = segments("Scheme", names, names[0], f"binning/table/{len(names)}")
        place = names.index(chosen) if chosen in names else 0
        st.dataframe(binning_words.bin_table(rails[place][1]), hide_index=True)


def meaning(picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The representatives of the bins, and the information that they keep."""
    scale = scale_of_probabilities("linear", "binning/scale")
    key = key_of(choice, rails)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=widgets.HALF):
            draw = partial(representatives, picture.density, rails, scale, title="Representatives of the bins")
            widgets.show_kept(("steps", scale, *key), draw, "representatives", HOW_TO_READ_STEPS)
        with st.container(width=widgets.HALF):
            draw = partial(
                information_rows, rails, picture.information, picture.label_entropy, title="What the bins keep"
            )
            widgets.show_kept(("information", *key), draw, "information", HOW_TO_READ_INFORMATION)
            st.caption(binning_words.bound_note(picture))


def ranks(picture: BinningPicture, rails: list[Rail], choice: BinningChoice) -> None:
    """The log-odds by rank, where all classes are pooled."""
    if picture.ranks is None:
        return
    st.subheader("Ranks that the bins separate")
    draw = partial(ranks_over_bins, picture.ranks, picture.density, rails[: len(SCHEME_NAMES)])
    widgets.show_kept(("ranks", *key_of(choice, rails)), draw, "ranks", HOW_TO_READ_RANKS)
