"""Latent GP: the latent function on all logits, its uncertainty, and its effect on a confidence."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import judged_fits
from calib.ui.latent import effects, functions, latent_fits, prepared, show_finding
from calib.ui.progress import fit_here
from calib.ui.shell import open_session, page
from calib.ui.widgets import choose, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = judged_fits(session)
    latent = latent_fits(fits)
    if not latent:
        fit_here("gpcalib", "GPcalib has the latent function, and no GPcalib fit is finished yet.")
        return
    opening = st.container()
    chosen = prepared(session, choose(latent, "latent/fits", "Fits", most=3), fits)
    with opening:
        show_finding(chosen)
        functions(chosen)
    folded("How does it change every confidence?", "latent/effects", partial(effects, chosen))


with page("Latent GP"):
    body()
