"""Risk and groups: how much can be answered at an accepted error, and for whom confidence is off."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.over_under.view import one_of
from calib.ui.risk.view import accepted_error, answers, groups, words
from calib.ui.shell import need_data, need_fit, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    said = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        accepted = accepted_error()
        closer = one_of(everything)
    with said:
        words(everything, closer, accepted)
    answers(everything, closer, accepted)
    st.subheader("Group by group")
    groups(everything, closer)
    if len(everything) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Risk and groups"):
    body()
