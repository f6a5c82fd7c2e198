"""First sight of Compare: what to take, a table of all methods, and the reliability of the chosen one.

A click on a row shows its method in the diagram, here and on the other pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from calib.formatting import plural
from calib.plots.methods_table import CSS, methods_table
from calib.plots.reliability import (
    SIDE,
    common_limits,
    explain_diagram,
    reliability_diagram,
    usual_scale,
)
from calib.ui import widgets
from calib.ui.audit import is_usable, lead
from calib.ui.compare.answer import (
    CLOSER,
    answer_with_export,
    comparison_table,
    failed,
    recommended,
    taken,
)
from calib.ui.fits import ShownFit
from calib.ui.groups import in_groups
from calib.ui.reliability import show_only
from calib.ui.session import OpenSession, keep
from calib.ui.shell import need_fit

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
    answer_with_export(session, fits)
    failed()
    picked = session.picked.get(CLOSER)
    closer = next((fit for fit in fits[1:] if fit.key == picked), recommended(fits)[1])
    with st.grid(2, min_column_width=LEAST_WIDTH, gap="medium"):
        with st.container():
            _methods(session, fits, closer)
            in_groups(session, taken(fits))
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
    widgets.show_kept(key, draw, "compare-reliability", explain_diagram(view, fit.diagram))


def look_at(session: OpenSession, fits: Sequence[ShownFit], fit: ShownFit) -> None:
    """Have all pages open with this method beside the raw model."""
    session.picked[CLOSER] = fit.key
    show_only(session, fits, fit.key)
