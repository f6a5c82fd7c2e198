"""Parts of the Reliability page: the diagrams with their scores, the rows of a bin, and the panel of a risk model."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from calib.diagnostics.reliability import ReliabilityCurve
from calib.evaluation.scored import said_of_intervals
from calib.formatting import escape_markdown, number, percent, plural, with_interval
from calib.metrics.risk_measures import RiskMeasure
from calib.metrics.risk_model import RiskModelPanel, risk_model
from calib.plots.reliability import reliability_diagram
from calib.plots.reliability_frame import common_limits
from calib.plots.risk_model import prefers_logit, risk_limits, risk_model_diagram
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.fits import ShownFit, beside_raw, ready
from calib.ui.reliability import state as reliability_curves
from calib.ui.reliability.state import Options, crowded
from calib.ui.reliability.text import axes_note, how_to_read, note, scores
from calib.ui.session import OpenSession, keep
from calib.ui.widgets import draw_table

Bin = tuple[ShownFit, ReliabilityCurve, int]
"""A method, its curve, and the number of one of its bins."""

DIAGRAM_PIXELS = 580
"""Height of a square diagram with its histogram; two stand side by side unless the window is narrow."""
FOLDED = "reliability/panel"
"""Key of the folded part."""
BESIDE = "reliability/panel/beside"
"""Key of the choice of the method beside the raw model."""

_CURVE = (
    "The line is the observed rate at each predicted risk: a logistic regression on a restricted cubic spline of the "
    "log-odds, with its pointwise 95\u00a0% band. Dashed: loess, which ICI, E50, E90 and Emax are distances from; "
    "where loess would leave 0 to 1 it is not drawn, and they are distances from the line. On "
    "the dotted diagonal the observed rate equals the predicted risk; below it risks are overestimated. Beneath: how "
    "many rows have which risk, above the line those with the event and below it those without."
)


def diagrams(chosen: list[ShownFit], curves: list[ReliabilityCurve], options: Options) -> Bin | None:
    """Draw the diagrams, two in a row; return the bin that was clicked last, if any.

    A ring shows where the rows of that bin lie by the other methods.
    """
    view = chosen[0].evaluation.view
    lines = [line for fit in chosen if (line := reliability_curves.line(fit, options)) is not None]
    limits = common_limits(lines or curves, options.scale, view)
    methods = list(zip(chosen, curves, strict=True))
    selected = _clicked(methods, options)
    for first in range(0, len(methods), 2):
        places = st.columns(2, gap="medium")
        for place, (fit, curve) in zip(places, methods[first : first + 2], strict=False):
            with place:
                widgets.method_title(fit.title, fit.style)
                st.markdown(scores(fit, chosen[0], options))
                marked = _marked(fit, selected, options)
                fig = keep(
                    ("diagram", fit.key, fit.style, options, limits, marked),
                    partial(_diagram, fit, curve, options, limits, marked),
                )
                if options.shape != "Bins":
                    widgets.show(fig, f"{_key(fit)}-{options.shape}", how_to_read(options, view))
                else:
                    widgets.show_selectable(fig, _key(fit), how_to_read(options, view))
    return selected


def _key(fit: ShownFit) -> str:
    return f"reliability-{fit.title}"


def _clicked(methods: list[tuple[ShownFit, ReliabilityCurve]], options: Options) -> Bin | None:
    for fit, curve in methods if options.shape == "Bins" else ():
        bins = widgets.clicked_in(_key(fit))
        if bins and bins[-1] < len(curve.count):
            return fit, curve, bins[-1]
    return None


def _marked(fit: ShownFit, selected: Bin | None, options: Options) -> tuple[float, float] | None:
    """What a method says of the rows of another one's bin on average, and what came true."""
    if selected is None or selected[0] is fit:
        return None
    _, curve, which = selected
    said, outcome = (part[curve.bin_of_row == which] for part in reliability_curves.pair_of(fit, options.target))
    return float(said.mean()), float(outcome.mean())


