"""Theorem 1 on the Over/underconfidence page: the bound for every method, the plane, and any number of bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.theorem import theorem_by_bins, theorem_one
from calib.metrics import BINNINGS
from calib.plots.over_under import Row
from calib.plots.plane import balance_plane
from calib.plots.theorem import theorem_chain, theorem_lines
from calib.ui import figures
from calib.ui.fits import ShownFit
from calib.ui.session import keep
from calib.ui.text import binning_name

HALF = 495
"""Two figures and the menu fill a window of 1500 pixels."""


@dataclass(frozen=True)
class BinChoice:
    """The bins of the calibration errors."""

    n_bins: int
    binning: str


def theorem(chosen: list[ShownFit], rows: list[Row], keys: tuple[str, ...]) -> BinChoice:
    """The chain of inequalities of every method, beside the plane that shows its left side; the bins chosen."""
    # Inline, so that it wraps where the window is narrow.
    st.markdown(
        r"For any bins: $|\,o\,P(\text{wrong}) - u\,P(\text{right})\,| \le \mathrm{ECE}_1 \le \mathrm{ECE}_2 \le "
        r"\mathrm{ECE}_\infty$; the left side is the gap."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        n_bins = st.number_input(
            "Number of bins", 1, 100, 15, key="confidence/bins", persist_state="session", width=160,
            help="With one bin all four are equal. More bins find more error, and more noise; the gap stays.",
        )  # fmt: skip
        binning = st.selectbox(
            "Bins", list(BINNINGS), format_func=binning_name, key="confidence/binning",
            persist_state="session", width=160,
        )  # fmt: skip
    bins = BinChoice(int(n_bins), binning)
    with st.container(horizontal=True, gap="medium"):
        with st.container(width=HALF):
            figures.show(
                keep(("theorem", bins, *keys), partial(_chain, chosen, bins)),
                "theorem-1",
                "Each method's marker is its gap, between over- and underconfidence weighted by how often it is wrong "
                "and right; the ticks 1, 2 and ∞ are its calibration errors. None can lie to the left of the one "
                f"before it (Wenger et al. 2020, theorem 1), here with {bins.n_bins} {binning_name(binning)} bins, "
                "or with any others. Values below 0.0001 are drawn at the left end.",
            )
        with st.container(width=HALF):
            figures.show(
                keep(("plane", *keys), lambda: balance_plane(rows, title="The gap is the distance to the diagonal")),
                "balance-plane",
                "Across, doubt where right; up, confidence where wrong; both weighted by how often that is. Every "
                "calibrated method lies on the dotted diagonal, whatever its accuracy: above it a method is "
                "overconfident, below it underconfident. On the diagonal, nearer to the origin means that confidence "
                "tells right from wrong better. Arrows start at the raw model.",
            )
    return bins


def _chain(chosen: list[ShownFit], bins: BinChoice) -> go.Figure:
    chains = [(fit.title, theorem_one(*fit.evaluation.pair, bins.n_bins, bins.binning), fit.style) for fit in chosen]
    return theorem_chain(chains, title="The chain holds in every row")


def any_bins(fit: ShownFit, bins: BinChoice) -> None:
    """The chain of one method for one to a hundred bins."""
    chains = keep(
        ("theorem by bins", fit.key, bins.binning), lambda: theorem_by_bins(*fit.evaluation.pair, bins.binning)
    )
    figures.show(
        keep(
            ("theorem lines", fit.key, bins),
            lambda: theorem_lines(chains, fit.style, bins.n_bins, title="For any number of bins"),
        ),
        "theorem-by-bins",
        f"The calibration errors of {fit.title} for 1 to 100 {binning_name(bins.binning)} bins, over its gap (shaded), "
        "which needs no bins. With one bin they equal the gap; they rise above it by over- and underconfidence that "
        "cancel out on average, and by noise.",
    )
