"""Binning: where bins of log-odds belong, what they say, and what they keep of the label."""

from __future__ import annotations

import streamlit as st

from calib.errors import CalibrationError
from calib.ui import fits
from calib.ui.binning import text as binning_words
from calib.ui.binning.view import (
    bins,
    controls,
    iterations,
    meaning,
    picture_of,
    plane,
    rails_of,
    ranks,
    sharing,
    verifiability,
)
from calib.ui.session import session
from calib.ui.shell import need_data, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    now = session()
    data = now.calibration
    assert data is not None and now.data is not None
    words = st.container()
    everything = fits.shown()
    choice = controls(data)
    try:
        picture = picture_of(data, choice, everything)
    except CalibrationError as error:
        words.warning(str(error))
        return
    rails = rails_of(picture, everything)
    words.markdown(binning_words.finding(picture))
    words.caption(binning_words.whose(picture, choice.class_name(data)))
    bins(picture, rails, choice)
    meaning(picture, rails, choice)
    iterations(picture, choice)
    ranks(picture, rails, choice)
    st.subheader("More")
    plane(picture, choice)
    sharing(data, now.data, choice)
    verifiability(everything)


with page("Binning"):
    body()
