"""Monitoring: whether a calibrator is still calibrated on new data, and what to expect of rows without labels."""

from __future__ import annotations

import streamlit as st

from calib.ui.monitoring import (
    checked,
    choose_calibrator,
    choose_new_data,
    drift,
    open_rows_over_time,
    over_time,
    pictures,
    scores,
    show_verdict,
    unlabelled,
)
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
        opening.write(
            "Is a calibrator still right? Choose it, and upload rows collected since its fit."
        )
        return
    new_data = choose_new_data(subject)
    result = None if new_data is None else checked(subject, new_data)
    with opening:
        if subject.record:
            st.caption(subject.record)
        if new_data is None:
            st.write(
                f"Is **{subject.title}** still calibrated? Upload rows collected since then: labelled, to test it, or "
                "without labels, to see what performance to expect."
            )
            if session is not None:
                open_rows_over_time(subject, session)
        elif result is None:
            st.write("The new rows cannot be read yet; the reason, or a question, is below.")
        elif result.check.change is None:
            unlabelled(subject, result)
        else:
            show_verdict(subject, result, result.check.change)
            pictures(subject, result)
            over_time(subject, result)
            with st.expander("All scores, and the distribution of the confidence, before and now"):
                scores(subject, result.check.change)
                drift(subject, result)


with page("Monitoring"):
    body()
