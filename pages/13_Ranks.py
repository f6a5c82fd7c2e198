"""Ranks: the reliability of each rank of a method's classes, and what order-preserving scaling makes of the gaps."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.ranks.view import chosen_fits, finding, gaps, picture
from calib.ui.shell import open_session, page


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    if session.data.n_classes == 2:
        st.info(
            "With two classes the second rank holds what the first leaves, so that Reliability shows both, and "
            "order-preserving scaling is temperature scaling. Ranks say more of three classes or more."
        )
        return
    opening = st.container()
    chosen = chosen_fits(fits)
    with opening:
        st.markdown(finding(session, chosen))
        picture(session, chosen)
    gaps(fits)


with page("Ranks"):
    body()
