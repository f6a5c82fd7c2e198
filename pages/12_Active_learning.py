"""Active learning: labels asked for, with and without spending some of them on calibration."""

from __future__ import annotations

import streamlit as st

from calib.ui.active_learning import state as active_runs
from calib.ui.active_learning.state import Rows, choose, need_features
from calib.ui.active_learning.view import begin, follow, headline, questions
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    if not need_features(session.data):
        return
    rows, shown = Rows.from_session(session), active_runs.runs()
    headline(rows, shown)
    follow(shown)
    with st.container(border=True):
        wanted = choose(rows)
        begin(wanted, rows, shown)
    questions(rows, shown)


with page("Active learning"):
    body()
