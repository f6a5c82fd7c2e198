"""Latent GP: the function that bends every logit, how sure it is, and what it does to a confidence."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.latent.view import effects, functions, latent_fits, prepared, progress, readable_scale, say
from calib.ui.shell import need_data, need_fit, page
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    latent = latent_fits(everything)
    if not latent:
        need_fit(what="The latent function belongs to GPcalib, and no GPcalib fit is finished yet. Fit it to see it.")
        return
    words = st.container()
    chosen = prepared(choose(latent, "latent/fits", "Fits", most=3), everything)
    scale = readable_scale(everything[0])
    with words:
        say(chosen, scale)
    scale = functions(chosen, scale)
    st.subheader("What it does to a confidence")
    effects(chosen, scale)
    progress(chosen)


with page("Latent GP"):
    body()
