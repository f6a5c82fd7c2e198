"""Reliability: what each method says against how often it is right, side by side."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.reliability.state import controls, curves_of, with_class_view
from calib.ui.reliability.view import bin_rows, diagrams, gaps
from calib.ui.shell import need_data, need_fit, page
from calib.ui.text import confidence_sentence
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    st.markdown(confidence_sentence(everything[0].evaluation, "The raw model"))
    chosen = choose(everything, "reliability/methods", most=4)
    picture = st.container()
    options = controls(everything[0])
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
    bin_rows(chosen, curves, options, selected)
    if len(everything) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see them beside it.")


with page("Reliability"):
    body()
