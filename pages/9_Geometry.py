"""Geometry: how far an input lies inside its predicted class among the training data, and what that tells."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.state import Study
from calib.ui.geometry.view import (
    choose_kind,
    choose_row,
    explain_row,
    fast_and_exact,
    need_features,
    offer_fit,
    success,
    tradeoff,
)
from calib.ui.session import session
from calib.ui.shell import need_data, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    data = session().data
    assert data is not None
    if not need_features(data):
        return
    words = st.container()
    everything = fits.shown()
    study = Study(choose_kind())
    with st.spinner("Looking among the training data…"):
        words.markdown(geometry_words.finding(study.sides))
        words.caption(geometry_words.whose(study.measured(), study.learned, study.n_train))
    success(study)
    st.subheader("One input among the training data")
    number = choose_row(study)
    if number is not None:
        explain_row(study, number, everything)
    st.subheader("Fast against exact")
    fast_and_exact(study)
    st.subheader("With less of the training data")
    tradeoff()
    offer_fit(everything)


with page("Geometry"):
    body()
