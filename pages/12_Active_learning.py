"""Active learning: labels asked for, with and without spending some of them on calibration."""

from __future__ import annotations

import streamlit as st

from calib.ui.active_learning.settings import Rows, choose, need_features
from calib.ui.active_learning.view import begin, follow, headline, runs
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    if not need_features(session.data):
        return
    rows, shown = Rows.from_session(session), runs()
    headline(rows, shown)
    follow(rows, shown)
    with st.container(border=True):
        wanted = choose(rows)
        begin(wanted, rows, shown)


with page("Active learning"):
    body()
