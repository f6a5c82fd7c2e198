"""Geometry: how far an input lies inside its predicted class among the training data, and its accuracy there."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import judged_fits
from calib.ui.geometry import (
    choose_kind,
    describe_rows,
    finding,
    offer_fit,
    show_input,
    study_of,
    success,
)
from calib.ui.shell import open_session, page
from calib.ui.widgets import folded


def body() -> None:
    """Draw the page."""
    session = open_session("digits-cnn")
    opening = st.container()
    fits = judged_fits(session)
    kind = choose_kind()
    with opening:
        study = study_of(session, kind)
        st.markdown(finding(study.sides))
        success(study, kind)
        n_train = len(session.test.train_labels)  # type: ignore[arg-type]  # there are some
        st.caption(describe_rows(study.test, study.learned, n_train))
    draw = partial(show_input, session, study, kind, fits)
    folded("Why is one input safe or dangerous?", "geometry/input", draw)
    offer_fit(fits)


with page("Geometry"):
    body()
