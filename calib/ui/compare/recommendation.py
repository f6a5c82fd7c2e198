"""First sight of Compare: what to take, all methods and the reliability of one; and the report to hand over."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, Literal

import pandas as pd
import streamlit as st

from calib.evaluation.claims import Claims
from calib.evaluation.compare import table_of
from calib.evaluation.describe import Recommendation
from calib.evaluation.recommendation import recommend
from calib.formatting import escape_markdown, listed, plural
from calib.plots.methods_table import CSS, methods_table
from calib.plots.reliability import (
    SIDE,
    common_limits,
    explain_diagram,
    reliability_diagram,
    usual_scale,
)
from calib.reporting import ReportedMethod, Source, html_of_fits, report_from_parts
from calib.ui import widgets
from calib.ui.audit import audit_of, is_usable, lead
from calib.ui.fits import ShownFit, jobs, judged_fits, resampled
from calib.ui.groups import in_groups
from calib.ui.link import go_to
from calib.ui.progress import offer_file
from calib.ui.reliability import CHOSEN
from calib.ui.session import EXPORTED, OpenSession, keep
from calib.ui.shell import need_fit
from calib.ui.text import literal
from calib.ui.widgets import choose_fit

CLOSER = "closer"
"""The choice of the method to look at closely, which pages share."""


def claims_of(fits: Sequence[ShownFit]) -> Claims:
    """Claims about the differences of these fits, by their titles; the raw model is the first."""
    return keep(("claims", *_named(fits)), lambda: Claims(resampled(fits)))


def _named(fits: Sequence[ShownFit]) -> tuple[Hashable, ...]:
    """Names on which a comparison depends besides the rows."""
    return tuple((fit.key, fit.title) for fit in fits)


def recommendation_of(fits: Sequence[ShownFit]) -> Recommendation | None:
    """Recommendation; None where no method has a score to decide by."""
    return keep(("answer", *_named(fits)), lambda: recommendation_from(claims_of(fits), fits))


def recommendation_from(claims: Claims, fits: Sequence[ShownFit]) -> Recommendation | None:
    """Recommendation by the NLL; by the ECE where no calibrator has an NLL."""
    return recommend(
        claims,
        {fit.title: fit.calibrator for fit in fits},
        evaluations={fit.title: fit.evaluation for fit in fits},
    )


def finding(recommendation: Recommendation) -> str:
    """The recommendation in Markdown; the table beneath has the scores."""
    return " ".join(recommendation.sentences(literal, strong="**", scores=False))


def recommended(fits: Sequence[ShownFit]) -> tuple[str, ShownFit]:
    """Recommendation in Markdown, and the fit that pages begin with: where the raw model would do, the best other.

    Parameters
    ----------
    fits : the raw model first.
    """
    recommendation = recommendation_of(fits)
    if recommendation is None:
        return "No method has a score to recommend one by.", fits[1]
    title = recommendation.method
    if title == recommendation.baseline:
        title = recommendation.best
    chosen = next(fit for fit in fits if fit.title == title)
    return waiting() or finding(recommendation), fits[1] if chosen is fits[0] else chosen


def waiting() -> str:
    """Number of fits that have ended while others still run; "" once all have."""
    current = jobs()
    ended = sum(not job.active for job in current)
    if ended == len(current):
        return ""
    return f"{ended} of {plural(len(current), 'fit')} have ended. The recommendation follows once all have."


def recommended_fit(fits: Sequence[ShownFit]) -> ShownFit:
    """The method that is recommended, which may be the raw model; that comes first among the fits."""
    recommendation = recommendation_of(fits)
    return next(
        (fit for fit in fits if recommendation is not None and fit.title == recommendation.method),
        fits[0],
    )


def advised(fits: Sequence[ShownFit]) -> bool:
    """Return whether the recommendation is to take a calibrator."""
    recommendation = recommendation_of(fits)
    return recommendation is not None and recommendation.verdict == "take"


def choose_method(fits: list[ShownFit], page: str, **looks: Any) -> ShownFit:
    """Let the visitor choose the method to look at closely, on all pages: to begin with, what Export offers first.

    Parameters
    ----------
    fits : the raw model first.
    page : of the app; it names the widget.
    looks : ``style="list"`` for a menu in place of buttons.
    """
    if len(fits) == 1:
        return fits[0]
    begin = recommended(fits)[
        1
    ]  # it changes while fits go on; in one widget a browser would keep the first
    return choose_fit(fits, f"{page}/closer/{begin.key}", "Method", begin, shared=CLOSER, **looks)


def recommendation_with_export(session: OpenSession, fits: Sequence[ShownFit]) -> None:
    """Show the recommendation and the button that leads to its export; progress while fits run."""
    recommendation = recommendation_of(fits)
    if recommendation is None:
        return
    if text := waiting():
        done = sum(not job.active for job in jobs()) / len(jobs())
        st.progress(done, text=text)
        return
    first, second, *others = [*recommendation.sentences(literal, scores=False), ""]
    st.header(f"{first} {second}", anchor=False)
    st.markdown(" ".join(others))
    if recommendation.too_few or recommendation.method == recommendation.baseline:
        return
    label = f"Export {literal(recommendation.method)}"
    kind: Literal["primary", "secondary"] = "primary" if is_usable(session) else "secondary"
    warning = None
    if recommendation.verdict != "take":
        label += " all the same"
        kind = "secondary"
        warning = finding(recommendation)
    if st.button(label, key="compare/export", type=kind, icon=":material/download:", help=warning):
        session.picked[EXPORTED] = recommended(fits)[1].key
        go_to("pages/5_Export.py")


def failed() -> None:
    """Failed fits with their reasons."""
    why: dict[str, list[str]] = {}
    for job in jobs():
        if not job.active and job.calibrator is None:
            why.setdefault(job.message, []).append(literal(job.spec.title))
    for message, titles in why.items():
        st.caption(f":material/error: Not here: **{listed(titles)}**. {escape_markdown(message)}")


def comparison_table(fits: Sequence[ShownFit]) -> pd.DataFrame:
    """The tidy comparison of all shown fits, computed once."""
    evaluations = {fit.title: fit.evaluation for fit in fits}
    return keep(("comparison", *_named(fits)), lambda: table_of(claims_of(fits), evaluations))


def report_button(session: OpenSession, key: str) -> None:
    """Offer the report of all fits on all rows; it takes seconds, so it is built on request.

    Parameters
    ----------
    key : of the button, unique in the app.
    """
    cohort = session.cohort
    with session.all_rows():
        fits = judged_fits(session)
        offer_file(
            "Report (HTML)",
            key,
            "report.html",
            html_of_fits,
            partial(reported, session, fits),
            (session.view.key, *_named(fits)),
            large=True,
            icon=":material/summarize:",
            help="One file: the recommendation, tables and figures, the data's hash, every setting, and the commands "
            "that reproduce it. It opens without a network.",
        )
    if cohort is not None:
        st.caption(f"The report covers all rows, not {literal(cohort.name)} alone.")


def reported(session: OpenSession, fits: list[ShownFit]) -> dict[str, Any]:
    """Contents of the report of these fits, judged on all rows; see :func:`calib.reporting.html_of_fits`."""
    files = {role: name for role, (name, _) in session.reading.upload.items()}
    source = Source(
        files, session.reading.choices, session.sample, part=session.part, seed=session.seed
    )
    methods = []
    for fit in fits:
        about = fit.title, fit.method, fit.title, fit.style, fit.calibrator, fit.evaluation
        methods.append(ReportedMethod(*about, fit.fit_seconds, fit.predict_seconds))
    with session.all_rows():  # a click builds it, before the page is drawn
        audit = audit_of(session)
    report = report_from_parts(
        session.data,
        (session.calibration, session.whole_test),
        methods,
        pd.DataFrame(),
        source=source,
        recommendation=recommendation_from(Claims(resampled(fits)), fits),
        audit=audit,
    )
    return {"report": report, "resampled": resampled(fits)}


TABLE = "compare/table"
TABLE_JS = """
export default ({ data, parentElement, setTriggerValue }) => {
  const place = parentElement.querySelector(".table")
  place.innerHTML = data
  place.onclick = (event) => {
    const row = event.target.closest("tr[data-fit]")
    if (row) setTriggerValue("method", row.dataset.fit)
  }
}
"""
PLACE = '<div class="table" style="overflow-x: auto"></div>'
_table = st.components.v2.component("calib_methods", html=PLACE, js=TABLE_JS)
LEAST_WIDTH = 470
"""Pixels of the table and of the diagram, below which one stands beneath the other."""


def overview(session: OpenSession, fits: list[ShownFit]) -> None:
    """The answer, the table of all methods and the diagram of one; of the raw model alone its diagram."""
    raw = fits[0]
    if len(fits) == 1 or not is_usable(session):
        lead(session, "Compare")
    if len(fits) == 1:
        in_groups(session, raw)
        failed()
        need_fit(what="Only the raw model is here. Fit calibrators to compare them with it.")
        _diagram(raw, raw)
        return
    recommendation_with_export(session, fits)
    failed()
    picked = session.picked.get(CLOSER)
    closer = next((fit for fit in fits[1:] if fit.key == picked), recommended(fits)[1])
    with st.grid(2, min_column_width=LEAST_WIDTH, gap="medium"):
        with st.container():
            _methods(session, fits, closer)
            in_groups(session, recommended_fit(fits))
        with st.container(width=SIDE):
            _diagram(raw, closer)


def _methods(session: OpenSession, fits: Sequence[ShownFit], closer: ShownFit) -> None:
    """The table of all methods; a click on a row has all pages open with its method."""
    by_title = {fit.title: fit for fit in fits}
    styles = {fit.title: fit.style for fit in fits}
    table = comparison_table(fits)

    def choose() -> None:
        look_at(session, fits, by_title[st.session_state[TABLE]["method"]])

    key = (TABLE, closer.title, *styles.items())
    usable = is_usable(session)
    looks = {"clickable": True, "muted": not usable}
    draw = partial(methods_table, table, styles, session.view, closer.title, **looks)
    html = f"<style>{CSS}</style>{keep(key, draw)}"
    _table(key=TABLE, data=html, on_method_change=choose)
    st.caption(
        "A row shows its method in the diagram. "
        f"{'Against' if usable else 'Grey marks compare with'} the raw model: ✓ better, ✗ worse, ≈ equivalent; "
        f"without a mark no significant difference on {plural(len(session.test), 'test row')}. "
        "Hover for joint intervals."
    )


def _diagram(raw: ShownFit, fit: ShownFit) -> None:
    """The reliability of one method, with the raw model behind it."""
    view = fit.evaluation.view
    scale = usual_scale(raw.diagram.curve, view)
    limits = common_limits([raw.diagram, fit.diagram], scale)
    widgets.method_title(fit.title, fit.style)
    draw = partial(
        reliability_diagram,
        fit.diagram,
        fit.style,
        view=view,
        behind=None if fit is raw else raw.diagram,
        scale=scale,
        limits=limits,
    )
    key = ("compare diagram", fit.key, fit.style)
    widgets.show_cached(key, draw, "compare-reliability", explain_diagram(view, fit.diagram))


def look_at(session: OpenSession, fits: Sequence[ShownFit], fit: ShownFit) -> None:
    """Have all pages open with this method beside the raw model, which is the first."""
    session.picked[CLOSER] = fit.key
    session.picked[CHOSEN] = {other.key: other.key in (fits[0].key, fit.key) for other in fits}
