"""Fit: choose calibrators and their parameters, start them, watch and cancel."""

from __future__ import annotations

import streamlit as st

from calib.data.checks.features import leak
from calib.formatting import plural
from calib.ui.fit.view import choose_and_start, not_started
from calib.ui.progress import job_list
from calib.ui.session import session
from calib.ui.shell import need_data, page, trouble_with_the_cluster


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    now = session()
    assert now.calibration is not None
    assert now.test is not None
    st.write(
        f"Calibrators learn from **{plural(len(now.calibration), 'calibration row')}** and are judged on "
        f"**{plural(len(now.test), 'test row')}** they have not seen. Fits go on while you look at other pages."
    )
    not_started()
    trouble_with_the_cluster()
    if now.data is not None and (found := leak(now.data.findings)):
        st.warning(found, icon=":material/warning:")
    job_list()
    st.subheader("Choose calibrators")
    choose_and_start(now.data)


with page("Fit"):
    body()
