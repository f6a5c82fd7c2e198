"""Latent GP: the latent function on all logits, its uncertainty, and its effect on a confidence."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.latent.view import (
    choose_space,
    effects,
    functions,
    latent_fits,
    prepared,
    probe,
    progress,
    readable_scale,
    show_finding,
    what_is_drawn,
)
from calib.ui.progress import fit_here
from calib.ui.shell import open_session, page
from calib.ui.widgets import choose, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    latent = latent_fits(fits)
    if not latent:
        fit_here("gpcalib", "GPcalib has the latent function, and no GPcalib fit is finished yet.")
        return
    opening = st.container()
    usual = readable_scale(fits[0])
    chosen = prepared(session, choose(latent, "latent/fits", "Fits", most=3), fits)
    scale = choose_space(usual)
    with opening:
        show_finding(chosen, usual)
        functions(chosen, scale)
        what_is_drawn(chosen, usual)
    followed = probe(chosen)
    draw = partial(effects, chosen, scale or usual, followed)
    folded("What does it make of every confidence?", "latent/effects", draw)
    folded("How did the fit go?", "latent/progress", partial(progress, chosen))


with page("Latent GP"):
    body()
