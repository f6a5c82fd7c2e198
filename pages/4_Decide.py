"""Decide: selective prediction at an accepted error."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.decide.view import accepted_error, answers, numbers, words
from calib.ui.fits import shown_fits
from calib.ui.over_under.view import one_of
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        accepted = accepted_error()
        closer = one_of(fits, "decide")
    with said:
        words(closer, accepted)
    answers(fits, closer, accepted)
    folded("Every method in numbers, and which orders inputs best", "decide/numbers", partial(numbers, fits, accepted))
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Decide"):
    body()
