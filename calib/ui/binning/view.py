"""Parts of the I-Max binning page that show at once: the bins over the densities, and the controls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from calib.calibrators.imax import IMaxBinning
from calib.data import Predictions
from calib.diagnostics.binning import BinningPicture, picture_of_rows
from calib.formatting import plural
from calib.numerics import Floats
from calib.plots.binning import (
    SCHEME_NAMES,
    SCHEME_STYLES,
    Rail,
    Shape,
    bins_over_densities,
)
from calib.ui import widgets
from calib.ui.fits import ShownFit, ready, rows_of
from calib.ui.widgets import segments, whole_number

POOLED = -1
SHAPES: dict[Shape, str] = {"kernel": "Kernel density", "histogram": "Histogram"}
MOST_BINS = 200

HOW_TO_READ = (
    "The log-odds of one class against the rest are binned, and each bin gets one probability. Above: the density of "
    "the log-odds where the class is the label (y = 1) and where it is not (y = 0), each with an area of one. Below: "
    "one row per binning scheme, its edges as vertical lines. The number in a bin, where there is room, is its share "
    "of all pairs; the stronger the colour, the larger it is. Bins carry most information about the label where the "
    "two densities overlap. The edges of I-Max are drawn through the densities too. Hover over a bin for its width, "
    "number of pairs and representative."
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
    key = ("binning", choice.target, choice.n_bins, *shown)
    return ready(key, "the bins", picture_of_rows, choice.target, choice.n_bins, given, data=rows_of(data))


def own_bins(fit: ShownFit, target: int | None, n_classes: int) -> tuple[Floats, Floats] | None:
    """Edges and representatives of a fitted I-Max for these pairs; None where it has no one set for them."""
    if not isinstance(fit.calibrator, IMaxBinning) or fit.calibrator.classes == "top":
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
    """The densities with the rails beneath."""
    widgets.show_kept(
        ("bins", choice.shape, *key_of(choice, rails)),
        partial(bins_over_densities, picture.density, rails, choice.shape),
        "bins",
        HOW_TO_READ,
    )
