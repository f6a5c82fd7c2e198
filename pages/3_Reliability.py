"""Reliability: accuracy against confidence for each method, side by side."""

from __future__ import annotations

import streamlit as st

from calib.ui.compare.answer import recommended
from calib.ui.fits import gap_and_extremes_of, shown_fits
from calib.ui.reliability.state import CHOSEN, axes, controls, curves_of, with_class_view
from calib.ui.reliability.text import after
from calib.ui.reliability.view import bin_rows, diagrams, explain, offer_panel
from calib.ui.shell import need_fit, open_session, page, view_switch
from calib.ui.text import confidence_sentence
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    finding = st.container()
    view_switch(session)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        begin = recommended(fits)[1] if len(fits) > 1 else fits[0]
        picked = session.picked.get(CHOSEN, {})
        chosen_before = any(picked.get(fit.key) for fit in fits[1:])  # while others were still being fitted
        aside = [fit.key for fit in fits[1:] if chosen_before or fit.key != begin.key]
        chosen = choose(fits, CHOSEN, aside=aside)
        view = axes(fits[0])
    picture = st.container()
    options = controls(view, session)
    chosen = with_class_view(chosen, options)
    curves = curves_of(chosen, options)
    with finding:
        calibrated = after(fits[0], chosen, options)
        raw = fits[0].evaluation
        st.markdown(f"{confidence_sentence(raw, 'The raw model', *gap_and_extremes_of(raw))} {calibrated}")
    if not chosen:
        return
    with picture:
        selected = diagrams(chosen, curves, options)
        explain(chosen, options)
    if session.view.is_event:
        offer_panel(session, fits, begin)
    bin_rows(session, chosen, curves, selected)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see them beside it.")


with page("Reliability"):
    body()
