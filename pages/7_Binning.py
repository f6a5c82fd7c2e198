"""Binning: bins of log-odds, their representatives, and the information that they keep about the label."""

from __future__ import annotations

import streamlit as st

from calib.errors import CalibrationError
from calib.ui.binning import text as binning_words
from calib.ui.binning.details import iterations, plane, sharing, verifiability
from calib.ui.binning.view import bins, controls, meaning, picture_of, rails_of, ranks
from calib.ui.fits import shown_fits
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    words = st.container()
    fits = shown_fits(session)
    data, choice = session.calibration, controls(session.calibration)
    try:
        picture = picture_of(data, choice, fits)
    except CalibrationError as error:
        words.warning(str(error))
        return
    rails = rails_of(picture, fits)
    words.markdown(binning_words.finding(picture))
    words.caption(binning_words.whose(picture, choice.class_name(data)))
    bins(picture, rails, choice)
    meaning(picture, rails, choice)
    iterations(picture, choice)
    ranks(picture, rails, choice)
    st.subheader("More")
    plane(picture, choice)
    sharing(data, session.data, choice)
    verifiability(fits)


with page("Binning"):
    body()
