"""Latent GP: the function that bends every logit, how sure it is, and what it does to a confidence."""

from __future__ import annotations

import streamlit as st

from calib.calibrators.gpcalib import GPCalib
from calib.calibrators.temperature import TemperatureScaling
from calib.ui import fits
from calib.ui.latent_view import draw, effect
from calib.ui.shell import need_data, need_fit, page


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    latent = [(fit, fit.calibrator) for fit in everything if isinstance(fit.calibrator, GPCalib)]
    if not latent:
        need_fit(what="The latent function belongs to GPcalib, and no GPcalib fit is finished yet. Fit it to see it.")
        return
    titles = [fit.title for fit, _ in latent]
    fit, calibrator = latent[0]
    if len(latent) > 1:
        fit, calibrator = latent[titles.index(st.selectbox("Fit", titles, key="latent/fit"))]
    scalings = (other.calibrator for other in everything)
    temperature = next((c.temperature_ for c in scalings if isinstance(c, TemperatureScaling)), None)
    st.write(
        "One function bends every logit. Where it rises less steeply than the identity, confidence shrinks; "
        "the band says where the calibration data are too thin to know."
    )
    effect(fit, calibrator)
    draw(fit, calibrator, temperature)


with page("Latent GP"):
    body()
