"""Over- and underconfidence: the confidence of wrong predictions, the doubt of correct ones, and their balance."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.over_under.view import bands, change, classes, densities, finding, one_of, rows_of, theorem
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    finding(rows_of(fits, fits), fits[0].evaluation)
    chosen = choose(fits, "confidence/methods")
    rows, keys = rows_of(fits, chosen), tuple(fit.key for fit in chosen)
    change(rows, keys, session.view)
    st.subheader("Lower bound of the calibration error")
    bins = theorem(chosen, rows, keys)
    st.subheader("Where the gap comes from")
    closer = one_of(fits)
    bands(fits, closer, bins)
    if session.view.column is None:  # in the other views the two classes are the outcomes
        st.subheader("Class by class")
        classes(fits, closer, session.data.class_names)
    st.subheader(f"{session.view.said.capitalize()} of {session.view.right_rows} and of {session.view.wrong_rows}")
    densities(chosen)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Over- and underconfidence"):
    body()
