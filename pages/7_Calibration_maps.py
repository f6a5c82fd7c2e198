"""Calibration maps: each method's map against the frequencies of the test rows; what Auto is made of."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import judged_fits
from calib.ui.maps import show, show_members
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page: the tab that is open."""
    session = open_session()
    fits = judged_fits(session)
    tabs = {"Maps": partial(show, session, fits), "Auto": partial(show_members, fits)}
    for tab, draw in zip(
        st.tabs(list(tabs), key="maps/tab", on_change="rerun"), tabs.values(), strict=True
    ):
        if tab.open:
            with tab:
                draw()


with page("Calibration maps"):
    body()
