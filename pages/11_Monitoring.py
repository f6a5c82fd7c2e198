"""Monitoring: whether a fitted or exported calibrator is still calibrated on new labelled data."""

from __future__ import annotations

import streamlit as st

from calib.ui.monitoring.upload import choose_calibrator, choose_new_data
from calib.ui.monitoring.view import checked, pictures, scores, words
from calib.ui.session import find_session
from calib.ui.shell import need_data, page


def body() -> None:
    """Draw the page."""
    answer = st.container()
    session = find_session()
    if session is None:
        need_data()
        st.write("A calibrator that was exported earlier can be checked without them:")
    subject = choose_calibrator(session)
    if subject is None:
        answer.write("Choose a calibrator and upload labelled data collected since then to see whether it still holds.")
        return
    if subject.record:
        answer.caption(subject.record)
    given = choose_new_data(subject)
    if given is None:
        answer.write(f"Is **{subject.title}** still calibrated? Upload rows collected and labelled since then.")
        return
    result = checked(subject, given)
    if result is None:
        answer.write("The new rows cannot be read; the reason is below.")
        return
    with answer:
        words(subject, result)
    scores(subject, result)
    pictures(subject, result)


with page("Monitoring"):
    body()
