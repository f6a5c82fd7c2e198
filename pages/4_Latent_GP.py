"""Latent GP: the latent function on all logits, its uncertainty, and its effect on a confidence."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.latent.view import effects, functions, latent_fits, prepared, progress, readable_scale, show_finding
from calib.ui.shell import need_fit, open_session, page
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    latent = latent_fits(fits)
    if not latent:
        need_fit(what="GPcalib has the latent function, and no GPcalib fit is finished yet.")
        return
    words = st.container()
    chosen = prepared(session, choose(latent, "latent/fits", "Fits", most=3), fits)
    scale = readable_scale(fits[0])
    with words:
        show_finding(chosen, scale)
    scale = functions(chosen, scale)
    st.subheader("Effect on a confidence")
    effects(chosen, scale)
    progress(chosen)


with page("Latent GP"):
    body()
