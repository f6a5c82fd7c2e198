"""Latent GP: the function that bends every logit, how sure it is, and what it does to a confidence."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.latent_view import draw, effect
from calib.ui.shell import need_data, need_fit, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    latent = [fit for fit in everything if fit.method == "gpcalib"]
    if not latent:
        need_fit(what="The latent function belongs to GPcalib, and no GPcalib fit is finished yet. Fit it to see it.")
        return
    titles = [fit.title for fit in latent]
    fit = latent[0]
    if len(latent) > 1:
        fit = latent[titles.index(st.selectbox("Fit", titles, key="latent/fit"))]
    temperature = next((other.calibrator for other in everything if other.method == "temperature"), None)
    st.write(
        "One function bends every logit. Where it rises less steeply than the identity, confidence shrinks; "
        "the band says where the calibration data are too thin to know."
    )
    picture, numbers = st.columns([3, 1], gap="large")
    with numbers:
        effect(fit)
    with picture:
        draw(fit, temperature)


with page("Latent GP"):
    body()
