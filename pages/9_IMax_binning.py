"""I-Max binning: bins of log-odds, their representatives, and the information that they keep about the label."""

from __future__ import annotations

import streamlit as st

from calib.errors import CalibrationError
from calib.ui.binning import (
    bins,
    controls,
    describe_pairs,
    finding,
    picture_of,
    questions,
    rails_of,
)
from calib.ui.fits import judged_fits
from calib.ui.shell import open_session, page
from calib.ui.text import rows_count_once


def body() -> None:
    """Draw the page."""
    session = open_session()
    opening = st.container()
    fits = judged_fits(session)
    data = session.calibration
    choice = controls(session.calibration)
    with opening:
        try:
            picture = picture_of(data, choice, fits)
        except CalibrationError as error:
            st.warning(str(error))
            return
        rails = rails_of(picture, fits)
        st.markdown(finding(picture))
        bins(picture, rails, choice)
        st.caption(describe_pairs(picture, choice.class_name(data)))
        rows_count_once(data.confirmed_weights)
    questions(data, picture, rails, choice)


with page("I-Max binning"):
    body()
