"""Compare: which method to take, what it changes, and all methods in one strip."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.compare.recommendation import overview, report_button
from calib.ui.compare.studies import all_scores, repeated
from calib.ui.fits import judged_fits
from calib.ui.shell import open_session, page
from calib.ui.widgets import folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = judged_fits(session)
    overview(session, fits)
    with st.container(gap="xxsmall"):
        folded("All scores with intervals", "compare/scores", partial(all_scores, session, fits))
        if len(fits) > 1:
            folded(
                "The same on other splits",
                "compare/splits",
                partial(repeated, session, fits),
            )
    if len(fits) > 1:
        report_button(session, "compare/report")


with page("Compare"):
    body()
