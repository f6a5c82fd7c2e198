"""Active learning: which labels to ask for, and whether to spend some of them on calibration."""

from __future__ import annotations

import streamlit as st

from calib.ui.active_learning import state as active_runs
from calib.ui.active_learning.state import Rows, choose, need_features
from calib.ui.active_learning.view import begin, follow, headline
from calib.ui.session import session
from calib.ui.shell import need_data, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    data = session().data
    assert data is not None
    if not need_features(data):
        return
    rows, shown = Rows.of_session(), active_runs.runs()
    headline(rows, shown)
    with st.container(border=True):
        wanted = choose(rows)
        begin(wanted, rows, shown)
    follow(rows, shown)


with page("Active learning"):
    body()
