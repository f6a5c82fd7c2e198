"""Parts of the Reliability page: the diagrams with their scores, the rows of a bin, and the panel of a risk model."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from calib.evaluation.score_registry import said_of_intervals
from calib.formatting import escape_markdown, number, percent, plural, with_interval
from calib.metrics.risk_measures import RiskMeasure
from calib.metrics.risk_panel import RiskModelPanel, risk_model
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits
from calib.plots.risk_model import prefers_logit, risk_limits, risk_model_diagram
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.chosen_rows import choose_rows, chosen_rows, list_rows, show_clickable
from calib.ui.fits import ShownFit, beside_raw, ready
from calib.ui.reliability.state import Options, band, corp, curve_of, histogram, pair_of
from calib.ui.reliability.text import how_to_read, note, scores
from calib.ui.session import OpenSession

DIAGRAM_PIXELS = 580
"""Height of a square diagram with its histogram; two stand side by side unless the window is narrow."""
BESIDE = "reliability/panel/beside"
"""Key of the choice of the method beside the raw model."""

_CURVE = (
    "The line is the observed rate at each predicted risk: a logistic regression on a restricted cubic spline of the "
    "log-odds, with its pointwise 95\u00a0% band. On the dotted diagonal the observed rate equals the predicted risk; "
    "below it risks are overestimated. Beneath: how many rows have which risk, above the line those with the event and "
    "below it those without."
)


def diagrams(chosen: list[ShownFit], options: Options) -> None:
    """Draw the diagrams, two in a row, with a ring where the rows lie that were chosen on any page."""
    view, curves = chosen[0].evaluation.view, [curve_of(fit, options) for fit in chosen]
    lines = [corp(fit, options) for fit in chosen] if options.shape == "CORP" else []
    limits = common_limits(lines or curves, options.scale, view)
    rows = chosen_rows()
    for first in range(0, len(chosen), 2):
        places = st.columns(2, gap="medium", vertical_alignment="bottom")  # scores take one line or two
        for place, k in zip(places, range(first, len(chosen)), strict=False):
            fit = chosen[k]
            with place:
                widgets.method_title(fit.title, fit.style)
                st.markdown(scores(fit, options))
                said, outcome = pair_of(fit, options.target)
                marked = None if rows is None else (float(said[rows.places].mean()), float(outcome[rows.places].mean()))
                draw = partial(
                    reliability_diagram, curves[k], fit.style, options.scale, limits=limits,
                    histogram=histogram(fit, options), height=DIAGRAM_PIXELS, band=band(fit, options), view=view,
                    line=lines[k] if lines else None, marked=marked,
                )  # fmt: skip
                key = ("diagram", fit.key, fit.style, options, limits, marked)
                name = f"reliability-{fit.title}-{options.shape}"
                if options.shape == "Bins":
                    show_clickable(key, draw, name, how_to_read(options, view), partial(_clicked, fit, options))
                else:
                    widgets.show_kept(key, draw, name, how_to_read(options, view))
    found = said_of_intervals(chosen[0].evaluation.n_clusters)
    ring = "Rings show where the chosen rows lie." if rows is not None else ""
    st.caption(" ".join(filter(None, (note(options, view), found, ring))))


def _clicked(fit: ShownFit, options: Options, trace: str, which: Any) -> None:
    if trace == "bins":
        _choose_bin(fit, options, int(which))


def _choose_bin(fit: ShownFit, options: Options, which: int) -> None:
    curve = curve_of(fit, options)
    pair, what = pair_of(fit, options.target), f"bin {which + 1} of {len(curve.count)}"
    choose_rows(fit, what, curve.bin_of_row == which, pair)


def bin_rows(chosen: list[ShownFit], options: Options) -> None:
    """List the rows that are chosen; a bin can be chosen here too, without a pointer."""
    list_rows()

    def choose_one() -> None:
        left, right = st.columns(2)
        titles = {fit.title: fit for fit in chosen}
        fit = titles[left.selectbox("Method", list(titles))]
        curve, said = curve_of(fit, options), fit.evaluation.view.said
        which = right.selectbox(
            "Bin", range(len(curve.count)), index=None, placeholder="Choose a bin",
            format_func=lambda b: f"{said} about {number(float(curve.confidence[b]))}, {curve.count[b]:,} rows",
        )  # fmt: skip
        choose = partial(_choose_bin, fit, options, which or 0)
        st.button("List its rows", key="rows/list", disabled=which is None, on_click=choose)

    widgets.folded("Which rows are in a bin?", "reliability/rows", choose_one)


def panel_of(session: OpenSession, fit: ShownFit) -> RiskModelPanel:
    """The panel of one method on the test rows, computed by a worker."""
    seen = fit.evaluation
    kind = None if seen.weights is None else session.test.weight_kind
    what = f"the panel of {fit.title}"
    return ready(("risk panel", fit.key), what, risk_model, *seen.pair, seen.weights, kind, seen.clusters)


def panel(session: OpenSession, fits: list[ShownFit], begin: ShownFit) -> None:
    """The panel of the raw model, and of one method beside it; ``begin`` is the one to begin with."""
    shown = fits[:1]
    if len(fits) > 1:
        shown = beside_raw(fits, widgets.one_fit(fits[1:], BESIDE, "Beside the raw model", begin, style="list"))
    panels = [(fit, panel_of(session, fit)) for fit in shown]
    widgets.show_table(_panel_table(panels), "measure", height="content")
    with st.popover("Definitions and intervals", icon=":material/help:", type="tertiary"):
        for measure in panels[0][1].measures:
            st.markdown(f"**{measure.title}:** {escape_markdown(measure.convention)}")
    st.caption(_about(panels[0][1]))
    curves = [panel.curve for _, panel in panels]
    limits = risk_limits(curves, "logit" if prefers_logit(curves[0]) else "linear")
    for place, (fit, panel) in zip(st.columns(2, gap="medium"), panels, strict=False):
        with place:
            _one_model(fit, panel, limits)


def _panel_table(panels: list[tuple[ShownFit, RiskModelPanel]]) -> pd.DataFrame:
    """One row per measure: each method's value with its interval, and what chance gives."""
    first = panels[0][1].measures
    table = pd.DataFrame({"measure": [measure.title for measure in first]})
    for fit, panel in panels:
        table[f"{fit.title}, 95\u00a0% interval"] = [with_interval((m.value, m.low, m.high)) for m in panel.measures]
    for fit, panel in panels:
        table[f"{fit.title}, if calibrated"] = [_if_calibrated(measure) for measure in panel.measures]
    return table


