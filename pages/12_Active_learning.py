"""Active learning: labels requested, with and without spending some of them on calibration."""

from __future__ import annotations

import streamlit as st

from calib.ui.active_learning import Rows, choose_and_start, follow, headline, simulations
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session("digits-cnn")
    rows = Rows.of(session)
    jobs = simulations()
    headline(rows, jobs)
    follow(jobs)
    with st.container(border=True):
        choose_and_start(session, rows)


with page("Active learning"):
    body()
