"""Calibration maps: each method's map against the frequencies of the test rows; what Auto is made of."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.maps import auto, view
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page: the tab that is open."""
    session = open_session()
    fits = shown_fits(session)
    tabs = {"Maps": partial(view.show, session, fits), "Auto": partial(auto.show, fits)}
    for tab, draw in zip(st.tabs(list(tabs), key="maps/tab", on_change="rerun"), tabs.values(), strict=True):
        if tab.open:
            with tab:
                draw()


with page("Calibration maps"):
    body()
