"""Geometry: how far an input lies inside its predicted class among the training data, and its accuracy there."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import shown_fits
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
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    features = need_features(session)
    if features is None:
        return
    words = st.container()
    fits = shown_fits(session)
    study = Study(session.calibration, session.test, features, choose_kind())
    with st.spinner("Looking among the training data…"):
        words.markdown(geometry_words.finding(study.sides))
        words.caption(geometry_words.whose(study.measured(), study.learned, study.n_train))
    success(study)
    st.subheader("One input among the training data")
    number = choose_row(study)
    if number is not None:
        explain_row(study, number, fits)
    st.subheader("Fast against exact")
    fast_and_exact(study)
    st.subheader("With less of the training data")
    tradeoff(session, features)
    offer_fit(fits)


with page("Geometry"):
    body()
