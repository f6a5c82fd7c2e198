"""Still calibrated?: a fitted or exported calibrator on fresh labelled rows, and what changed since."""

from __future__ import annotations

import streamlit as st

from calib.ui.session import session
from calib.ui.shell import need_data, page
from calib.ui.shift.upload import choose_calibrator, choose_fresh
from calib.ui.shift.view import checked, pictures, scores, words


def body() -> None:
    """Draw the page."""
    answer = st.container()
    if session().data is None:
        need_data()
        st.write("A calibrator that was exported earlier can be checked without them:")
    subject = choose_calibrator()
    if subject is None:
        answer.write("Choose a calibrator and give rows that were collected since: does it still say what is true?")
        return
    if subject.record:
        answer.caption(subject.record)
    given = choose_fresh(subject)
    if given is None:
        answer.write(f"Does **{subject.title}** still say what is true? Upload rows collected and labelled since.")
        return
    result = checked(subject, given)
    if result is None:
        answer.write("The fresh rows cannot be read; below is why.")
        return
    with answer:
        words(subject, result)
    scores(subject, result)
    pictures(subject, result)


with page("Still calibrated?"):
    body()