def _diagram(
    fit: ShownFit, curve: ReliabilityCurve, options: Options, limits: Limits, marked: tuple[float, float] | None
) -> go.Figure:
    histogram, band = reliability_curves.histogram(fit, options), reliability_curves.band(fit, options)
    return reliability_diagram(
        curve, fit.style, options.scale, limits=limits, histogram=histogram, height=DIAGRAM_PIXELS, band=band,
        view=fit.evaluation.view, line=reliability_curves.line(fit, options), marked=marked,
    )  # fmt: skip


def explain(chosen: list[ShownFit], options: Options) -> None:
    """What the axes and the numbers over the pictures are."""
    raw, view = chosen[0], chosen[0].evaluation.view
    intervals = said_of_intervals(raw.evaluation.n_clusters)
    st.caption(" ".join(filter(None, (axes_note(options, crowded(raw), view), note(options, view), intervals))))


def bin_rows(
    session: OpenSession, chosen: list[ShownFit], curves: list[ReliabilityCurve], selected: Bin | None
) -> None:
    """List the rows of the bin that was clicked, or of one that is chosen in a folded part."""
    if selected is not None:
        _list_rows(session, *selected)
        if len(chosen) > 1:
            st.caption("Rings show where these rows lie by the other methods.")
        st.button("Clear the choice", key="reliability/clear", icon=":material/close:", on_click=widgets.clear_clicked)
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
            _list_rows(session, fit, curve, which)

    widgets.folded("Which rows are in a bin?", "reliability/rows", choose_one)


def _list_rows(session: OpenSession, fit: ShownFit, curve: ReliabilityCurve, which: int) -> None:
    test, view, (said, outcome) = session.test, fit.evaluation.view, fit.evaluation.pair
    rows = np.flatnonzero(curve.bin_of_row == which)
    names = np.array(test.class_names)
    st.caption(
        f"{fit.title}: {plural(len(rows), 'row')}, {view.mean_said} {percent(curve.confidence[which])}, {view.outcome} "
        f"{percent(curve.accuracy[which])} (95\u00a0%: {percent(curve.low[which])} to {percent(curve.high[which])})."
    )
    columns = {role.column: role.role for role in test.roles}
    held = {"cluster": test.clusters, "group": test.groups, "time": test.times}
    table = pd.DataFrame(
        {
            "row": session.test_numbers[rows],
            "label": names[test.labels[rows]],
            "predicted": names[fit.evaluation.predicted[rows]],
            view.said: said[rows],
            view.outcome_of_row: outcome[rows],
            **{
                next((name for name, of in columns.items() if of == role), role): values[rows]
                for role, values in held.items()
                if values is not None
            },
        }
    )
    draw_table(table, height=300)
    widgets.csv("These rows as CSV", "reliability/rows/csv", "rows.csv", lambda: table, of=(fit, curve, which))


def offer_panel(session: OpenSession, fits: list[ShownFit], begin: ShownFit) -> None:
    """Offer the panel, of the raw model and one method beside it, folded.

    Parameters
    ----------
    session : in the event view.
    fits : all of them, the raw model first.
    begin : the fit that is shown beside the raw model to begin with.
    """
    title = "The panel of a risk model: AUROC, O:E, slope, ICI"
    widgets.folded(title, FOLDED, partial(_panel, session, fits, begin))


def panel_of(session: OpenSession, fit: ShownFit) -> RiskModelPanel:
    """The panel of one method on the test rows, computed by a worker."""
    seen = fit.evaluation
    kind = None if seen.weights is None else session.test.weight_kind
    what = f"the panel of {fit.title}"
    return ready(("risk panel", fit.key), what, risk_model, *seen.pair, seen.weights, kind, seen.clusters)


def _panel(session: OpenSession, fits: list[ShownFit], begin: ShownFit) -> None:
    shown = fits[:1]
    if len(fits) > 1:
        shown = beside_raw(fits, widgets.one_fit(fits[1:], BESIDE, "Beside the raw model", begin, style="list"))
    panels = [(fit, panel_of(session, fit)) for fit in shown]
    widgets.show_table(_panel_table(panels), "measure", len(panels), height="content")
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
    if panel.clipping.sentence:
        st.caption(escape_markdown(panel.clipping.sentence))
    sentences = [measure.sentence for measure in panel.measures] + [panel.spiegelhalter.sentence]
    st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))
