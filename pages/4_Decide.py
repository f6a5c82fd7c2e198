"""Decide: a cut on the probability of the event, or which inputs to answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from calib.ui.compare.answer import recommended
from calib.ui.decide import act, carry, selective, sets
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
    asked = questions_of(session)
    with st.container(horizontal=True, gap="medium"):
        view_switch(session)
        question = segments("Decision", asked, next(iter(asked)), "decide/question")
    QUESTIONS[question if question in asked else next(iter(asked))](session, fits)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


def questions_of(session: OpenSession) -> dict[str, str]:
    """What can be decided on the open data, with titles."""
    left_out = set() if session.view.is_event else {"act"}
    left_out |= {"sets"} if session.data.kind == "pairs" else set()
    return {name: title for name, title in TITLES.items() if name not in left_out}


def act_or_not(session: OpenSession, fits: list[ShownFit]) -> None:
    """A cut on the probability of the event."""
    said = st.container()
    goal = act.goal_asked()
    fit = one_of(fits, "decide", recommended(fits)[1] if len(fits) > 1 else None)
    if goal is None:
        return
    found = act.decision_of(fit, fits[0], goal)
    with said:
        act.words(fit.title, session.view.event_name, found, fit.key != fits[0].key)
    act.numbers(found)
    drawn = partial(act.benefit, fits, fit, found.cut.value)
    folded("Is the model of use at other costs? The decision curve", "decide/benefit", drawn)
    carry.offer(session, fit, "act", act.rule(session, found))


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
    promised = partial(selective.guarantee, session, closer, accepted)
    folded("A threshold whose error is bounded on new rows too", "decide/guarantee", promised)
    priced = partial(selective.costs, session, closer)
    folded("A threshold from what an error and handing over cost", "decide/costs", priced)


def prediction_sets(session: OpenSession, fits: list[ShownFit]) -> None:
    """Sets of classes at a promised coverage."""
    able = [fit for fit in fits if fit.calibrator.gives_probabilities]
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        options = sets.wanted()
    fit = one_of(able, "decide")
    found = sets.sets_of(session, fits[0], fit, options)
    with said:
        sets.words(fit.title, found, options[0])
    sets.picture(fits[0], fit, found)
    folded("Coverage by class", "sets/by class", partial(sets.by_class, session.data.class_names, found))
    carry.offer(session, fit, "sets", sets=found.method.made)


TITLES = {"act": "Act or not", "answer": "Answer or hand over", "sets": "Prediction sets"}
QUESTIONS: dict[str, Draw] = {"act": act_or_not, "answer": answer, "sets": prediction_sets}

with page("Decide"):
    body()