_PERFECT = {"oe": "1", "citl": "0", "slope": "1"}
"""What a calibrated model has on average, of measures that this is known of."""


def _if_calibrated(measure: RiskMeasure) -> str:
    if measure.calibrated is None:
        return _PERFECT.get(measure.key, "")
    median, most = measure.calibrated
    return f"{number(median)}, at most {number(most)}"


def _about(panel: RiskModelPanel) -> str:
    return (
        f"On {plural(panel.n, 'test row')}; the event happened in {percent(panel.event_rate)}. “If calibrated” is what "
        "a calibrated model with the same risks would have: of ICI, E50, E90 and Emax, which chance keeps above 0, the "
        "median and the value that 95\u00a0% of samples stay below."
    )


def _one_model(fit: ShownFit, panel: RiskModelPanel, limits: Limits) -> None:
    """The curve of one method on axes that both have, what restricts its numbers, and each number in a sentence."""
    view, key = fit.evaluation.view, f"risk-panel-{fit.title}"
    widgets.method_title(fit.title, fit.style)
    if panel.notes:
        restricts = " ".join(panel.notes)
        if panel.too_few_events:
            st.warning(restricts, icon=":material/warning:")
        else:
            st.caption(restricts)
    stretched = " Axes of log-odds, since most risks are below 0.1 or above 0.9." if prefers_logit(panel.curve) else ""
    widgets.show_kept(
        (key, fit.key, fit.style, limits),
        partial(risk_model_diagram, panel.curve, fit.style, view=view, limits=limits), key,
        _CURVE + stretched,
    )  # fmt: skip
    if panel.clipping:
        st.caption(escape_markdown(panel.clipping))
    sentences = [measure.sentence for measure in panel.measures] + [panel.spiegelhalter.sentence]
    st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))
