"""Fit: choose calibrators and their parameters, start them, watch and cancel."""

from __future__ import annotations

import streamlit as st

from calib.data.build.features import leak
from calib.formatting import escape_markdown, plural
from calib.ui.fit import choose_and_start
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    st.write(
        f"Calibrators are fitted on **{plural(len(session.calibration), 'calibration row')}** and judged on "
        f"**{plural(len(session.test), 'test row')}**. Fits go on while you look at other pages."
    )
    if warning := leak(session.data.findings):
        st.warning(escape_markdown(warning), icon=":material/warning:")
    choose_and_start(session)


with page("Fit"):
    body()
