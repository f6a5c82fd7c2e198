"""Decide: a cut on the probability of the event, when to abstain, or sets of classes."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from calib.ui.decide import act, selective, sets
from calib.ui.fits import ShownFit, judged_fits
from calib.ui.session import OpenSession
from calib.ui.shell import need_fit, open_session, page, view_switch
from calib.ui.widgets import segments

Draw = Callable[[OpenSession, list[ShownFit]], None]
QUESTIONS: dict[str, Draw] = {
    "Act or not": act.draw,
    "Predict or abstain": selective.draw,
    "Prediction sets": sets.draw,
}


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = judged_fits(session)
    excluded = [] if session.view.is_event else ["Act or not"]
    excluded += ["Prediction sets"] if session.data.kind == "pairs" else []
    offered = [title for title in QUESTIONS if title not in excluded]
    with st.container(horizontal=True, gap="medium"):
        view_switch(session)
        question = segments("Decision", offered, offered[0], "decide/question", wrap=True)
    QUESTIONS[question if question in offered else offered[0]](session, fits)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Decide"):
    body()
