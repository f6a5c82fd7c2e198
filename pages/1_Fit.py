"""Fit: choose calibrators and their parameters, start them, watch and cancel."""

from __future__ import annotations

import streamlit as st

from calib.formatting import plural
from calib.ui.fit import choose_and_start
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    st.write(
        f"Calibrators are fitted on **{plural(len(session.calibration), 'calibration row')}** and judged on "
        f"**{plural(len(session.test), 'test row')}**. Fits go on while you look at other pages."
    )
    choose_and_start(session)


with page("Fit"):
    body()
