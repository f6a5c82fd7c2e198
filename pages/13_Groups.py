"""Groups: all groups and pairs of groups by their gap; a click restricts pages to one."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.audit import plain
from calib.ui.fits import judged_fits
from calib.ui.groups import (
    choose_from_list,
    contrast_with_others,
    figure,
    gap_of_all,
    judged_groups,
    numbers,
    panel,
    remedy,
    sentence,
)
from calib.ui.session import Cohort, OpenSession
from calib.ui.shell import SCOPE, open_session, page, view_switch
from calib.ui.widgets import choose_fit, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    cohort = session.cohort
    if not session.data.group_columns():
        st.info(
            "These data have no column of groups. Give a column of 2 to 50 values to compare its groups."
        )
        return
    with session.all_rows():
        draw(session, cohort)


def draw(session: OpenSession, cohort: Cohort | None) -> None:
    """The finding, the figure, and beside it the cohort and the remedy."""
    fits = judged_fits(session)
    opening = st.container()
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        fit = (
            choose_fit(fits, "groups/fit", "Probabilities of", fits[0])
            if len(fits) > 1
            else fits[0]
        )
        view_switch(session)
    groups = judged_groups(session, fit)
    with opening:
        st.header(plain(sentence(groups, session.view)), anchor=False)
    left, right = st.columns([7, 4], gap="large")
    with left:
        figure(session, fit, groups)
    with right:
        choose_from_list(groups, cohort)
        if cohort is None:
            st.caption(f"Click a group, or choose it here. {SCOPE}")
        else:
            contrast_with_others(session, cohort)
        with st.container(border=True):
            remedy(session)
    title = f"All {len(groups)} groups in numbers"
    overall = gap_of_all(session, fit)
    folded(title, "groups/numbers", partial(numbers, groups, session.view, overall))
    if session.view.is_event and session.test.groups is not None:
        folded(
            "In which groups do O:E, slope and AUROC differ?",
            "groups/panel",
            partial(panel, session, fit),
        )


with page("Groups"):
    body()
