"""Parts of the Reliability page: the diagrams with their scores, and the rows of a bin."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.data import Predictions
from calib.diagnostics.reliability import CorpCurve, ReliabilityCurve
from calib.diagnostics.smooth_reliability import SmoothCurve
from calib.evaluation.bootstrap import said_of_intervals
from calib.evaluation.view import TOP_LABEL
from calib.formatting import number, percent, plural
from calib.plots.reliability import gap_diagram, reliability_diagram
from calib.plots.reliability_frame import common_limits
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.fits import ShownFit
from calib.ui.reliability import state as reliability_curves
from calib.ui.reliability.state import Options, crowded
from calib.ui.reliability.text import axes_note, how_to_read, note, scores
from calib.ui.session import keep
from calib.ui.widgets import draw_table

Bin = tuple[ShownFit, ReliabilityCurve, int]
"""A method, its curve, and the number of one of its bins."""

DIAGRAM_PIXELS = 580
"""Height of a square diagram with its histogram; two stand side by side unless the window is narrow."""


def diagrams(chosen: list[ShownFit], curves: list[ReliabilityCurve], options: Options) -> Bin | None:
    """Draw the diagrams, two in a row, one beside its gaps; return the bin that was clicked last, if any."""
    view = chosen[0].evaluation.view
    # Limits are those of the bins, which other curves go beyond.
    limits = common_limits(curves, options.scale, view if options.shape == "Bins" else TOP_LABEL)
    selected = None
    methods = list(zip(chosen, curves, strict=True))
    for first in range(0, len(methods), 2):
        places = st.columns(2, gap="medium")
        for place, (fit, curve) in zip(places, methods[first : first + 2], strict=False):
            with place:
                widgets.method_title(fit.title, fit.style)
                st.markdown(scores(fit, chosen[0], options))
                fig = keep(
                    ("diagram", fit.key, fit.style, options, limits), partial(_diagram, fit, curve, options, limits)
                )
                key = f"reliability-{fit.title}"
                if options.shape != "Bins":
                    widgets.show(fig, f"{key}-{options.shape}", how_to_read(options, view))
                elif bins := widgets.show_selectable(fig, key, how_to_read(options, view)):
                    selected = (fit, curve, bins[-1])
        if len(methods) == 1:
            with places[1]:
                gaps(chosen, curves, replace(options, view="Gap"))
    return selected


def _diagram(fit: ShownFit, curve: ReliabilityCurve, options: Options, limits: Limits) -> go.Figure:
    histogram, band = reliability_curves.histogram(fit, options), reliability_curves.band(fit, options)
    line: SmoothCurve | CorpCurve | None = None
    if options.shape == "Smooth":
        line = reliability_curves.smooth(fit, options)
    elif options.shape == "CORP":
        line = reliability_curves.corp(fit, options)
    return reliability_diagram(
        curve, fit.style, options.scale, limits=limits, histogram=histogram, height=DIAGRAM_PIXELS, band=band,
        view=fit.evaluation.view, line=line,
    )  # fmt: skip


def gaps(chosen: list[ShownFit], curves: list[ReliabilityCurve], options: Options) -> None:
    """Draw all methods in one gap diagram."""
    view = chosen[0].evaluation.view
    fig = gap_diagram([(fit.title, curve, fit.style) for fit, curve in zip(chosen, curves, strict=True)], view=view)
    widgets.show(fig, "reliability-gap", how_to_read(options, view))


def explain(chosen: list[ShownFit], options: Options) -> None:
    """What the axes and the numbers over the pictures are."""
    raw, view = chosen[0], chosen[0].evaluation.view
    intervals = said_of_intervals(raw.evaluation.n_clusters)
    st.caption(" ".join(filter(None, (axes_note(options, crowded(raw), view), note(options, view), intervals))))


def bin_rows(test: Predictions, chosen: list[ShownFit], curves: list[ReliabilityCurve], selected: Bin | None) -> None:
    """List the rows of the bin that was clicked, or of one that is chosen in a folded part."""
    if selected is not None:
        _list_rows(test, *selected)
        return

    def choose_one() -> None:
        view = chosen[0].evaluation.view
        st.caption("Click a marker in a diagram, or choose a bin here.")
        left, right = st.columns(2)
        titles = [fit.title for fit in chosen]
        index = titles.index(left.selectbox("Method", titles))
        fit, curve = chosen[index], curves[index]
        which = right.selectbox(
            "Bin", range(len(curve.count)), index=None, placeholder="Choose a bin",
            format_func=lambda b: f"{view.said} about {number(float(curve.confidence[b]))}, {curve.count[b]:,} rows",
        )  # fmt: skip
        if which is not None:
            _list_rows(test, fit, curve, which)

    widgets.folded("Which rows are in a bin?", "reliability/rows", choose_one)


def _list_rows(test: Predictions, fit: ShownFit, curve: ReliabilityCurve, which: int) -> None:
    view, (said, outcome) = fit.evaluation.view, fit.evaluation.pair
    rows = np.flatnonzero(curve.bin_of_row == which)
    names = np.array(test.class_names)
    st.caption(
        f"{fit.title}: {plural(len(rows), 'row')}, {view.mean_said} {percent(curve.confidence[which])}, {view.outcome} "
        f"{percent(curve.accuracy[which])} (95\u00a0%: {percent(curve.low[which])} to {percent(curve.high[which])}). "
        + ("The first 1,000 are shown." if len(rows) > 1000 else "")
    )
    rows = rows[:1000]
    draw_table(
        pd.DataFrame(
            {
                "test row": rows,
                "label": names[test.labels[rows]],
                "predicted": names[fit.evaluation.predicted[rows]],
                view.said: said[rows],
                view.came_true_of_row: outcome[rows],
            }
        ),
        height=300,
    )
