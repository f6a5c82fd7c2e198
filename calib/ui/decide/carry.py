"""Take a decision away: it goes into the files of its calibrator."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from calib.decisions.conformal import PredictionSets
from calib.decisions.rules import AnyRule
from calib.formatting import escape_markdown
from calib.ui.fits import RAW, ShownFit
from calib.ui.session import EXPORTED, Carried, OpenSession

EXPORT = "pages/5_Export.py"


def offer(
    session: OpenSession,
    fit: ShownFit,
    name: str,
    decision: AnyRule | None = None,
    sets: PredictionSets | None = None,
) -> None:
    """Offer to put a rule, or sets, into the files of a fit, and to go there.

    Parameters
    ----------
    fit : whose probabilities the numbers hold for; the raw model has no files.
    name : of the question, unique on the page.
    """
    if fit.key == RAW:
        st.caption("Fit a calibrator, and this decision can be exported with it.")
        return
    label = f"Export {escape_markdown(fit.title)} with {'this decision' if sets is None else 'these sets'}"
    if st.button(label, key=f"decide/carry/{name}", icon=":material/download:", type="primary"):
        held = session.carried.get(fit.key, Carried())
        session.carried[fit.key] = replace(held, decision=decision) if sets is None else replace(held, sets=sets)
        session.picked[EXPORTED] = fit.key
        st.switch_page(EXPORT)


def said(session: OpenSession, fit: ShownFit) -> None:
    """What the files of a fit decide, with a button that leaves it out."""
    held = session.carried.get(fit.key)
    if held is None:
        return
    parts = []
    if held.decision is not None:
        names, event = list(session.data.class_names), session.data.event
        if event is not None:
            names[event.column] = event.name
        parts.append(held.decision.said(tuple(names)))
    if held.sets is not None:
        parts.append(held.sets.said())
    st.markdown(f"**These files also decide:** {escape_markdown(' '.join(parts))}")
    if st.button("Leave the decision out", key="export/leave out", icon=":material/close:", type="tertiary"):
        del session.carried[fit.key]
        st.rerun()
