"""Over- and underconfidence: how sure each method is where it is wrong, how unsure where it is right."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.confidence_view import densities, over_under, per_class, theorem
from calib.ui.shell import need_data, need_fit, page
from calib.ui.wording import confidence_sentence


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    st.markdown(confidence_sentence(everything[0].evaluation, "The raw model"))
    chosen = fits.choose(everything, "confidence/methods")
    over_under(chosen)
    st.subheader("How sure when right, how sure when wrong")
    densities(chosen)
    st.subheader("What the calibration error must be at least")
    theorem(chosen)
    st.subheader("Class by class")
    per_class(chosen)
    if len(everything) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Over- and underconfidence"):
    body()
