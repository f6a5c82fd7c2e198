"""Data: open model outputs, see what was understood, and split them."""

from __future__ import annotations

import streamlit as st

from calib.ui.data.upload import change_by_hand, sample_cards, uploaders
from calib.ui.data.view import features_overview, findings, next_step, overview, split_controls
from calib.ui.link import where_data_are_kept
from calib.ui.session import session
from calib.ui.shell import page


def body() -> None:
    """Draw the page."""
    now = session()
    if now.data is None:
        st.write(
            "Find out whether your classifier's confidence can be trusted, and leave with a calibrator that mends it. "
            "Upload what your model said about labelled rows it was not trained on, or try a sample."
        )
    else:
        overview()
    if now.inspection is not None:
        findings(now.inspection)
    if now.data is not None:
        features_overview()
        split_controls()
        next_step()
    with st.expander("Open other data", expanded=now.data is None) if now.data is not None else st.container():
        uploaders()
        sample_cards()
    if now.inspection is not None:
        change_by_hand(now.inspection)
    where_data_are_kept()


with page("Data"):
    body()
