"""Monitoring: whether a fitted or exported calibrator is still calibrated on new labelled data."""

from __future__ import annotations

import streamlit as st

from calib.ui.monitoring.upload import choose_calibrator, choose_new_data
from calib.ui.monitoring.view import checked, pictures, scores, words
from calib.ui.session import find_session
from calib.ui.shell import need_data, page


def body() -> None:
    """Draw the page."""
    opening = st.container()
    session = find_session()
    if session is None:
        need_data()
        st.write("A calibrator that was exported earlier can be checked without them:")
    subject = choose_calibrator(session)
    if subject is None:
        opening.write("Does a calibrator still hold? It takes the calibrator, and labelled rows collected since then.")
        return
    given = choose_new_data(subject)
    result = None if given is None else checked(subject, given)
    with opening:
        if subject.record:
            st.caption(subject.record)
        if given is None:
            st.write(f"Is **{subject.title}** still calibrated? Upload rows collected and labelled since then.")
        elif result is None:
            st.write("The new rows cannot be read; the reason is below.")
        else:
            words(subject, result)
            pictures(subject, result)
            scores(subject, result)


with page("Monitoring"):
    body()
