"""Over- and underconfidence: how sure each method is where it is wrong, how unsure where it is right."""

from __future__ import annotations

import streamlit as st

from calib.ui import fits
from calib.ui.over_under.view import bands, change, classes, densities, finding, one_of, rows_of, theorem
from calib.ui.shell import need_data, need_fit, page
from calib.ui.widgets import choose


def body() -> None:
    """Draw the page."""
    if not need_data():
        return
    everything = fits.shown()
    finding(rows_of(everything, everything))
    chosen = choose(everything, "confidence/methods")
    rows, keys = rows_of(everything, chosen), tuple(fit.key for fit in chosen)
    change(rows, keys)
    st.subheader("What the calibration error must be at least")
    bins = theorem(chosen, rows, keys)
    st.subheader("Where the gap comes from")
    closer = one_of(everything)
    bands(everything, closer, bins)
    st.subheader("Class by class")
    classes(everything, closer)
    st.subheader("How sure when right, how sure when wrong")
    densities(chosen)
    if len(everything) == 1:
        need_fit(what="Only the raw model is here. Fit calibrators to see what they change.")


with page("Over- and underconfidence"):
    body()
