"""Parts of the Reliability page: the diagrams with their scores, and the rows of a bin."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from calib.data import Predictions
from calib.diagnostics.reliability import ReliabilityCurve
from calib.evaluation.bootstrap import said_of_intervals
from calib.evaluation.score_table import NEGLIGIBLE
from calib.evaluation.view import TOP_LABEL
from calib.formatting import brief, number, percent, signed
from calib.plots.reliability import corp_diagram, gap_diagram, reliability_diagram, smooth_diagram
from calib.plots.reliability_frame import common_limits
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.fits import ShownFit
from calib.ui.reliability import state as reliability_curves
from calib.ui.reliability.state import Options
from calib.ui.reliability.text import Headline, headline, how_to_read, note
from calib.ui.session import keep

DIAGRAM_PIXELS = 245
"""Four diagrams and the menu fill a window of 1500 pixels; narrower windows take fewer in a row."""
BENEATH_PIXELS = 115
"""Height of the histogram beneath a square diagram."""


def diagrams(
    chosen: list[ShownFit], curves: list[ReliabilityCurve], options: Options
) -> tuple[ShownFit, ReliabilityCurve, int] | None:
    """Draw the diagrams, as many in a row as fit into the window; return the bin that was clicked last, if any."""
    view = chosen[0].evaluation.view
    # Limits are those of the bins, which other curves go beyond.
    limits = common_limits(curves, options.scale, view if options.shape == "Bins" else TOP_LABEL)
    selected = None
    st.caption(" ".join(filter(None, (note(options, view), said_of_intervals(chosen[0].evaluation.n_clusters)))))
    width = DIAGRAM_PIXELS if len(chosen) > 1 else 2 * DIAGRAM_PIXELS
    with st.container(horizontal=True, gap="small"):
        for fit, curve in zip(chosen, curves, strict=True):
            with st.container(width=width):
                _scores(fit, chosen[0], options)
                fig = keep(
                    ("diagram", fit.key, fit.style, options, limits, width),
                    partial(_diagram, fit, curve, options, limits, width + BENEATH_PIXELS),
                )
                key = f"reliability-{fit.title}"
                if options.shape != "Bins":
                    widgets.show(fig, f"{key}-{options.shape}", how_to_read(options, view))
                elif bins := widgets.show_selectable(fig, key, how_to_read(options, view)):
                    selected = (fit, curve, bins[-1])
    return selected


def _diagram(fit: ShownFit, curve: ReliabilityCurve, options: Options, limits: Limits, height: int) -> go.Figure:
    style, scale, view = fit.style, options.scale, fit.evaluation.view
    histogram, band = reliability_curves.histogram(fit, options), reliability_curves.band(fit, options)
    looks: dict[str, Any] = {"limits": limits, "histogram": histogram, "height": height, "band": band, "view": view}
    if options.shape == "Smooth":
        smooth = reliability_curves.smooth(fit, options)
        return smooth_diagram(smooth, curve, style, scale, **looks)
    if options.shape == "CORP":
        steps = reliability_curves.corp(fit, options)
        return corp_diagram(steps, curve, style, scale, **looks)
    return reliability_diagram(curve, style, scale, **looks)


def gaps(chosen: list[ShownFit], curves: list[ReliabilityCurve], options: Options) -> None:
    """Draw all methods in one gap diagram."""
    view = chosen[0].evaluation.view
    fig = gap_diagram([(fit.title, curve, fit.style) for fit, curve in zip(chosen, curves, strict=True)], view=view)
    widgets.show(fig, "reliability-gap", how_to_read(options, view))


def _scores(fit: ShownFit, raw: ShownFit, options: Options) -> None:
    widgets.method_title(fit.title, fit.style)
    left, right = st.columns(2)
    is_first = fit.key == raw.key
    here: Headline = headline(fit, options)
    change = None if is_first else here.value - headline(raw, options).value
    _metric(left, here.label, here.value, change, here.meaning)
    st.caption(here.beneath)
    if options.target is None and fit.evaluation.row_nll is not None and raw.evaluation.row_nll is not None:
        nll, raw_nll = float(fit.evaluation.row_nll.mean()), float(raw.evaluation.row_nll.mean())
        _metric(
            right, "NLL", nll, None if is_first else nll - raw_nll,
            "Mean negative log-likelihood of the true class, in nats.",
        )  # fmt: skip


def _metric(place: DeltaGenerator, label: str, value: float, change: float | None, meaning: str) -> None:
    """A score with its change beneath; the one that others are compared with says so, so that rows align."""
    if change is not None and abs(change) < NEGLIGIBLE:
        place.metric(label, brief(value), delta="no change", delta_color="off", delta_arrow="off", help=meaning)
    elif change is None:
        place.metric(label, brief(value), delta="reference", delta_color="off", delta_arrow="off", help=meaning)
    else:
        place.metric(label, brief(value), delta=signed(change), delta_color="inverse", help=meaning)


def bin_rows(
    test: Predictions,
    chosen: list[ShownFit],
    curves: list[ReliabilityCurve],
    options: Options,
    selected: tuple[ShownFit, ReliabilityCurve, int] | None,
) -> None:
    """List the rows of the bin that was clicked, or of one chosen by hand."""
    view = chosen[0].evaluation.view
    with st.expander("Rows of a bin", expanded=selected is not None):
        if selected is None:
            dots = options.shape == "Bins" and options.view != "Gap"
            st.caption("Click a dot in a diagram, or choose a bin here." if dots else "Choose a bin.")
            titles = [fit.title for fit in chosen]
            left, right = st.columns(2)
            index = titles.index(left.selectbox("Method", titles))
            fit, curve = chosen[index], curves[index]
            bins = list(range(len(curve.count)))
            which = right.selectbox(
                "Bin", bins, format_func=lambda b: f"{view.said} about {number(float(curve.confidence[b]))}, "
                f"{curve.count[b]:,} rows", index=None, placeholder="Choose a bin",
            )  # fmt: skip
            if which is None:
                return
        else:
            fit, curve, which = selected
        said, outcome = fit.evaluation.pair
        rows = np.flatnonzero(curve.bin_of_row == which)
        names = np.array(test.class_names)
        st.caption(
            f"{fit.title}: {len(rows):,} rows, {view.mean_said} {percent(curve.confidence[which])}, {view.outcome} "
            f"{percent(curve.accuracy[which])} (95 %: {percent(curve.low[which])} to {percent(curve.high[which])}). "
            + ("The first 1,000 are shown." if len(rows) > 1000 else "")
        )
        rows = rows[:1000]
        st.dataframe(
            pd.DataFrame(
                {
                    "test row": rows,
                    "label": names[test.labels[rows]],
                    "predicted": names[fit.evaluation.predicted[rows]],
                    view.said: said[rows],
                    view.came_true_of_row: outcome[rows],
                }
            ),
            hide_index=True,
            height=300,
        )
