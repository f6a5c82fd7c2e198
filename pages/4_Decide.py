"""Decide: a cut on the probability of the event, or which inputs to answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from calib.ui.decide import act, selective
from calib.ui.fits import ShownFit, shown_fits
from calib.ui.over_under.view import one_of
from calib.ui.session import OpenSession
from calib.ui.shell import need_fit, open_session, page, view_switch
from calib.ui.widgets import folded, segments

Draw = Callable[[OpenSession, list[ShownFit]], None]


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    asked = {name: title for name, title in TITLES.items() if name != "act" or session.view.is_event}
    with st.container(horizontal=True, gap="medium"):
        view_switch(session)
        question = segments("Decision", asked, next(iter(asked)), "decide/question")
    QUESTIONS.get(question, answer)(session, fits)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


def act_or_not(session: OpenSession, fits: list[ShownFit]) -> None:
    """A cut on the probability of the event."""
    said = st.container()
    goal = act.goal_asked()
    fit = one_of(fits, "decide")
    if goal is None:
        return
    found = act.decision_of(fit, fits[0], goal)
    with said:
        act.words(fit.title, session.view.event_name, found, fit.key != fits[0].key)
    act.numbers(found)


def answer(session: OpenSession, fits: list[ShownFit]) -> None:
    """Selective prediction at an accepted error."""
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        accepted = selective.accepted_error()
        closer = one_of(fits, "decide")
    with said:
        selective.words(closer, accepted)
    selective.answers(fits, closer, accepted)
    draw = partial(selective.numbers, fits, accepted)
    folded("Every method in numbers, and which orders inputs best", "decide/numbers", draw)


TITLES = {"act": "Act or not", "answer": "Answer or hand over"}
QUESTIONS: dict[str, Draw] = {"act": act_or_not, "answer": answer}

with page("Decide"):
    body()
