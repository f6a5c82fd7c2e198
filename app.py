"""Data: open model outputs, see what was understood, and split them."""

from __future__ import annotations

import streamlit as st

from calib.ui.data.roles import several_models
from calib.ui.data.upload import change_by_hand, gallery, last_reading, uploaders
from calib.ui.data.view import (
    about_rows,
    features_overview,
    findings,
    next_step,
    not_opened,
    overview,
    roles_by_hand,
    split_controls,
)
from calib.ui.link import where_data_are_kept
from calib.ui.session import find_session
from calib.ui.shell import page


def body() -> None:
    """Draw the page."""
    session, reading = find_session(), last_reading()
    asked = not_opened(reading, session)
    if session is not None:
        overview(session)
        about_rows(session)
        if not asked:
            several_models(reading)
            findings(reading)
        features_overview(session.data)
        split_controls(session)
        next_step()
    elif not asked:
        st.write(
            "Find out whether your classifier's confidence can be trusted, and export a calibrator that corrects it. "
            "Upload what your model said about labelled rows it was not trained on, or try a sample."
        )
    with st.expander("Open other data") if asked or session is not None else st.container():
        uploaders()
        gallery()
    if not asked:
        roles_by_hand(reading)
    change_by_hand(reading)
    where_data_are_kept()


with page("Data"):
    body()
