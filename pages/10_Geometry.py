"""Geometry: how far an input lies inside its predicted class among the training data, and its accuracy there."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.geometry import text as geometry_words
from calib.ui.geometry.state import Study
from calib.ui.geometry.view import (
    choose_kind,
    fast_and_exact,
    need_features,
    offer_fit,
    one_input,
    spread,
    success,
    tradeoff,
)
from calib.ui.shell import open_session, page
from calib.ui.widgets import folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    features = need_features(session)
    if features is None:
        return
    opening = st.container()
    fits = shown_fits(session)
    study = Study(session, features, fits[0].evaluation, choose_kind())
    with opening:
        measured = study.measured
        st.markdown(geometry_words.finding(measured.sides))
        success(study)
        st.caption(geometry_words.whose(measured.test, measured.learned, study.n_train))
    folded("Why is one input safe or dangerous?", "geometry/input", partial(one_input, study, fits))
    folded("How do right and wrong predictions spread?", "geometry/spread", partial(spread, study))
    folded("How near does fast separation come to the exact one?", "geometry/cost", partial(fast_and_exact, study))
    folded("What does less of the training data cost?", "geometry/less", partial(tradeoff, session, features))
    offer_fit(fits)


with page("Geometry"):
    body()
