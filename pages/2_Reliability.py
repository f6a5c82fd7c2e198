"""Reliability: accuracy against confidence for each method, side by side."""

from __future__ import annotations

import streamlit as st

from calib.ui.fits import shown_fits
from calib.ui.reliability.state import controls, curves_of, with_class_view
from calib.ui.reliability.view import bin_rows, diagrams, gaps
from calib.ui.shell import need_fit, open_session, page, view_switch
from calib.ui.text import confidence_sentence
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    session = open_session()
    fits = shown_fits(session)
    st.markdown(confidence_sentence(fits[0].evaluation, "The raw model"))
    view_switch(session)
    chosen = choose(fits, "reliability/methods", most=4)
    picture = st.container()
    options = controls(fits[0], session)
    chosen = with_class_view(chosen, options)
    if not chosen:
        return
    curves = curves_of(chosen, options)
    with picture:
        if options.view == "Gap":
            gaps(chosen, curves, options)
            selected = None
        else:
            selected = diagrams(chosen, curves, options)
    bin_rows(session.test, chosen, curves, options, selected)
    if len(fits) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see them beside it.")


with page("Reliability"):
    body()
