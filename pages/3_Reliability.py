"""Reliability: accuracy against confidence for each method, side by side."""

from __future__ import annotations

from functools import partial

import streamlit as st

from calib.plots.reliability import usual_scale
from calib.ui.audit import lead
from calib.ui.compare.recommendation import recommended
from calib.ui.fits import judged_fits
from calib.ui.reliability import (
    CHOSEN,
    bin_rows,
    controls,
    diagrams,
    error_figures,
    panel,
    with_class_view,
)
from calib.ui.shell import need_fit, open_session, page, view_switch
from calib.ui.widgets import choose, folded


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = judged_fits(session)
    finding = st.container(gap="xsmall")
    with st.container(horizontal=True, gap="small"):
        view_switch(session)
        begin = recommended(fits)[1] if len(fits) > 1 else fits[0]
        picked = session.picked.get(CHOSEN, {})
        chosen_before = any(
            picked.get(fit.key) for fit in fits[1:]
        )  # while others were still being fitted
        aside = [fit.key for fit in fits[1:] if chosen_before or fit.key != begin.key]
        chosen = choose(fits, CHOSEN, aside=aside)
    picture = st.container()
    options = controls(usual_scale(fits[0].diagram.curve, session.view), session)
    chosen = with_class_view(chosen, options)
    with finding:
        lead(session, "Reliability", "level")
    if not chosen:
        return
    with picture:
        diagrams(fits, chosen, options)
    bin_rows(chosen, options)
    by_bins = partial(error_figures, chosen, options)
    folded("How far does the ECE depend on its bins and rows?", "reliability/by bins", by_bins)
    if session.view.is_event:
        risk_model = partial(panel, session, fits, begin)
        folded("The panel of a risk model: AUROC, O:E, slope, ICI", "reliability/panel", risk_model)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see them beside it.")


with page("Reliability"):
    body()
