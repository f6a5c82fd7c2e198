"""The panel of a risk model on the Reliability page: AUROC, O:E, slope, ICI and the calibration curve."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from calib.formatting import escape_markdown, number, percent, plural, with_interval
from calib.metrics.risk_measures import RiskMeasure
from calib.metrics.risk_model import RiskModelPanel, risk_model
from calib.plots.risk_model import prefers_logit, risk_limits, risk_model_diagram
from calib.plots.style import Limits
from calib.ui import widgets
from calib.ui.fits import RAW, ShownFit, beside_raw, ready
from calib.ui.session import OpenSession

FOLDED = "reliability/panel"
"""Key of the folded part."""
BESIDE = "reliability/panel/beside"
"""Key of the choice of the method beside the raw model."""

_CURVE = (
    "The line is the observed rate at each predicted risk: a logistic regression on a restricted cubic spline of the "
    "log-odds, with its pointwise 95\u00a0% band. Dashed: loess, which ICI, E50, E90 and Emax are distances from. On "
    "the dotted diagonal the observed rate equals the predicted risk; below it risks are overestimated. Beneath: how "
    "many rows have which risk, above the line those with the event and below it those without."
)


def offer(session: OpenSession, fits: list[ShownFit], begin: str) -> None:
    """Offer the panel, of the raw model and one method beside it, folded.

    Parameters
    ----------
    session : in the event view.
    fits : all of them, the raw model first.
    begin : key of the fit that is shown beside the raw model to begin with.
    """
    title = "The panel of a risk model: AUROC, O:E, slope, ICI"
    widgets.folded(title, FOLDED, partial(_draw, session, fits, begin))


def panel_of(session: OpenSession, fit: ShownFit) -> RiskModelPanel:
    """The panel of one method on the test rows, computed by a worker."""
    seen = fit.evaluation
    kind = None if seen.weights is None else session.test.weight_kind
    what = f"the panel of {fit.title}"
    risk, event = seen.pair
    if fit.key == RAW:
        risk = session.test.as_written(risk)
    return ready(("risk panel", fit.key), what, risk_model, risk, event, seen.weights, kind, seen.clusters)


def _draw(session: OpenSession, fits: list[ShownFit], begin: str) -> None:
    shown = fits[:1]
    if len(fits) > 1:
        titles = {fit.key: fit.title for fit in fits[1:]}
        beside = widgets.one(titles, BESIDE, "Beside the raw model", begin, style="list")
        shown = beside_raw(fits, *(fit for fit in fits if fit.key == beside))
    panels = [(fit, panel_of(session, fit)) for fit in shown]
    widgets.show_table(_table(panels), "measure", len(panels), height="content")
    with st.popover("Definitions and intervals", icon=":material/help:", type="tertiary"):
        for measure in panels[0][1].measures:
            st.markdown(f"**{measure.title}:** {escape_markdown(measure.convention)}")
    st.caption(_about(panels[0][1]))
    curves = [panel.curve for _, panel in panels]
    limits = risk_limits(curves, "logit" if prefers_logit(curves[0]) else "linear")
    for place, (fit, panel) in zip(st.columns(2, gap="medium"), panels, strict=False):
        with place:
            _one(fit, panel, limits)


def _table(panels: list[tuple[ShownFit, RiskModelPanel]]) -> pd.DataFrame:
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


def _one(fit: ShownFit, panel: RiskModelPanel, limits: Limits) -> None:
    """The curve of one method on axes that both have, what restricts its numbers, and each number in a sentence."""
    view, key = fit.evaluation.view, f"risk-panel-{fit.title}"
    widgets.method_title(fit.title, fit.style)
    if panel.notes:
        restricts = " ".join(panel.notes)
        if panel.too_few_events:
            st.warning(restricts, icon=":material/warning:")
        else:
            st.caption(restricts)
    stretched = " Axes of log-odds, since the event or its absence is rare." if prefers_logit(panel.curve) else ""
    widgets.show_kept(
        (key, fit.key, fit.style, limits),
        partial(risk_model_diagram, panel.curve, fit.style, view=view, limits=limits), key,
        _CURVE + stretched,
    )  # fmt: skip
    if panel.clipping.sentence:
        st.caption(escape_markdown(panel.clipping.sentence))
    sentences = [measure.sentence for measure in panel.measures] + [panel.spiegelhalter.sentence]
    st.markdown("\n".join(f"- {escape_markdown(sentence)}" for sentence in sentences))
