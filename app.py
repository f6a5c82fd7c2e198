"""Data: open model outputs, see what was understood, and split them."""

from __future__ import annotations

import streamlit as st

from calib.ui.data.upload import change_by_hand, last_reading, sample_cards, uploaders
from calib.ui.data.view import features_overview, findings, next_step, overview, split_controls
from calib.ui.link import where_data_are_kept
from calib.ui.session import find_session
from calib.ui.shell import page


def body() -> None:
    """Draw the page."""
    session, reading = find_session(), last_reading()
    if session is None:
        st.write(
            "Find out whether your classifier's confidence can be trusted, and export a calibrator that corrects it. "
            "Upload what your model said about labelled rows it was not trained on, or try a sample."
        )
    else:
        overview(session)
    findings(reading, session)
    if session is not None:
        features_overview(session.data)
        split_controls(session)
        next_step()
    with st.expander("Open other data") if session is not None else st.container():
        uploaders()
        sample_cards()
    change_by_hand(reading)
    where_data_are_kept()


with page("Data"):
    body()
