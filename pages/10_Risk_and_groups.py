"""Risk and groups: selective prediction at an accepted error, and calibration by subgroup."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.over_under.view import one_of
from calib.ui.risk.view import accepted_error, answers, groups, words
from calib.ui.shell import need_fit, open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        accepted = accepted_error()
        closer = one_of(fits)
    with said:
        words(fits, closer, accepted)
    answers(fits, closer, accepted)
    st.subheader("Group by group")
    groups(session.test, fits, closer)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Risk and groups"):
    body()
