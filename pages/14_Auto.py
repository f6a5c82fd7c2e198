"""Auto: which methods the automatic mean is made of, with their weights, and why."""

from __future__ import annotations

import streamlit as st

from calib.ui.auto.view import auto_fits, show
from calib.ui.fits import shown_fits
from calib.ui.progress import fit_here
from calib.ui.shell import open_session, page
from calib.ui.widgets import one_fit


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = auto_fits(shown_fits(session))
    if not fits:
        fit_here("auto", "Auto chooses a mean of several methods, and no fit of it is finished yet.")
        return
    opening = st.container()
    chosen = one_fit(fits, "auto/fit", "Fit", fits[0]) if len(fits) > 1 else fits[0]
    with opening:
        show(chosen)


with page("Auto"):
    body()
