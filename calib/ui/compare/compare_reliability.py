"""Small reliability diagrams of all methods, side by side on one scale."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from calib.diagnostics.reliability import ReliabilityCurve, default_bins, reliability_curve
from calib.plots import alt_text, figure_data
from calib.plots.axes import Scale
from calib.plots.reliability_frame import common_limits, prefers_logit_scale
from calib.plots.small_reliability import PIXELS, small_reliability
from calib.ui import downloads
from calib.ui.fits import ShownFit
from calib.ui.session import keep

HOW_TO_READ = (
    "Dots are groups of equally many test rows: how sure the model is of them against how often it is right, with 95 % "
    "Wilson intervals. On the dotted line both agree; below it the model is overconfident. The ECE is that of the "
    "table, in 15 bins of equal width. "
    "All diagrams have the same axes; the Reliability page shows each of them larger, with its histogram."
)


def small_multiples(everything: list[ShownFit]) -> None:
    """One small diagram per method, as many in a row as there is room for."""
    st.subheader("Reliability of all methods")
    curves = [_curve(fit) for fit in everything]
    scale: Scale = "logit" if prefers_logit_scale(curves[0]) else "linear"
    limits = common_limits(curves, scale)
    figures = []
    with st.container(horizontal=True, gap="small"):
        for fit, curve in zip(everything, curves, strict=True):
            ece = keep(("table ECE", fit.key), partial(_ece, fit))
            draw = partial(small_reliability, curve, fit.style, fit.title, scale, limits, ece)
            fig = keep(("small diagram", fit.key, fit.style, scale, limits), draw)
            figures.append(fig)
            st.plotly_chart(
                fig, width=PIXELS, alt=alt_text(fig), key=f"compare-small-{fit.key}",
                config={"displayModeBar": False},
            )  # fmt: skip
    with st.popover("How to read this", icon=":material/help:", type="tertiary"):
        st.write(HOW_TO_READ)
        downloads.csv(
            "Data as CSV", "compare-small/csv", "reliability.csv",
            lambda: pd.concat([figure_data(fig) for fig in figures]), of=tuple(figures),
        )  # fmt: skip


def _curve(fit: ShownFit) -> ReliabilityCurve:
    def compute() -> ReliabilityCurve:
        confidence, correct = fit.evaluation.pair
        return reliability_curve(confidence, correct, n_bins=default_bins(len(correct)), binning="equal_mass")

    return keep(("small curve", fit.key), compute)


def _ece(fit: ShownFit) -> float:
    return reliability_curve(*fit.evaluation.pair).ece
